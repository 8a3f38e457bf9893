"""How answers and failures are read; none of an odd form stops a run, none is stored with the API key."""

import json
import sqlite3
from typing import Any
from urllib.parse import quote

import pytest
from support.chat_server import ChatServer, Fault, sound

from factdrift.chat.replies import Malformed, judge_status, read_reply
from factdrift.chat.store import Store
from factdrift.core.errors import LONGEST, MASK, InputError, Redactor

KEY = "sk-very/secret-0123456789"
DEEP = b"[" * 100_000 + b"]" * 100_000


@pytest.mark.parametrize(
    ("raw", "status"),
    [
        (b'{"choices": [{"message": {"content": "yes"}}], "usage": ' + DEEP + b"}", "failed"),
        (b'{"choices": [{"message": {"content": "\\ud800"}}]}', "failed"),
        (b'{"choices": [{"message": {"content": "a\\u0000b"}}]}', "answered"),
        (b'{"choices": [{"message": {"content": "yes"}}], "usage": {"prompt_tokens": 1e999}}', "failed"),
        (b'{"choices": [{"message": {"content": "yes"}}], "usage": [1]}', "answered"),
    ],
)
def test_an_odd_answer_does_not_stop_other_requests(bench: Any, server: Any, raw: bytes, status: str) -> None:
    server.fault = lambda path, body, attempt: Fault(raw=raw) if "r1" in str(body) else None
    bench.write(4)
    assert bench.statuses(tries=2) == ["answered", status, "answered", "answered"]
    server.fault = sound
    assert set(bench.statuses()) == {"answered"}
    assert server.asked.total() == (6 if status == "failed" else 4)


def test_a_batch_result_that_is_nested_too_deeply_is_asked_for_again(bench: Any, server: Any) -> None:
    spoilt = []
    keep = server._keep

    def spoil(content: bytes, filename: str, purpose: str) -> Any:
        if purpose == "batch_output" and not spoilt:
            first, rest = content.split(b"\n", 1)
            spoilt.append(first)
            content = first.replace(b'"error": null', b'"error": null, "x": ' + DEEP) + b"\n" + rest
        return keep(content, filename, purpose)

    server._keep = spoil
    bench.write(4)
    assert set(bench.statuses(mode="batch")) == {"answered"}
    assert len(server.batches) == 2


def test_an_error_with_a_lone_surrogate_is_stored(bench: Any, server: ChatServer) -> None:
    raw = b'{"error": {"message": "no \\ud800", "code": "context_length_exceeded"}}'
    server.fault = lambda path, body, attempt: Fault(400, raw=raw)
    bench.write(1)
    assert bench.ask()[0]["error"] == "status 400 (context_length_exceeded): no ?"


