"""Mode `live`: many requests at a time, and all faults of a server."""

import json
import signal
import time
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from support.chat_server import CHAT, ChatServer, Fault, canonical, some, sound
from support.waiting import LONGEST

from factdrift.chat.store import Store
from factdrift.core.errors import InputError

from .conftest import Bench


def first(*names: str | Fault) -> Any:
    """The faults of a request's first tries."""
    return lambda path, body, attempt: names[attempt] if path == CHAT and attempt < len(names) else None


def test_faults_do_not_change_the_answers(tmp_path: Path, server: ChatServer) -> None:
    faulty, clean = (Bench(tmp_path / name, server) for name in ("faulty", "clean"))
    for bench in (faulty, clean):
        bench.folder.mkdir()
        bench.write(120)
    server.fault = some(0.2)
    answers = faulty.ask(tries=10, concurrency=64)
    assert [answer["request"] for answer in answers] == [f"r{number}" for number in range(120)]
    assert {answer["status"] for answer in answers} == {"answered"}
    assert len(server.asked) == 120 < server.asked.total()
    server.fault = sound
    assert clean.ask() == answers


def test_an_answer_that_is_late_is_asked_for_again(bench: Any, server: ChatServer) -> None:
    server.fault = first(Fault(delay=30))
    bench.write(3)
    assert bench.statuses(tries=2, timeout=0.5) == ["answered"] * 3
    assert set(server.asked.values()) == {2}


def test_retry_after_holds_for_all_requests(bench: Any, server: ChatServer) -> None:
    server.fault = lambda path, body, attempt: "429-second" if "r0" in str(body) and not attempt else None
    bench.write(30)
    bench.ask(concurrency=1)
    before, after = server.arrivals[0], server.arrivals[1:]
    assert min(after) - before >= 1


def test_two_requests_are_given_up_and_the_others_are_answered(bench: Any, server: ChatServer) -> None:
    """One after its last try, and one that is too long at once."""
    faults = {"r1": "500", "r3": "too-long"}
    server.fault = lambda path, body, attempt: faults.get(body["messages"][0]["content"])
    bench.write(4)
    answers = bench.ask(tries=2)
    assert [answer["status"] for answer in answers] == ["answered", "failed", "answered", "failed"]
    assert answers[1]["error"] == "status 500: The server had an error"
    assert answers[1]["content"] is answers[1]["model"] is None
    assert sorted(server.asked.values()) == [1, 1, 1, 2]
    # The next run asks only the failed requests again; a replay takes the failures as they are.
    assert bench.ask(mode="replay") == answers
    server.fault = sound
    assert bench.statuses() == ["answered"] * 4
    assert sorted(server.asked.values()) == [1, 1, 2, 3]


def test_the_run_stops_when_the_server_has_gone(bench: Any, server: ChatServer) -> None:
    server.fault = lambda path, body, attempt: "500" if len(server.asked) > 20 else None
    bench.write(60)
    with pytest.raises(InputError, match=r"8 requests in a row have failed .*the last with: status 500"):
        bench.ask(tries=2, concurrency=8)
    assert len(server.asked) <= 20 + 8 + 8


def test_an_error_that_concerns_all_requests_ends_the_run(bench: Any, server: ChatServer) -> None:
    server.fault = first("quota")
    bench.write(40)
    with pytest.raises(InputError, match=r"refuses: status 429.*exceeded your.*run the same command again"):
        bench.ask(concurrency=4)
    assert sum(server.asked.values()) <= 4
    assert not bench.output.exists()


def test_ambiguous_refusals_end_the_run_only_if_nothing_was_answered(bench: Any, server: ChatServer) -> None:
    strange = Fault(400, error={"message": "Nay", "type": None, "param": None, "code": None})
    server.fault = lambda path, body, attempt: strange
    bench.write(50)
    with pytest.raises(InputError, match="refuses: status 400: Nay"):
        bench.ask(concurrency=1)
    assert sum(server.asked.values()) == 5
    server.fault = lambda path, body, attempt: strange if "r49" in str(body) else None
    assert Counter(answer["status"] for answer in bench.ask()) == {"answered": 49, "failed": 1}


def test_refusals_and_empty_answers_are_stored_as_answers(bench: Any, server: ChatServer) -> None:
    kinds = ["length", "filter", "refusal", "null"]
    server.fault = lambda path, body, attempt: kinds[int(body["messages"][0]["content"][1:])]
    bench.write(4)
    answers = bench.ask()
    assert [answer["finish_reason"] for answer in answers] == ["length", "content_filter", "stop", "stop"]
    assert answers[2]["refusal"] == "I can't help with that."
    assert answers[3]["content"] is answers[3]["refusal"] is None


def test_equal_bodies_and_stored_answers_are_asked_for_once(bench: Any, server: ChatServer) -> None:
    bench.write_bodies({})
    assert bench.ask() == bench.ask(mode="replay") == []
    assert not server.calls
    names = [f"same{number}" for number in range(1200)]
    bench.write_bodies({name: {"messages": [{"role": "user", "content": "same"}]} for name in names})
    assert [answer["request"] for answer in bench.ask()] == names  # read in more than one batch
    assert server.asked.total() == 1
    bench.write(30)
    bench.ask()
    bench.write(50, start=10)
    bench.ask(base_url=server.url.replace("127.0.0.1", "localhost"), timeout=9, concurrency=3)
    assert server.asked.total() == 61
    assert bench.most() == 1
    bench.ask(model="another")
    assert server.asked.total() == 111


