"""Estimates and refusals before anything is sent, and the limit of cost during a run."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.chat_server import CHAT, ChatServer, sound

from factdrift.chat.prices import price_of
from factdrift.chat.settings import Chat
from factdrift.core.errors import InputError
from factdrift.core.keys import read_settings
from factdrift.core.paths import PRICES


def test_the_bundled_prices_are_valid() -> None:
    import yaml

    models = yaml.safe_load(PRICES.read_text("utf-8"))["models"]
    assert models
    for name in models:
        price = price_of(read_settings(json.dumps({"model": name, "max_usd": 1}), Chat, "chat"), PRICES)
        assert price is not None
        assert 0 < price.input < price.output
        assert 0 < price.batch <= 1


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
    for text in ("models: {tiny: {input: 1}}", "models: [", "prices: {}"):
        prices.write_text(text)
        with pytest.raises(InputError, match=r"prices\.yaml: cannot be read as a table of prices"):
            bench.ask(prices)


def test_the_cost_is_printed_and_refused_if_too_high(
    bench: Any, server: ChatServer, prices: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.write(10)
    # The answers may have 50 tokens each; a body of some 70 bytes is some 18 tokens.
    with pytest.raises(
        InputError, match=r"will cost at most 6\d\d\.\d+ USD; set chat\.max_usd .*Nothing was sent"
    ):
        bench.ask(prices)
    with pytest.raises(InputError, match=r"at most 6\d\d\.\d+ USD, more than chat\.max_usd \(600\.0 USD\)"):
        bench.ask(prices, max_usd=600)
    with pytest.raises(
        InputError, match=r"at most 3\d\d\.\d+ USD by the Batch API \(50% of the price\), more"
    ):
        bench.ask(prices, max_usd=300, mode="batch")
    assert not server.calls
    capsys.readouterr()
    bench.ask(prices, max_usd=2000)
    said = capsys.readouterr().out
    assert "10 requests to tiny" in said
    assert "0 answered in" in said
    assert "10 to ask" in said
    # Each answer took 3 + 5 tokens.
    assert "30 + 50 tokens, 80.0000 USD" in said


def test_the_estimate_uses_stored_answers(
    bench: Any, prices: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    bench.write(30)
    bench.ask(prices, max_usd=5000)
    bench.write(60)
    capsys.readouterr()
    # 30 more for 8 dollars each, after 240 for the first; without calibration it would be thousands.
    with pytest.raises(
        InputError, match=r"about 24\d\.\d+ USD, after 240\.0000 USD .*more than .* \(450\.0 USD\)"
    ):
        bench.ask(prices, max_usd=450)
    assert "30 answered in" in capsys.readouterr().out


def test_the_limit_holds_over_several_runs_and_both_ways(
    bench: Any, server: ChatServer, prices: Path
) -> None:
    bench.write(30)
    bench.ask(prices, max_usd=5000, mode="batch")
    bench.write(60)
    with pytest.raises(InputError, match=r"after 120\.0000 USD that earlier runs have spent"):
        bench.ask(prices, max_usd=300)
    bench.ask(prices, max_usd=500)


def longer(body: Any) -> str:
    """An answer of 40 tokens; by the stored answers one expects 5."""
    return "x" * 156


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_a_run_stops_before_the_limit_and_the_next_continues(
    bench: Any, server: ChatServer, prices: Path, mode: str
) -> None:
    bench.write(30)
    bench.ask(prices, max_usd=5000)
    bench.write(60)
    server.answer = longer
    with pytest.raises(InputError, match=r"before chat\.max_usd \(900\.0 USD\) could be exceeded: \d+"):
        bench.ask(prices, max_usd=900, mode=mode)
    share = 0.5 if mode == "batch" else 1
    new = server.asked.total() - 30
    spent = 30 * 8 + new * 43 * share
    # Another answer could have had 50 tokens, and its prompt 43.
    assert 900 - (50 + 43) * share < spent <= 900
    assert not bench.output.exists() or len(bench.answers()) == 30
    answers = bench.ask(prices, max_usd=5000, mode=mode)
    assert {answer["status"] for answer in answers} == {"answered"}
    assert bench.most() == 1


def test_answers_that_did_not_arrive_count_as_the_worst_case(
    bench: Any, server: ChatServer, prices: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.fault = lambda path, body, attempt: (
        ("429", "cut")[attempt] if path == CHAT and attempt < 2 else None
    )
    bench.write(1)
    bench.ask(prices, max_usd=500)
    said = capsys.readouterr().out
    # The refusal is free; the cut answer may have had 50 tokens, the prompt one token for 2 bytes.
    size = len('{"max_completion_tokens":50,"messages":[{"content":"r0","role":"user"}]}')
    lost = size // 2 + 1 + 50
    assert f"{lost + 8:.4f} USD (up to {lost:.4f} of it for answers that did not arrive)" in said


def test_a_request_without_a_token_limit_is_refused_if_it_has_a_price(
    bench: Any, server: ChatServer, prices: Path
) -> None:
    messages = [{"role": "user", "content": "Hi"}]
    bench.write_bodies({"r0": {"messages": messages, "max_completion_tokens": None}})
    with pytest.raises(InputError, match=r"'r0' does not limit its answer.*Nothing was sent"):
        bench.ask(prices, max_usd=5000)
    server.fault = sound
    assert bench.ask(prices, model="free")[0]["status"] == "answered"
