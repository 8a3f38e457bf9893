"""Faults of the chat server for tests."""

from __future__ import annotations

import json
import random
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

Json = dict[str, Any]
CHAT = "/v1/chat/completions"


@dataclass(frozen=True)
class Fault:
    """The fault of one answer."""

    status: int = 200
    headers: tuple[tuple[str, str], ...] = ()
    error: Json | None = None
    """The `error` of the body, with an error status."""
    raw: bytes | None = None
    """The body that replaces the answer."""
    delay: float = 0.0
    """Seconds before anything is sent."""
    cut: float | None = None
    """The share of the body after which the connection is cut; nothing at all is sent below 0."""
    finish: str = "stop"
    message: tuple[tuple[str, Any], ...] = ()
    """Fields that replace those of the answer's message."""
    choices: bool = True


def _error(status: int, code: str | None, text: str, **headers: str) -> Fault:
    named = tuple((name.replace("_", "-"), value) for name, value in headers.items())
    kind = "invalid_request_error" if status < 429 else "server_error"
    return Fault(status, named, {"message": text, "type": kind, "param": None, "code": code})


FAULTS = {
    "429": _error(429, "rate_limit_exceeded", "Rate limit reached", retry_after="0"),
    "429-second": _error(429, "rate_limit_exceeded", "Rate limit reached", retry_after="1"),
    "429-ms": _error(429, "rate_limit_exceeded", "Rate limit reached", retry_after_ms="20"),
    "429-bare": _error(429, "rate_limit_exceeded", "Rate limit reached"),
    "quota": _error(429, "insufficient_quota", "You exceeded your current quota"),
    "500": _error(500, None, "The server had an error"),
    "503-html": Fault(503, raw=b"<html><body>Service Unavailable</body></html>"),
    "401": _error(401, "invalid_api_key", "Incorrect API key provided"),
    "403": _error(403, "unsupported_country_region_territory", "Country, region, or territory not supported"),
    "404": _error(404, "model_not_found", "The model does not exist"),
    "unsupported": _error(400, "unsupported_parameter", "Unsupported parameter: 'max_tokens'"),
    "too-long": _error(400, "context_length_exceeded", "This model's maximum context length is 8192 tokens"),
    "late": Fault(delay=0.2),
    "drop": Fault(cut=-1.0),
    "cut": Fault(cut=0.5),
    "garbage": Fault(raw=b'{"id": "chatcmpl-1", "choices": [{"mess'),
    "empty": Fault(raw=b""),
    "html": Fault(raw=b"<html><body>Please log in</body></html>", headers=(("content-type", "text/html"),)),
    "length": Fault(finish="length"),
    "filter": Fault(finish="content_filter"),
    "refusal": Fault(message=(("content", None), ("refusal", "I can't help with that."))),
    "null": Fault(message=(("content", None),)),
    "no-choices": Fault(choices=False),
}
"""Faults by name."""

PASSING = ("429", "429-ms", "500", "503-html", "late", "drop", "cut", "garbage", "empty", "html")
"""The transient faults."""


def some(share: float, names: Sequence[str] = PASSING) -> Callable[[str, Json, int], str | None]:
    """A `fault` that strikes that share of the chat requests, the same ones in every run."""

    def fault(path: str, body: Json, attempt: int) -> str | None:
        chance = random.Random(f"{canonical(body)} {attempt}")
        return chance.choice(names) if path == CHAT and chance.random() < share else None

    return fault


def canonical(body: Json) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sound(path: str, body: Json, attempt: int) -> None:
    """No fault."""
