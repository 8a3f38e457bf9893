"""Responses of a chat server: reads answers, and classifies failures by what to do about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from factdrift.core.retry import cause_of, retry_after

_TRANSIENT = frozenset({408, 409, 425, 429})
_REQUESTS_OWN = frozenset(
    {
        "content_filter",
        "content_policy_violation",
        "context_length_exceeded",
        "exceed_context_size_error",
        "invalid_prompt",
        "string_above_max_length",
    }
)
"""Error codes with status 400 that concern one request only."""
_LONG = ("context length", "context size", "context window", "maximum context")
_OF_ALL = frozenset(
    {
        "billing_hard_limit_reached",
        "insufficient_quota",
        "invalid_api_key",
        "model_not_found",
        "unknown_parameter",
        "unsupported_parameter",
        "unsupported_value",
    }
)
"""Error codes that concern all requests of a run, whatever their status."""


class Reply(NamedTuple):
    """The first choice of an answer; `response` is the whole body as the server sent it."""

    content: str | None
    refusal: str | None
    finish_reason: str | None
    model: str | None
    fingerprint: str | None
    prompt_tokens: int | None
    completion_tokens: int | None
    response: str


class Failure(NamedTuple):
    kind: Literal["again", "unclear", "never", "stop"]
    """`again`: transient. `never`: this request will always fail. `stop`: all requests will. `unclear`:
    `stop` as long as nothing has been answered, else `never`."""
    error: str
    after: float | None = None
    """The server's Retry-After in seconds."""
    billed: bool = False
    """Whether the server may have charged for an answer that did not arrive."""
    unreached: bool = False
    """Whether no connection came about."""


class Malformed(ValueError):
    """The body of a successful response is not an answer."""


class _Message(msgspec.Struct):
    content: str | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message
    finish_reason: str | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice]
    model: str | None = None
    system_fingerprint: str | None = None
    usage: Any = None


def read_reply(data: bytes) -> Reply:
    """The answer in the body of a response. Raises Malformed if there is none."""
    try:
        completion = msgspec.json.decode(data, type=_Completion)
        text = data.decode("utf-8")
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no answer but {data[:80]!r}: {error}") from error
    if not completion.choices:
        raise Malformed("an answer without choices")
    choice = completion.choices[0]
    return Reply(
        choice.message.content,
        choice.message.refusal,
        choice.finish_reason,
        completion.model,
        completion.system_fingerprint,
        _tokens(completion.usage, "prompt_tokens"),
        _tokens(completion.usage, "completion_tokens"),
        text,
    )


def _tokens(usage: Any, name: str) -> int | None:
    """A count of tokens in an answer's `usage`; None if it is not an integer."""
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) else None


def judge(error: Exception) -> Failure:
    """The failure that an exception means. Raises the exception again if it is not about the server."""
    import openai

    if isinstance(error, openai.APIStatusError):
        said = error.body.get("message") if isinstance(error.body, dict) else None
        message = str(said or error.body or "no reason given")
        return judge_status(error.status_code, error.code, message, error.response.headers)
    if isinstance(error, TimeoutError | openai.APITimeoutError):
        return Failure("again", "no answer in time", billed=True)
    if isinstance(error, openai.APIConnectionError):
        # Without a connection nothing was sent.
        unreached = "Connect" in type(error.__cause__).__name__
        text = f"the connection failed: {cause_of(error)}"
        return Failure("again", text, billed=not unreached, unreached=unreached)
    if isinstance(error, ValueError | RecursionError | openai.APIError):
        return Failure("again", f"malformed: {error}", billed=True)
    raise error


def judge_status(status: int, code: Any, message: str, headers: Mapping[str, str]) -> Failure:
    """The failure that an error status means; `code` is the error code in the body, if there is one."""
    code = code if isinstance(code, str | int) else None
    text = f"status {status}{f' ({code})' if code else ''}: {message}"
    if code in _OF_ALL:
        return Failure("stop", text)
    if status in _TRANSIENT or status >= 500 or status == 0:
        return Failure("again", text, retry_after(headers))
    if status in (400, 413, 422):
        if code in _REQUESTS_OWN or any(words in message.lower() for words in _LONG):
            return Failure("never", text)
        return Failure("unclear", text)
    return Failure("stop", text)
