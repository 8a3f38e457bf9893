"""What requests cost: estimates, refusals before anything is sent, the limit in one run and over several."""

import contextlib
import json
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.chat_server import CHAT, ChatServer, Fault

from factdrift.chat.prices import believed, price_of
from factdrift.chat.replies import Reply
from factdrift.chat.requests import Request, canonical
from factdrift.chat.settings import Chat
from factdrift.core.errors import InputError
from factdrift.core.keys import read_settings
from factdrift.core.paths import PRICES

WORST = len('{"max_completion_tokens":50,"messages":[{"content":"r0","role":"user"}]}') // 2 + 1 + 50
"""The most dollars that a request of these tests can cost: a token for two bytes, a dollar per token."""


def spent(bench: Any) -> int:
    """Tokens that the store has counted as paid, in dollars of live answers."""
    with sqlite3.connect(bench.store / "answers.sqlite") as connection:
        query = "SELECT coalesce(sum(prompt_tokens + completion_tokens), 0) FROM charges"
        return int(connection.execute(query).fetchone()[0])


def test_the_limit_holds_over_runs_that_lose_answers(bench: Any, server: ChatServer, prices: Path) -> None:
    server.fault = lambda path, body, attempt: "cut" if path == CHAT else None
    bench.write(1)
    limit = 3 * WORST + 5
    for _ in range(5):
        with contextlib.suppress(InputError):
            bench.ask(prices, max_usd=limit, tries=2)
    assert server.asked.total() == 3
    assert spent(bench) <= limit


def test_impossible_token_counts_are_not_believed(bench, server, prices, capsys):
    counts = [(-1_000_000, 3), (3, -1_000_000), (0, 0), (2**70, 3), (3, 10**9), ("7", True), ([7], 3.5)]
    choice = {"message": {"content": "yes"}, "finish_reason": "stop"}

    def fault(path: str, body: Any, attempt: int) -> Fault:
        prompt, completion = counts[int(body["messages"][0]["content"][1:])]
        usage = {"prompt_tokens": prompt, "completion_tokens": completion}
        return Fault(raw=json.dumps({"choices": [choice], "model": "m", "usage": usage}).encode())

    server.fault = fault
    bench.write(len(counts))
    answers = bench.ask(prices, max_usd=5000)
    assert [each["status"] for each in answers] == ["answered"] * len(counts)
    assert all(None in (each["prompt_tokens"], each["completion_tokens"]) for each in answers)
    assert f"{len(counts) * WORST:.4f} USD" in capsys.readouterr().out
    assert spent(bench) == len(counts) * WORST


def test_possible_token_counts_are_believed() -> None:
    request = Request("r", "k", canonical({"messages": ["x" * 99], "max_completion_tokens": 50}))
    for content, prompt, completion in (("yes", request.size + 5000, 60), ("yes", 1, 90_000), (None, 7, 0)):
        given = Reply(content, None, "stop", None, None, prompt, completion, "{}")
        assert believed(given, request) == given


def test_requests_under_way_at_a_kill_count_as_the_worst_case(bench: Any, server: ChatServer) -> None:
    bench.write(5)
    server.delay = 60
    status, _ = bench.signalled(signal.SIGKILL, lambda: server.asked.total() == 5)
    assert status == -signal.SIGKILL
    assert spent(bench) == 5 * WORST


def test_the_bundled_prices_are_valid() -> None:
    models = yaml.safe_load(PRICES.read_text("utf-8"))["models"]
    assert models
    for name in models:
        price = price_of(read_settings(json.dumps({"model": name, "max_usd": 1}), Chat, "chat"), PRICES)
        assert price is not None
        assert 0 < price.input < price.output


