"""Responses of a chat server: reads answers, and classifies failures by what to do about them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple

import msgspec

from factdrift.core.retry import cause_of, retry_after

_TRANSIENT = frozenset({408, 409, 425, 429})
_REQUESTS_OWN = frozenset(
    {
        *("content_filter", "content_policy_violation", "context_length_exceeded"),
        *("exceed_context_size_error", "invalid_prompt", "string_above_max_length"),
    }
)
"""Error codes with status 400 that concern a single request."""
_LONG = ("context length", "context size", "context window", "maximum context")
_OF_ALL = frozenset(
    {
        *("billing_hard_limit_reached", "insufficient_quota", "invalid_api_key", "model_not_found"),
        *("unknown_parameter", "unsupported_parameter", "unsupported_value"),
    }
)
"""Error codes that concern all requests of a run, whatever their status."""
_ENDS: dict[str, Literal["complete", "cut", "filtered"]] = {
    **dict.fromkeys(("stop", "end_turn", "stop_sequence", "eos", "eos_token", "endoftext"), "complete"),
    **dict.fromkeys(("complete", "completed", "normal"), "complete"),
    **dict.fromkeys(("tool_calls", "tool_use", "function_call"), "complete"),
    **dict.fromkeys(("length", "max_tokens", "model_length", "model_context_window_exceeded"), "cut"),
    **dict.fromkeys(("content_filter", "content_filtered", "refusal", "safety", "sensitive"), "filtered"),
    **dict.fromkeys(("recitation", "blocklist", "prohibited_content", "spii"), "filtered"),
    **dict.fromkeys(("guardrail_intervened", "error_toxic"), "filtered"),
}
"""What the reasons mean that servers give for the end of an answer; any other reason may be a failure."""
_TEXTS = (None, "text", "output_text")
"""The types of parts of a content that belong to the answer; reasoning has others."""


class Reply(NamedTuple):
    """The first choice of an answer; `response` is the whole body as the server sent it.

    The content of a text with log-probabilities of its tokens is JSON of these.
    """

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


class _Part(msgspec.Struct):
    type: str | None = None
    text: Any = None
    refusal: str | None = None


class _Message(msgspec.Struct):
    content: str | list[str | _Part] | None = None
    refusal: str | None = None


class _Choice(msgspec.Struct):
    message: _Message | None = None
    text: str | None = None
    logprobs: dict[str, Any] | None = None
    finish_reason: str | None = None
    error: Any = None


class _Logprobs(msgspec.Struct):
    tokens: list[str]
    token_logprobs: list[float | None]
    top_logprobs: list[dict[str, float] | None] | None = None


class _Completion(msgspec.Struct):
    choices: list[_Choice] = []
    error: Any = None
    model: str | None = None
    system_fingerprint: str | None = None
    usage: Any = None


def read_reply(data: bytes) -> Reply:
    """The answer in the body of a response. Raises Malformed if there is none, or a failure in its place."""
    try:
        completion = msgspec.json.decode(data, type=_Completion)
        text = data.decode("utf-8")
    except (ValueError, RecursionError) as error:
        raise Malformed(f"no answer but {data[:80]!r}: {error}") from error
    choice = next(iter(completion.choices), _Choice())
    if failure := completion.error or choice.error:
        raise Malformed(f"an error inside a response of status 200: {failure}")
    message = choice.message
    if message is None and choice.text is not None:
        logprobs = None if choice.logprobs is None else msgspec.json.encode(choice.logprobs).decode()
        message = _Message(logprobs or choice.text)
    if message is None:
        raise Malformed("an answer without choices" if not completion.choices else "a choice without message")
    if end_of(choice.finish_reason) is None:
        raise Malformed(f"an answer that ended with {choice.finish_reason!r}, which may be a failure")
    version = completion.model, completion.system_fingerprint
    prompt, answer = (_tokens(completion.usage, f"{part}_tokens") for part in ("prompt", "completion"))
    return Reply(*_texts(message), choice.finish_reason, *version, prompt, answer, text)


class Likelihoods(NamedTuple):
    """The tokens of a text that a server has read, in their order."""

    tokens: list[str]
    logprobs: list[float | None]
    """None for a token that nothing precedes."""
    exact: list[bool] | None
    """Whether a token is the most probable after those before it; None if the server does not say."""


def likelihoods_of(content: str | None, prompt_tokens: int | None) -> Likelihoods | None:
    """The log-probabilities of a request for those of its text; None if the server has sent none.

    `content`, `prompt_tokens`: of the answer, whose tokens those that the server has written follow.
    """
    try:
        scored = msgspec.json.decode(content or "", type=_Logprobs)
    except (msgspec.DecodeError, UnicodeError):
        return None
    read = prompt_tokens or 0
    logprobs, top = scored.token_logprobs[:read], scored.top_logprobs
    if read < 1 or min(len(scored.tokens), len(logprobs)) < read or None in logprobs[1:]:
        return None
    exact = None
    if top is not None and len(top) >= read:
        exact = [
            own is not None and own >= max((others or {}).values(), default=own)
            for own, others in zip(logprobs, top, strict=False)
        ]
    return Likelihoods(scored.tokens[:read], logprobs, exact)


def end_of(finish_reason: str | None) -> Literal["complete", "cut", "filtered"] | None:
    """How an answer has ended; None if the server failed over it. Some servers give no reason for an end."""
    return _ENDS.get(finish_reason.casefold()) if finish_reason else "complete"


def _texts(message: _Message) -> tuple[str | None, str | None]:
    """Content and refusal of a message; parts of a content that hold text are joined, others left out."""
    content = message.content
    if not isinstance(content, list):
        return content, message.refusal
    parts = [_Part(text=part) if isinstance(part, str) else part for part in content]
    texts = [part.text for part in parts if part.type in _TEXTS]
    if not all(isinstance(text, str) for text in texts if text is not None):
        raise Malformed("a part of an answer whose text is none")
    written = [text for text in texts if text is not None]
    refusals = "".join(part.refusal or "" for part in parts)
    return "".join(written) if written else None, message.refusal or refusals or None


def _tokens(usage: Any, name: str) -> int | None:
    """A count of tokens in an answer's `usage`; None if it is not an integer."""
    count = usage.get(name) if isinstance(usage, dict) else None
    return count if isinstance(count, int) and not isinstance(count, bool) else None


def judge(error: Exception) -> Failure:
    """The failure that an exception means. Raises the exception again if it is not about the server."""
    import openai

    if isinstance(error, openai.APIStatusError):
        text = error.body.get("message") if isinstance(error.body, dict) else None
        message = str(text or error.body or "no reason given")
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
    named = f" ({code})" if code and code != status else ""
    text = f"status {status}{named}: {message}"
    if code in _OF_ALL:
        return Failure("stop", text)
    if status in _TRANSIENT or status >= 500 or status == 0:
        return Failure("again", text, retry_after(headers))
    if status in (400, 413, 422):
        if code in _REQUESTS_OWN or any(words in message.lower() for words in _LONG):
            return Failure("never", text)
        return Failure("unclear", text)
    return Failure("stop", text)
