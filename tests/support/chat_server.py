"""A server on the loopback interface that speaks chat and models as the OpenAI API does.

It has faults on demand and counts all requests. In a test:

    with chat_serving(answer=lambda body: body["messages"][-1]["content"].upper()) as server:
        server.fault = some(0.1)
        ...  # base_url=server.url
        assert max(server.asked.values()) == 1

By hand, in a process of its own: `PYTHONPATH=tests python -m support.chat_server`, which prints its address.
"""

import asyncio
import contextlib
import hashlib
import json
import os
import random
import sys
import threading
import time
import unittest.mock
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

Json = dict[str, Any]
CHAT = "/v1/chat/completions"
COMPLETIONS = "/v1/completions"


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
    "no-echo": _error(400, None, "Only no echo is supported"),
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


def some(share: float) -> Callable[[str, Json, int], str | None]:
    """A passing `fault` that strikes that share of the chat requests, the same ones in every run."""

    def fault(path: str, body: Json, attempt: int) -> str | None:
        chance = random.Random(f"{canonical(body)} {attempt}")
        return chance.choice(PASSING) if path == CHAT and chance.random() < share else None

    return fault


def canonical(body: Json) -> str:
    return json.dumps(body, sort_keys=True, separators=(",", ":"), ensure_ascii=False)


def sound(path: str, body: Json, attempt: int) -> None:
    """No fault."""


def echo(body: Json) -> str:
    """The default answer, which depends on the request only."""
    return f"Answer {hashlib.sha256(canonical(body).encode()).hexdigest()[:12]}"


