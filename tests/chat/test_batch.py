"""The Batch API: limits, partial failures, and runs that are killed at any step."""

import os
import signal
from collections import Counter
from typing import Any

import pytest
from support.chat_server import CHAT, ChatServer, sound
from support.waiting import LONGEST

from factdrift.chat.batch import open_keys, sweep
from factdrift.core.errors import InputError


def uploads(server: ChatServer) -> int:
    return sum(file["purpose"] == "batch" for file in server.files.values())


def test_batches_keep_to_the_limits(bench: Any, server: ChatServer) -> None:
    server.per_batch = 50
    bench.write(120)
    bench.ask(mode="batch", batch={"poll": 0.01, "requests": 50})
    sizes = [batch["request_counts"]["total"] for batch in server.batches.values()]
    assert sizes == [50, 50, 20]
    bench.ask(mode="batch", model="other", batch={"poll": 0.01, "megabytes": 0.01})
    files = [file for file in server.files.values() if file["purpose"] == "batch"][3:]
    assert len(files) > 2
    assert max(file["bytes"] for file in files) <= 0.01e6


def test_no_more_prompt_tokens_are_open_than_allowed(bench: Any, server: ChatServer) -> None:
    bench.write(30)
    most = 0

    def watch(path: str, body: Any, attempt: int) -> None:
        nonlocal most
        busy = [batch for batch in server.batches.values() if batch["status"] != "completed"]
        lines = [server.contents[batch["input_file_id"]].count(b"\n") for batch in busy]
        most = max(most, sum(lines))

    server.fault = watch
    bench.ask(mode="batch", batch={"poll": 0.01, "enqueued_tokens": 400})
    assert len(server.batches) >= 3
    assert 0 < most <= 400 // 30
    with pytest.raises(InputError, match=r"chat\.batch\.enqueued_tokens: 10 is less"):
        bench.ask(mode="batch", model="other", batch={"poll": 0.01, "enqueued_tokens": 10})


def test_requests_that_fail_go_into_another_batch_until_they_are_given_up(bench: Any, server: Any) -> None:
    faults = {"r1": "too-long", "r2": "500", "r3": "refusal", "r4": "length", "r5": "no-choices"}

    def fault(path: str, body: Any, attempt: int) -> str | None:
        name = body["messages"][0]["content"] if path == CHAT else ""
        return ("429", "500", None)[attempt] if name == "r6" else faults.get(name)

    server.fault = fault
    bench.write(8)
    answers = {answer["request"]: answer for answer in bench.ask(mode="batch", tries=3)}
    assert {name for name, answer in answers.items() if answer["status"] == "failed"} == {"r1", "r2", "r5"}
    assert "context_length_exceeded" in answers["r1"]["error"]
    assert answers["r4"]["finish_reason"] == "length"
    assert Counter(server.asked.values()) == {1: 5, 3: 3}
    assert [batch["request_counts"]["total"] for batch in server.batches.values()] == [8, 3, 3]


def test_an_error_that_concerns_a_batch_or_all_of_its_requests_ends_the_run(
    bench: Any, server: ChatServer
) -> None:
    bench.write(5)
    server.reject = "token_limit_exceeded"
    with pytest.raises(InputError, match=r"batch_0001 failed .*token_limit_exceeded.*chat\.batch\.enqueued"):
        bench.ask(mode="batch")
    server.reject = None
    server.fault = lambda path, body, attempt: "unsupported" if path == CHAT else None
    with pytest.raises(InputError, match=r"refuses: status 400 .unsupported_parameter"):
        bench.ask(mode="batch")
    server.fault = sound
    assert set(bench.statuses(mode="batch")) == {"answered"}
    assert len(server.batches) == 3


def test_a_batch_that_someone_cancels_ends_the_run(bench: Any, server: ChatServer) -> None:
    bench.write(20)

    def cancel(path: str, body: Any, attempt: int) -> None:
        if path == "/v1/batches/batch_0001" and not attempt:
            server._finish(server.batches["batch_0001"], "cancelled", 5)

    server.fault = cancel
    with pytest.raises(InputError, match="batch_0001 was cancelled; its answers so far are kept"):
        bench.ask(mode="batch")
    server.fault = sound
    bench.ask(mode="batch")
    assert server.batches["batch_0002"]["request_counts"]["total"] == 15
    assert bench.most() == 1


