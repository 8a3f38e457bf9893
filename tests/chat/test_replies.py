"""Reading of responses, and classification of failures."""

import json
from typing import Any

import pytest

from factdrift.chat.replies import Malformed, judge, judge_status, read_reply


def completion(**message: Any) -> bytes:
    choice = {"index": 0, "message": {"role": "assistant", **message}, "finish_reason": "stop"}
    return json.dumps({"id": "x", "choices": [choice], "model": "m-1", "timings": {"ms": 3}}).encode()


def test_missing_fields_of_an_answer_are_null() -> None:
    reply = read_reply(completion(content="Ja, «so» 🎉"))
    assert reply[:7] == ("Ja, «so» 🎉", None, "stop", "m-1", None, None, None)
    assert json.loads(reply.response)["timings"] == {"ms": 3}
    assert read_reply(completion(content=None, refusal="No.")).refusal == "No."


@pytest.mark.parametrize(
    "data",
    [
        b"",
        b"<html>log in</html>",
        b'{"choices": [{"mess',
        b"[]",
        b'"text"',
        b'{"error": {"message": "overloaded"}}',
        b'{"choices": []}',
        b'{"choices": [{"finish_reason": "stop"}]}',
        b'{"choices": [{"message": {"content": 3}}]}',
        b'{"choices": [{"message": {"content": "\xff"}}]}',
    ],
)
def test_bodies_that_are_not_answers_are_malformed(data: bytes) -> None:
    with pytest.raises(Malformed):
        read_reply(data)


@pytest.mark.parametrize(
    ("status", "code", "message", "kind"),
    [
        (429, "rate_limit_exceeded", "", "again"),
        (429, "insufficient_quota", "", "stop"),
        (500, None, "", "again"),
        (503, None, "", "again"),
        (529, None, "", "again"),
        (408, None, "", "again"),
        (0, None, "", "again"),
        (400, "unsupported_parameter", "", "stop"),
        (400, "context_length_exceeded", "", "never"),
        (400, 400, "This model's maximum context length is 100 tokens.", "never"),
        (400, "content_filter", "", "never"),
        (400, None, "Bad Request", "unclear"),
        (422, None, "Field required", "unclear"),
        (401, "invalid_api_key", "", "stop"),
        (402, None, "", "stop"),
        (403, None, "", "stop"),
        (404, "model_not_found", "", "stop"),
        (405, None, "", "stop"),
        (302, None, "", "stop"),
    ],
)
def test_failures_by_status_and_code(status: int, code: Any, message: str, kind: str) -> None:
    assert judge_status(status, code, message, {}).kind == kind


def test_a_bug_is_not_taken_for_a_failure_of_the_server() -> None:
    with pytest.raises(KeyError):
        judge(KeyError("a bug"))