def test_a_model_without_a_price(bench: Any, server: ChatServer, prices: Path) -> None:
    bench.write(1)
    message = r"prices\.yaml: no price of other; add a line such as `other: \{input"
    with pytest.raises(InputError, match=message + r".*or leave out chat\.max_usd"):
        bench.ask(prices, model="other", max_usd=3)
    with pytest.raises(InputError, match=message):
        bench.ask(prices, model="other", base_url="")
    assert not server.calls
    assert bench.ask(prices, model="other")[0]["status"] == "answered"


def test_an_invalid_table_of_prices_is_refused(bench: Any, prices: Path) -> None:
    bench.write(1)
    for text in ("models: {tiny: {input: 1}}", "models: [", "prices: {}", "models: {}\nmodels: {}"):
        prices.write_text(text)
        with pytest.raises(InputError, match=r"(?s)prices\.yaml: .*; correct it, or name another"):
            bench.ask(prices)


def test_the_cost_is_printed_and_refused_if_too_high(bench, server, prices, capsys):
    bench.write(10)
    # The answers may have 50 tokens each; a body of some 70 bytes is some 18 tokens.
    with pytest.raises(InputError, match=r"at most 6\d\d\.\d+ USD; set chat\.max_usd .*Nothing was sent"):
        bench.ask(prices)
    with pytest.raises(InputError, match=r"at most 6\d\d\.\d+ USD, more than chat\.max_usd \(600\.0 USD\)"):
        bench.ask(prices, max_usd=600)
    assert not server.calls
    capsys.readouterr()
    bench.ask(prices, max_usd=2000)
    said = capsys.readouterr().out
    assert "10 requests to tiny" in said
    assert "0 answered in" in said
    assert "10 to ask" in said
    # Each answer took 3 + 5 tokens.
    assert "30 + 50 tokens, 80.0000 USD" in said


def test_the_estimate_uses_stored_answers(bench, prices, capsys):
    bench.write(30)
    bench.ask(prices, max_usd=5000)
    bench.write(60)
    capsys.readouterr()
    # 30 more for 8 dollars each; without calibration it would be thousands.
    said = r"about 24\d\.\d+ USD, after 240\.0000 USD that earlier runs have spent, .* \(450\."
    with pytest.raises(InputError, match=said):
        bench.ask(prices, max_usd=450)
    assert "30 answered in" in capsys.readouterr().out
    bench.ask(prices, max_usd=620)


def test_a_run_stops_before_the_limit_and_the_next_continues(bench, server, prices):
    bench.write(30)
    bench.ask(prices, max_usd=5000)
    bench.write(60)
    server.answer = lambda body: "x" * 156  # 40 tokens; by the stored answers one expects 5
    with pytest.raises(InputError, match=r"before chat\.max_usd \(900\.0 USD\) could be exceeded: \d+"):
        bench.ask(prices, max_usd=900)
    new = server.asked.total() - 30
    spent = 30 * 8 + new * 43
    # Another answer could have had 50 tokens, and its prompt 43.
    assert 900 - (50 + 43) < spent <= 900
    assert not bench.output.exists() or len(bench.answers()) == 30
    assert set(bench.statuses(prices, max_usd=5000)) == {"answered"}
    assert bench.most() == 1


def test_answers_that_did_not_arrive_count_as_the_worst_case(bench, server, prices, capsys):
    server.fault = lambda path, body, attempt: ("429", "500", "cut", None)[attempt]
    bench.write(1)
    bench.ask(prices, max_usd=500)
    said = capsys.readouterr().out
    # The refusals are free.
    assert f"{WORST + 8:.4f} USD (up to {WORST:.4f} of it for answers that did not arrive)" in said
    assert spent(bench) == WORST + 8


def test_a_request_without_a_token_limit_is_refused_if_it_has_a_price(bench, server, prices):
    messages = [{"role": "user", "content": "Hi"}]
    bench.write_bodies({"r0": {"messages": messages, "max_completion_tokens": None}})
    with pytest.raises(InputError, match=r"'r0' does not limit its answer.*Nothing was sent"):
        bench.ask(prices, max_usd=5000)
    assert bench.ask(prices, model="free")[0]["status"] == "answered"
