"""How answers and failures are read; none of an odd form stops a run, none is stored with the API key."""

import json
import sqlite3
from typing import Any
from urllib.parse import quote

import pytest
from support.chat_server import CHAT, ChatServer, Fault, sound

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


def test_an_error_with_a_lone_surrogate_is_stored(bench: Any, server: ChatServer) -> None:
    raw = b'{"error": {"message": "no \\ud800", "code": "context_length_exceeded"}}'
    server.fault = lambda path, body, attempt: Fault(400, raw=raw)
    bench.write(1)
    assert bench.ask()[0]["error"] == "status 400 (context_length_exceeded): no ?"


def test_a_bug_in_one_worker_loses_no_answer_of_the_others(bench, server, monkeypatch):
    keep = Store.keep

    def faulty(self: Store, request: Any, *others: Any) -> None:
        if request.name == "r0":
            raise OverflowError("a bug")
        keep(self, request, *others)

    monkeypatch.setattr(Store, "keep", faulty)
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
        *(KEY, KEY.replace("/", "\\/"), quote(KEY, safe=""), quote(quote(KEY, safe=""))),
        "".join(f"\\u{ord(letter):04x}" for letter in KEY),
        "".join(f"%{ord(letter):02x}" for letter in KEY),
        "".join(f"&#{ord(letter)};" for letter in KEY),
    ],
)
def test_an_answer_that_repeats_the_key_is_stored_without_it(bench, server, monkeypatch, written):
    raw = f'{{"choices": [{{"message": {{"content": "you sent {written}!"}}}}], "model": "{written}"}}'
    server.fault = lambda path, body, attempt: Fault(raw=raw.encode())
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    bench.write(1)
    found = bench.ask()[0]
    assert (found["content"], found["model"]) == (f"you sent {MASK}!", MASK)
    assert written.encode() not in (bench.store / "answers.sqlite").read_bytes()


@pytest.mark.parametrize(("length", "status"), [(LONGEST - 40, 400), (LONGEST - 20, 500), (LONGEST - 3, 401)])
def test_truncated_messages_contain_no_part_of_the_key(bench, server, monkeypatch, capfd, length, status):
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


def test_a_short_placeholder_key_is_not_replaced_in_answers(bench, server, monkeypatch):
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
    found = judge_status(status, code, message, {})
    assert found.kind == kind
    named = f" ({code})" if isinstance(code, str) else ""  # a code that repeats the status is told once
    assert found.error == f"status {status}{named}: {message}"


FAILED_ENDS = ("error", "abort", "insufficient_system_resource", "network_error", "of_a_later_year")


def body(content: Any = "Joe Bi", finish: str | None = "stop", **fields: Any) -> bytes:
    choice = {"message": {"content": content}, "finish_reason": finish, **fields}
    return json.dumps({"choices": [choice]}).encode()


def test_an_end_that_is_known_makes_an_answer() -> None:
    ends = ("stop", "length", "content_filter", "tool_calls", "end_turn", "eos", "MAX_TOKENS", "SAFETY")
    assert {read_reply(body(finish=end)).content for end in (*ends, "", None)} == {"Joe Bi"}


FAILURES = {
    **{end: body(finish=end) for end in FAILED_ENDS},
    "in the choice": body(error={"code": 502, "message": "upstream"}),
    "beside the choices": body()[:-1] + b', "error": {"message": "upstream"}}',
    "instead of them": b'{"error": "upstream"}',
}


@pytest.mark.parametrize("data", FAILURES.values(), ids=FAILURES)
def test_a_failure_inside_a_response_is_no_answer(data: bytes) -> None:
    with pytest.raises(Malformed, match=r"^an (error inside a response of status 200|answer that ended)"):
        read_reply(data)


def test_a_failure_inside_a_response_is_asked_again(bench: Any, server: ChatServer) -> None:
    server.fault = lambda path, body, attempt: Fault(finish="error") if path == CHAT and attempt < 2 else None
    bench.write(1)
    assert bench.statuses(tries=3) == ["answered"]
    assert set(server.asked.values()) == {3}
    (answer,) = bench.ask(tries=2, model="other")
    assert (answer["status"], answer["content"]) == ("failed", None)
    assert "ended with 'error'" in answer["error"]


TEXT = {"type": "text", "text": "Joe"}


@pytest.mark.parametrize(
    ("content", "text"),
    [
        *((parts, "Joe") for parts in ([TEXT], ["Joe"], [{"text": "Joe"}], [{"type": "reference"}, TEXT])),
        ([{"type": "thinking", "thinking": [{"type": "text", "text": "Or Ann?"}]}, TEXT], "Joe"),
        ([{"type": "reasoning", "text": "Or Ann?"}, {"type": "output_text", "text": "Joe"}], "Joe"),
        ([TEXT, {"type": "text", "text": " B."}], "Joe B."),
        *((parts, None) for parts in ([], [{"type": "thinking", "thinking": "Or Ann?"}])),
    ],
)
def test_parts_of_an_answer_are_joined_without_reasoning(content: Any, text: str | None) -> None:
    assert read_reply(body(content)).content == text


def test_a_refusal_may_be_a_part() -> None:
    assert read_reply(body([{"type": "refusal", "refusal": "No."}])).refusal == "No."
    with pytest.raises(Malformed):
        read_reply(body([{"type": "text", "text": 3}]))