@pytest.mark.parametrize(
    ("when", "method", "path"),
    [
        *((when, "POST", path) for path in ("/v1/files", "/v1/batches") for when in ("before", "after")),
        ("before", "GET", "/v1/files/file-0002/content"),
    ],
)
def test_a_run_killed_at_any_step_is_continued_without_repeating_it(
    bench: Any, server: ChatServer, when: str, method: str, path: str
) -> None:
    bench.write(30)
    server.expire_after = 20
    process = None

    def kill(*step: str) -> None:
        nonlocal process
        if process and step == (method, path):
            os.kill(process.pid, signal.SIGKILL)
            process.wait()

    def fault(where: str, body: Any, attempt: int) -> None:
        if when == "before" and where != CHAT:
            kill(body.get("method", ""), where)

    server.fault = fault
    server.done = kill if when == "after" else lambda *step: None
    process = bench.start(mode="batch")
    said, _ = process.communicate(timeout=LONGEST)
    assert process.returncode == -signal.SIGKILL, said
    process = None
    assert bench.statuses(mode="batch") == ["answered"] * 30
    # The first batch expires, the second has the requests that it did not answer.
    assert (uploads(server), len(server.batches), bench.most()) == (2, 2, 1)
    assert list(bench.store.glob("batches/*")) == []


@pytest.mark.parametrize("name", ["429", "503-html", "drop", "garbage"])
def test_failed_calls_are_repeated_and_make_nothing_twice(bench: Any, server: ChatServer, name: str) -> None:
    # With some of these faults the server carries the call out and only its response is spoilt. What was
    # uploaded is then looked for among other files, on several pages.
    server.page = 2
    for number in range(5):
        server._keep(b"", f"other-{number}.jsonl", "batch")
    server.fault = lambda path, body, attempt: name if path != CHAT and not attempt else None
    bench.write(10)
    assert set(bench.statuses(mode="batch")) == {"answered"}
    assert (uploads(server), len(server.batches), bench.most()) == (6, 1, 1)


def test_after_a_call_that_always_fails_no_other_run_touches_the_batch(
    bench: Any, server: ChatServer
) -> None:
    bench.write(10)
    server.fault = lambda path, body, attempt: "500" if path.endswith("/content") else None
    with pytest.raises(InputError, match=r"fetching file-0002 .*given up after 2 tries .*is kept"):
        bench.ask(mode="batch", tries=2)
    server.fault = sound
    assert len(open_keys(bench.store)) == 10
    with pytest.raises(InputError, match=r"10 of the requests are in open batches.*continue with chat"):
        bench.ask(mode="live")
    other = server.url.replace("127.0.0.1", "localhost")
    with pytest.raises(InputError, match=r"is open at .*set chat\.base_url to it, or remove"):
        bench.ask(mode="batch", base_url=other)
    # A file of requests that a power failure or a copy has cut short.
    (file,) = bench.store.glob("batches/*.jsonl")
    whole = file.read_bytes()
    for left, why in ((b"", "0 of 10 requests"), (whole[:-9], "truncated"), (None, "No such file")):
        file.unlink() if left is None else file.write_bytes(left)
        for mode in ["batch"] if left == b"" else ["batch", "live"]:
            with pytest.raises(InputError, match=rf"no requests of an open batch .*{why}.*; remove "):
                bench.ask(mode=mode)
    file.write_bytes(whole)
    # Requests that are not in an open batch do not wait for it.
    bench.ask(mode="batch", model="third")
    assert len(open_keys(bench.store)) == 10
    assert set(bench.statuses(mode="batch")) == {"answered"}
    assert not open_keys(bench.store)
    assert (uploads(server), len(server.batches), bench.most()) == (2, 2, 1)


def test_leftover_files_are_removed_and_damaged_ones_reported(bench: Any) -> None:
    folder = bench.store / "batches"
    folder.mkdir(parents=True)
    (folder / f"factdrift-{'1a' * 8}.jsonl").write_text("never begun")
    others = [folder / name for name in ("notes.txt", "factdrift-results.jsonl", "requests.jsonl")]
    for path in others:
        path.write_text("of the user")
    sweep(folder)
    assert sorted(folder.iterdir()) == sorted(others)
    (folder / "factdrift-2.json").write_text("{")
    bench.write(1)
    with pytest.raises(InputError, match=r"factdrift-2\.json: cannot be read as an open batch"):
        bench.ask(mode="batch")