def test_a_bug_in_one_worker_loses_no_answer_of_the_others(
    bench: Any, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    put = Store.put

    def faulty(self: Store, request: Any, *others: Any) -> None:
        if request.name == "r0":
            raise OverflowError("a bug")
        put(self, request, *others)

    monkeypatch.setattr(Store, "put", faulty)
    # All others are answered after r0.
    server.fault = lambda path, body, attempt: Fault(delay=0 if "r0" in str(body) else 1)
    bench.write(5)
    with pytest.raises(OverflowError, match="a bug"):
        bench.ask()
    monkeypatch.undo()
    with sqlite3.connect(bench.store / "answers.sqlite") as connection:
        assert connection.execute("SELECT count(*) FROM answers").fetchone() == (4,)


@pytest.mark.parametrize(
    "written",
    [
        KEY,
        KEY.replace("/", "\\/"),
        "".join(f"\\u{ord(letter):04x}" for letter in KEY),
        quote(KEY, safe=""),
        quote(quote(KEY, safe="")),
        "".join(f"%{ord(letter):02x}" for letter in KEY),
        "".join(f"&#{ord(letter)};" for letter in KEY),
    ],
)
def test_an_answer_that_repeats_the_key_is_stored_without_it(
    bench: Any, server: ChatServer, monkeypatch: pytest.MonkeyPatch, written: str
) -> None:
    raw = f'{{"choices": [{{"message": {{"content": "you sent {written}!"}}}}], "model": "{written}"}}'
    server.fault = lambda path, body, attempt: Fault(raw=raw.encode())
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    bench.write(1)
    found = bench.ask()[0]
    assert (found["content"], found["model"]) == (f"you sent {MASK}!", MASK)
    assert written.encode() not in (bench.store / "answers.sqlite").read_bytes()
    if written == KEY:
        server.fault, server.answer = sound, lambda body: f"you sent {KEY}!"
        assert bench.ask(mode="batch", model="other")[0]["content"] == f"you sent {MASK}!"


@pytest.mark.parametrize(("length", "status"), [(LONGEST - 40, 400), (LONGEST - 20, 500), (LONGEST - 3, 401)])
def test_truncated_messages_contain_no_part_of_the_key(
    bench: Any,
    server: ChatServer,
    monkeypatch: pytest.MonkeyPatch,
    capfd: pytest.CaptureFixture[str],
    length: int,
    status: int,
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    error = {"message": "x" * length + KEY, "code": None}
    server.fault = lambda path, body, attempt: Fault(status, error=error)
    bench.write(1)
    try:
        said = str(bench.ask(tries=1)[0]["error"])
    except InputError as refused:
        said = str(refused)
    said += "".join(capfd.readouterr()) + (bench.store / "answers.sqlite").read_bytes().decode("latin-1")
    assert "xxx" in said
    assert KEY[:4] not in said


def test_a_short_placeholder_key_is_not_replaced_in_answers(
    bench: Any, server: ChatServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "none")
    server.answer = lambda body: "There is none."
    bench.write(1)
    assert bench.ask()[0]["content"] == "There is none."
    assert Redactor("none").text("none of these") == f"{MASK} of these"


def test_missing_fields_of_an_answer_are_null_and_what_is_no_answer_is_malformed() -> None:
    choice = {"message": {"content": "Ja, «so» 🎉"}, "finish_reason": "stop"}
    reply = read_reply(json.dumps({"choices": [choice], "model": "m-1", "timings": {"ms": 3}}).encode())
    assert reply[:7] == ("Ja, «so» 🎉", None, "stop", "m-1", None, None, None)
    assert json.loads(reply.response)["timings"] == {"ms": 3}
    for data in (
        *(b"[]", b'{"error": {"message": "overloaded"}}', b'{"choices": [{"finish_reason": "stop"}]}'),
        *(b'{"choices": [{"message": {"content": %s}}]}' % text for text in (b"3", b'"\xff"')),
        *(Redactor(KEY).body(b"x" * before + KEY.encode()) for before in range(40, 81, 5)),
    ):
        with pytest.raises(Malformed) as raised:
            read_reply(data)
        assert KEY[:4] not in str(raised.value)


@pytest.mark.parametrize(
    ("status", "code", "message", "kind"),
    [
        *((status, None, "", "again") for status in (500, 529, 408, 0)),
        *((status, None, "", "stop") for status in (402, 302)),
        *((429, "rate_limit_exceeded", "", "again"), (429, "insufficient_quota", "", "stop")),
        *((401, "invalid_api_key", "", "stop"), (404, "model_not_found", "", "stop")),
        *((400, "unsupported_parameter", "", "stop"), (500, ["a"], "", "again")),
        *((400, "context_length_exceeded", "", "never"), (400, "content_filter", "", "never")),
        (400, 400, "This model's maximum context length is 100 tokens.", "never"),
        *((400, None, "Bad Request", "unclear"), (422, None, "Field required", "unclear")),
    ],
)
def test_failures_by_status_and_code(status: int, code: Any, message: str, kind: str) -> None:
    assert judge_status(status, code, message, {}).kind == kind
