"""Open batches on disk: STORE/batches/NAME.json for each, and NAME.jsonl with its requests.

A step is recorded when the server has confirmed it. A run that finds a step unconfirmed asks the server for
things with the batch's name before it repeats the step; names are random, so that no two batches share one.
"""

from __future__ import annotations

import re
import secrets
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, Literal

import msgspec

from factdrift.chat.requests import Request, canonical
from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path, remove_unfinished, writer_of_name

ENDPOINT: Literal["/v1/chat/completions"] = "/v1/chat/completions"


class OpenBatch(msgspec.Struct, kw_only=True):
    name: str
    server: str
    model: str
    step: Literal["written", "uploaded", "created"] = "written"
    began: float
    """Seconds since 1970."""
    requests: int
    prompt_tokens: int
    usd: float
    """Cost of all answers at most, in US dollars."""
    file: str = ""
    batch: str = ""
    """Ids of the uploaded file and of the batch at the server, "" before they are known."""


class Outcome(msgspec.Struct):
    """A line of a batch's output file or error file."""

    custom_id: str
    response: _Response | None = None
    error: _Error | None = None


class _Error(msgspec.Struct):
    code: Any = None
    message: str | None = None


class _Response(msgspec.Struct):
    status_code: int
    body: msgspec.Raw = msgspec.Raw(b"null")


class _ErrorBody(msgspec.Struct):
    error: _Error | None = None


def error_of(response: _Response) -> tuple[Any, str]:
    """Code and message of a response with an error status."""
    try:
        error = msgspec.json.decode(response.body, type=_ErrorBody).error or _Error()
    except (ValueError, RecursionError):
        error = _Error()
    return error.code, error.message or bytes(response.body).decode("utf-8", "replace")


class Folder:
    """The open batches of a store."""

    def __init__(self, store: Path) -> None:
        self.path = store / "batches"

    def open(self) -> list[OpenBatch]:
        """The open batches of earlier runs, the oldest first."""
        batches = []
        for path in sorted(self.path.glob("*.json")):
            try:
                batches.append(msgspec.json.decode(path.read_bytes(), type=OpenBatch))
            except ValueError as error:
                raise InputError(
                    f"{path}: cannot be read as an open batch ({error}); remove the file to give the batch up"
                ) from error
        return sorted(batches, key=lambda batch: (batch.began, batch.name))

    def sweep(self) -> None:
        """Removes files of batches that are not open, which a killed run may have left."""
        for path in self.path.glob("*"):
            if writer_of_name(path.name):
                remove_unfinished(path)
            own = re.fullmatch(r"(factdrift-[0-9a-f]{16})\.(jsonl|results)", path.name)
            if own and not (self.path / f"{own[1]}.json").exists():
                path.unlink()

    def requests_of(self, batch: OpenBatch) -> Path:
        return self.path / f"{batch.name}.jsonl"

    def save(self, batch: OpenBatch) -> None:
        with atomic_path(self.path / f"{batch.name}.json") as temporary:
            temporary.write_bytes(msgspec.json.encode(batch))

    def remove(self, batch: OpenBatch) -> None:
        (self.path / f"{batch.name}.json").unlink(missing_ok=True)
        self.sweep()

    def write(
        self, take: Callable[[OpenBatch, int], tuple[Request, int, float] | None], model: str, server: str
    ) -> OpenBatch | None:
        """Writes a batch of the requests that `take` returns until it returns None.

        `take` is called with the batch so far and its size in bytes; it returns a request, the tokens of its
        prompt and its cost in US dollars, both at most. Returns None if there is no request to write.
        """
        self.path.mkdir(parents=True, exist_ok=True)
        batch = OpenBatch(
            name=f"factdrift-{secrets.token_hex(8)}",
            server=server,
            model=model,
            began=time.time(),
            requests=0,
            prompt_tokens=0,
            usd=0.0,
        )
        size = 0
        with self.requests_of(batch).open("wb") as file:
            while taken := take(batch, size):
                request, prompt_tokens, usd = taken
                size += file.write(line_of(request, model))
                batch.requests += 1
                batch.prompt_tokens += prompt_tokens
                batch.usd += usd
        if not batch.requests:
            self.requests_of(batch).unlink()
            return None
        self.save(batch)
        return batch


class Sent:
    """The requests of a batch by key; their texts stay on disk."""

    def __init__(self, path: Path) -> None:
        self._file = path.open("rb")
        self._places: dict[str, int] = {}
        place = 0
        for line in self._file:
            self._places[msgspec.json.decode(line, type=Outcome).custom_id] = place
            place += len(line)

    def __enter__(self) -> Sent:
        return self

    def __exit__(self, *_: object) -> None:
        self._file.close()

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def request(self, key: str) -> Request:
        self._file.seek(self._places[key])
        body = msgspec.json.decode(self._file.readline())["body"]
        del body["model"]
        return Request(key, key, canonical(body))


def keys_in(path: Path) -> set[str]:
    """The keys of the requests in a batch's file."""
    with Sent(path) as sent:
        return set(sent)


def line_of(request: Request, model: str) -> bytes:
    """A request as a line of a batch's file."""
    body = {"model": model, **request.body}
    line = {"custom_id": request.key, "method": "POST", "url": ENDPOINT, "body": body}
    return canonical(line).encode("utf-8") + b"\n"