def test_no_more_are_under_way_or_sent_in_a_minute_than_allowed(bench: Any, server: ChatServer) -> None:
    server.together = 6
    bench.write(60)
    bench.ask(concurrency=6)
    assert server.busiest == 6
    server.together = 0
    bench.write(6, start=60)
    started = time.monotonic()
    bench.ask(requests_per_minute=120)
    # Two at once, then one every 60 / (120 - 2) seconds.
    assert time.monotonic() - started >= 4 * 60 / 118


def test_a_killed_run_is_continued(bench: Any, server: ChatServer) -> None:
    server.delay = 0.02
    bench.write(200)
    status, said = bench.signalled(signal.SIGKILL, lambda: server.answered >= 60)
    assert status == -signal.SIGKILL, said
    server.fault = sound
    stored = {body for (body,) in bench.stored("body")}
    assert set(bench.statuses()) == {"answered"}
    assert len(server.asked) == 200 > len(stored) > 40
    for text, times in server.asked.items():
        body = json.loads(text)
        del body["model"]
        assert times == 1 or canonical(body) not in stored
    assert sum(times - 1 for times in server.asked.values()) <= 16


def test_after_a_signal_those_under_way_are_waited_for(bench: Any, server: ChatServer) -> None:
    server.delay = 0.1
    bench.write(200)
    status, said = bench.signalled(signal.SIGINT, lambda: server.answered >= 32)
    assert status == 1, said
    assert "stopped by SIGINT; all answers so far are kept" in said
    asked = server.asked.total()
    assert 32 <= asked < 200
    server.fault = sound
    bench.ask(concurrency=64)
    assert server.asked.total() == 200


def test_a_long_wait_is_reported_and_can_be_interrupted(bench: Any, server: ChatServer) -> None:
    slow = {"message": "slow down", "code": "rate_limit_exceeded"}
    server.fault = lambda path, body, attempt: Fault(429, (("retry-after", "600"),), slow)
    bench.write(50)
    process = bench.start(concurrency=2)
    assert process.stdout is not None
    said = "the server asks to wait for 600 s: status 429 (rate_limit_exceeded): slow down"
    assert any(said in line for line in process.stdout)
    time.sleep(0.5)
    process.terminate()
    process.communicate(timeout=LONGEST)
    assert process.returncode == 1
    assert server.asked.total() <= 2


def test_a_retry_after_beyond_the_patience_ends_the_run_and_keeps_answers_under_way(bench, server):
    busy = Fault(429, (("retry-after", "61"),), {"message": "slow down", "code": "rate_limit_exceeded"})
    server.fault = lambda path, body, attempt: busy if "r0" in str(body) else Fault(delay=1)
    server.together = 5
    bench.write(5)
    with pytest.raises(InputError, match=r"the server asks to come back in 61 s \(.*slow down\).* is kept"):
        bench.ask(patience=60)
    assert len(bench.stored()) == 4
    server.fault = sound
    assert set(bench.statuses()) == {"answered"}
    assert bench.most() <= 2


def test_the_key_is_sent_and_never_shown(bench, server, monkeypatch, capfd):
    server.key = "sk-very-secret"
    bench.write(2)
    monkeypatch.setenv("OPENAI_API_KEY", "sk-wrong-secret")
    error = {"message": "not sk-wrong-secret", "code": "invalid_api_key"}
    server.fault = lambda path, body, attempt: Fault(401, error=error)
    server.key = "sk-wrong-secret"
    with pytest.raises(InputError, match=r"refuses: .*not \[key\]"):
        bench.ask()
    server.key, server.fault = "sk-very-secret", sound
    with pytest.raises(InputError, match="Incorrect API key"):
        bench.ask()
    (bench.folder / "key").write_text("sk-very-secret\n")
    assert bench.statuses(api_key_file=str(bench.folder / "key")) == ["answered"] * 2
    monkeypatch.setenv("OPENAI_API_KEY", "sk-very-secret")
    bench.write(3)
    bench.ask()
    said = "".join(capfd.readouterr())
    kept = b"".join(path.read_bytes() for path in [bench.output, *bench.store.iterdir()])
    assert "secret" not in said
    assert b"secret" not in kept


def test_no_key_and_no_server(bench: Any) -> None:
    bench.write(2)
    with pytest.raises(InputError, match="OPENAI_API_KEY"):
        bench.ask(model="gpt-4o-mini", base_url="", max_usd=1)
    answers = bench.ask(base_url="http://127.0.0.1:9/v1", tries=2)
    assert [answer["status"] for answer in answers] == ["failed"] * 2
    assert "Connect" in answers[0]["error"]


def test_a_server_that_is_never_reached_ends_the_run_soon(bench: Any) -> None:
    bench.write(2)
    with pytest.raises(InputError, match=r"127.0.0.1:9/v1: cannot be reached, after 3 tries .* network"):
        bench.ask(base_url="http://127.0.0.1:9/v1", tries=9, backoff=0.01)


def test_a_full_disk_is_reported(bench: Any, monkeypatch: pytest.MonkeyPatch) -> None:
    opened = Store._open

    def small(self: Store) -> None:
        opened(self)
        self._connection.execute("PRAGMA max_page_count = 12")

    monkeypatch.setattr(Store, "_open", small)
    bench.write(100)
    with pytest.raises(InputError, match="full; what was stored before is kept"):
        bench.ask()
    monkeypatch.undo()
    assert len(bench.ask()) == 100
    assert bench.server.asked.total() <= 100 + 16
