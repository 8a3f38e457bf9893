"""The store keeps what every try has cost, and later runs count it."""

import contextlib
import json
import os
import signal
import sqlite3
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.chat_server import CHAT, ChatServer, Fault, sound

from factdrift.chat.prices import believed
from factdrift.chat.replies import Reply
from factdrift.chat.requests import Request, canonical, key_of
from factdrift.chat.store import Charge, Store
from factdrift.core.errors import InputError

WORST = len('{"max_completion_tokens":50,"messages":[{"content":"r0","role":"user"}]}') // 2 + 1 + 50
"""The most dollars that a request of these tests can cost: a token for two bytes, a dollar per token."""


def answer(**usage: Any) -> Fault:
    """An answer with this `usage`, or with none."""
    choice = {"message": {"content": "yes"}, "finish_reason": "stop"}
    body = {"choices": [choice], "model": "m", "usage": usage or None}
    return Fault(raw=json.dumps(body).encode())


def spent(bench: Any) -> int:
    """Tokens that the store has counted as paid, in dollars of live answers."""
    with sqlite3.connect(bench.store / "answers.sqlite") as connection:
        return int(
            connection.execute("SELECT sum(prompt_tokens + completion_tokens) FROM charges").fetchone()[0]
            or 0
        )


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_lost_answers_count_in_the_next_run(bench: Any, server: ChatServer, prices: Path, mode: str) -> None:
    fault = "cut" if mode == "live" else "no-choices"
    server.fault = lambda path, body, attempt: fault if path == CHAT else None
    bench.write(1)
    for _ in range(3):
        assert bench.ask(prices, max_usd=1000, mode=mode, tries=2)[0]["status"] == "failed"
    assert spent(bench) == 6 * WORST
    server.fault = sound
    share = 0.5 if mode == "batch" else 1
    with pytest.raises(
        InputError, match=rf"after {6 * WORST * share:.4f} USD that earlier runs have spent, more than"
    ):
        bench.ask(prices, max_usd=6 * WORST * share + 1, mode=mode)
    assert bench.ask(prices, max_usd=1000, mode=mode)[0]["status"] == "answered"


def test_the_limit_holds_over_runs_that_lose_answers(bench: Any, server: ChatServer, prices: Path) -> None:
    server.fault = lambda path, body, attempt: "cut" if path == CHAT else None
    bench.write(1)
    limit = 3 * WORST + 5
    for _ in range(5):
        with contextlib.suppress(InputError):
            bench.ask(prices, max_usd=limit, tries=2)
    assert server.asked.total() == 3
    assert spent(bench) <= limit


@pytest.mark.parametrize("mode", ["live", "batch"])
def test_an_answer_without_usage_counts_in_the_next_run(
    bench: Any, server: ChatServer, prices: Path, mode: str
) -> None:
    if mode == "batch":
        made = server.completion
        server.completion = lambda body, fault: made(body, fault) | {"usage": None}
    else:
        server.fault = lambda path, body, attempt: answer()
    bench.write(4)
    bench.ask(prices, max_usd=1000, mode=mode)
    assert spent(bench) == 4 * WORST
    bench.write(5)
    with pytest.raises(InputError, match=r"after \d+\.\d+ USD that earlier runs have spent"):
        bench.ask(prices, max_usd=2 * WORST, mode="live")


@pytest.mark.parametrize(
    "usage",
    [
        {"prompt_tokens": -1_000_000, "completion_tokens": 3},
        {"prompt_tokens": 3, "completion_tokens": -1_000_000},
        {"prompt_tokens": 0, "completion_tokens": 0},
        {"prompt_tokens": 2**70, "completion_tokens": 3},
        {"prompt_tokens": 10**9, "completion_tokens": 10**9},
        {"prompt_tokens": "7", "completion_tokens": True},
        {"prompt_tokens": [7], "completion_tokens": 3.5},
    ],
)
def test_impossible_token_counts_are_not_believed(
    bench: Any, server: ChatServer, prices: Path, usage: Any, capsys: pytest.CaptureFixture[str]
) -> None:
    server.fault = lambda path, body, attempt: answer(**usage)
    bench.write(2)
    answers = bench.ask(prices, max_usd=500)
    assert [each["status"] for each in answers] == ["answered"] * 2
    assert None in (answers[0]["prompt_tokens"], answers[0]["completion_tokens"])
    assert f"{2 * WORST:.4f} USD" in capsys.readouterr().out
    assert spent(bench) == 2 * WORST


def test_possible_token_counts_are_believed() -> None:
    text = canonical({"messages": [{"role": "user", "content": "x" * 99}], "max_completion_tokens": 50})
    request = Request("r", key_of("m", text), text)
    reply = Reply("yes", None, "stop", None, None, 7, 3, "{}")
    for prompt, completion in ((7, 3), (request.size + 5000, 60), (1, 90_000)):
        given = reply._replace(prompt_tokens=prompt, completion_tokens=completion)
        assert believed(given, request) == given
    assert believed(reply._replace(content=None, completion_tokens=0), request).completion_tokens == 0


def test_refused_requests_are_not_charged(bench: Any, server: ChatServer, prices: Path) -> None:
    server.fault = lambda path, body, attempt: ("429", "500", None)[attempt] if path == CHAT else None
    bench.write(1)
    bench.ask(prices, max_usd=500)
    assert spent(bench) == 8


def test_requests_under_way_at_a_kill_count_as_the_worst_case(
    bench: Any, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    bench.write(5)
    process: Any = None

    def kill(path: str, body: Any, attempt: int) -> None:
        if server.asked.total() == 5:
            os.kill(process.pid, signal.SIGKILL)
            process.wait()

    server.delay, server.fault = 60, kill
    process = bench.start()
    process.communicate(timeout=120)
    assert process.returncode == -signal.SIGKILL
    assert spent(bench) == 5 * WORST


def test_a_charge_replaces_that_of_the_same_try(tmp_path: Path) -> None:
    with Store(tmp_path) as store:
        store.charge(Charge("k", "run 1", "live", 100, 50))
        store.charge(Charge("k", "run 1", "live", 7, 3))
        store.charge(Charge("k", "run 2", "live", 100, 50))
        store.charge(Charge("k", "batch", "batch", 1, 2))
        assert store.charged(["k", "l"]) == {"live": (107, 53), "batch": (1, 2)}
        store.refund(Charge("k", "run 2", "live", 100, 50))
        assert store.charged(["k"]) == {"live": (7, 3), "batch": (1, 2)}
        assert store.charged(["l"]) == store.charged([]) == {}


def test_charges_are_not_exported(bench: Any, server: ChatServer) -> None:
    bench.write(2)
    bench.ask()
    bench.exported()
    assert "attempt" not in pq.read_schema(bench.folder / "export.parquet").names