@dataclass
class ChatServer:
    """Counts requests; its answers can be changed at any time, also from other threads.

    `fault(path, body, attempt)` returns the fault of a request or its name; `attempt` counts from 0 how often
    the same body was sent to the path. It is called before a request is handled.
    """

    answer: Callable[[Json], str] = echo
    fault: Callable[[str, Json, int], str | Fault | None] = sound
    delay: float = 0.0
    """Seconds before each chat request is answered."""
    together: int = 0
    """Number of chat requests that must be in flight at the same time before the first one is answered."""
    complete: Callable[[Json], Json] | None = None
    """The choice and `usage` of a request to continue a text; without it there is no such path."""
    key: str | None = None
    """The API key that requests must carry; None accepts any."""

    asked: Counter[str] = field(default_factory=Counter)
    """Canonical JSON of a body -> how often it was requested."""
    calls: Counter[str] = field(default_factory=Counter)
    """Method and path, such as `GET /v1/models` -> number of calls."""
    arrivals: list[float] = field(default_factory=list)
    """When each chat request arrived: seconds of the monotonic clock."""
    answered: int = 0
    busiest: int = 0
    agents: Counter[str] = field(default_factory=Counter)
    url: str = ""
    _attempts: Counter[str] = field(default_factory=Counter)
    _busy: int = 0

    def completion(self, body: Json, fault: Fault) -> Json:
        text = self.answer(body)
        prompt = sum(len(str(message.get("content"))) for message in body["messages"])
        choice = {
            "index": 0,
            "message": {"role": "assistant", "content": text, "refusal": None, **dict(fault.message)},
            "finish_reason": fault.finish,
        }
        used = {"prompt_tokens": prompt // 4 + 3, "completion_tokens": len(text) // 4 + 1}
        return {
            "id": f"chatcmpl-{hashlib.sha256(canonical(body).encode()).hexdigest()[:16]}",
            "object": "chat.completion",
            "created": int(time.time()),
            "model": f"{body['model']}-2026-01-01",
            "system_fingerprint": "fp_loopback",
            "choices": [choice] if fault.choices else [],
            "usage": {**used, "total_tokens": sum(used.values())},
        }

    def struck(self, path: str, body: Json) -> Fault:
        name = f"{path} {canonical(body)}"
        attempt = self._attempts[name]
        self._attempts[name] += 1
        fault = self.fault(path, body, attempt)
        return FAULTS[fault] if isinstance(fault, str) else fault or Fault()

    async def respond(
        self, method: str, target: str, headers: dict[str, str], data: bytes
    ) -> tuple[Any, Fault]:
        """The response, and the fault with which it is sent."""
        path = urlsplit(target).path
        self.calls[f"{method} {path}"] += 1
        if self.key is not None and headers.get("authorization") != f"Bearer {self.key}":
            return None, FAULTS["401"]
        if (method, path) == ("GET", "/v1/models"):
            models = [{"id": "loopback", "object": "model", "owned_by": "test"}]
            return {"object": "list", "data": models}, Fault()
        if method != "POST" or path not in (CHAT, COMPLETIONS if self.complete else CHAT):
            return None, FAULTS["404"]
        body = json.loads(data)
        self.asked[canonical(body)] += 1
        self.arrivals.append(time.monotonic())
        fault = self.struck(path, body)
        while self.busiest < self.together:
            await asyncio.sleep(0.005)
        await asyncio.sleep(self.delay + fault.delay)
        wanted = fault.raw is None and fault.error is None
        self.answered += wanted and fault.cut is None
        if wanted and path == COMPLETIONS and self.complete:
            return {"object": "text_completion", "model": body["model"], **self.complete(body)}, fault
        return self.completion(body, fault) if wanted else None, fault

    async def connected(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        # Cancelled when the server ends while a client still holds the connection.
        gone = (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError)
        with contextlib.suppress(*gone):
            while True:
                head = (await reader.readuntil(b"\r\n\r\n")).decode("latin-1")
                start, _, rest = head.partition("\r\n")
                method, target, _ = start.split(" ", 2)
                fields = (line.partition(":") for line in rest.split("\r\n") if line)
                headers = {name.lower(): value.strip() for name, _, value in fields}
                data = await reader.readexactly(int(headers.get("content-length", "0")))
                self._busy += 1
                self.busiest = max(self.busiest, self._busy)
                self.agents[headers.get("user-agent", "")] += 1
                try:
                    result, fault = await self.respond(method, target, headers, data)
                finally:
                    self._busy -= 1
                if not _send(writer, result, fault):
                    break
                await writer.drain()
        writer.close()


def _send(writer: asyncio.StreamWriter, result: Any, fault: Fault) -> bool:
    """Sends a response in one piece; returns whether the connection stays."""
    if fault.cut is not None and fault.cut < 0:
        writer.transport.abort()
        return False
    body = json.dumps(result).encode()
    if fault.error is not None:
        body = json.dumps({"error": fault.error}).encode()
    if fault.raw is not None:
        body = fault.raw
    fields = {"content-type": "application/json", "content-length": str(len(body)), **dict(fault.headers)}
    head = "".join(f"{name}: {value}\r\n" for name, value in fields.items())
    sent = body if fault.cut is None else body[: int(fault.cut * len(body))]
    writer.write(f"HTTP/1.1 {fault.status} Whatever\r\n{head}\r\n".encode() + sent)
    return fault.cut is None


@contextlib.contextmanager
def chat_serving(answer: Callable[[Json], str] = echo, **options: Any) -> Iterator[ChatServer]:
    """A server in a thread of its own, on a port of its own; `url` ends in /v1."""
    server = ChatServer(answer, **options)
    ready, ended = threading.Event(), threading.Event()

    async def serve() -> None:
        listening = await asyncio.start_server(server.connected, "127.0.0.1", 0, limit=1 << 20, backlog=1024)
        server.url = f"http://127.0.0.1:{listening.sockets[0].getsockname()[1]}/v1"
        ready.set()
        while not ended.is_set():
            await asyncio.sleep(0.02)

    thread = threading.Thread(target=asyncio.run, args=(serve(),), daemon=True)
    thread.start()
    if not ready.wait(10):
        raise RuntimeError("the chat server did not start")
    try:
        with unittest.mock.patch.dict(os.environ, {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}):
            os.environ.pop("OPENAI_API_KEY", None)  # of the user
            yield server
    finally:
        ended.set()
        thread.join()


def main() -> None:
    """Serves until its standard input is closed."""
    with chat_serving() as server:
        print(server.url, flush=True)
        sys.stdin.read()


if __name__ == "__main__":
    main()
