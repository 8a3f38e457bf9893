"""Bytes from web servers, patiently and politely: resumed where they stopped, one connection a host.

The standard library's client is enough: one request at a time, streamed, with proxies and redirects. What is
hard, going on after a fault with what is there, no library does.
"""

from __future__ import annotations

import contextlib
import datetime
import email.message
import email.utils
import fcntl
import http.client
import os
import random
import re
import ssl
import sys
import tempfile
import time
import urllib.error
import urllib.request
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast
from urllib.parse import urlsplit

from factdrift.settings import InputError, contact_of

T = TypeVar("T")

_CHUNK = 256 << 10
_SMALL = 16 << 20
_PASSING = frozenset({408, 425, 429, 500, 502, 503, 504})


@dataclass(frozen=True)
class Manners:
    """How patient and how polite; times in seconds.

    `tries`: failures in a row after which it gives up; `progress` bytes more than ever begin a new row.
    `timeout`: of silence, and the span in which at least `slowest` bytes a second must come. `pause`: after
    the first failure, doubled with each further one up to `longest_pause`. `longest_wait`: a Retry-After
    beyond it ends the download.
    """

    tries: int = 10
    progress: int = 1 << 20
    timeout: float = 60.0
    slowest: float = 1000.0
    pause: float = 2.0
    longest_pause: float = 300.0
    longest_wait: float = 3600.0
    sleep: Callable[[float], None] = time.sleep
    clock: Callable[[], float] = time.monotonic


@dataclass(frozen=True)
class Head:
    """What a server says of a file: `start`, the offset from which it sends; `size` of the whole file and
    `validator` (entity tag or date of change) where it tells them."""

    start: int
    size: int | None
    validator: str


class Missing(Exception):
    """The server does not have the file (404, 410)."""


class _Passing(Exception):
    """What may be better after `wait` seconds (None: the client's own pause)."""

    def __init__(self, reason: str, wait: float | None = None):
        super().__init__(reason)
        self.wait = wait


class _OutOfRange(Exception):
    """The server's file, of `size` bytes if it says so, ends at or before the offset that was asked for."""

    def __init__(self, size: int | None):
        self.size = size


class Client:
    """Asks servers for files, under the name of this program and a contact."""

    def __init__(self, contact: str, manners: Manners | None = None):
        """Raises InputError if `contact` is neither a mail address nor a web address."""
        self.manners = manners or Manners()
        self.agent = f"factdrift/{version('factdrift')} ({contact_of(contact)})"

    def head(self, url: str) -> Head:
        """What the server says of a file, which it does not send. Raises Missing, InputError."""

        def ask() -> Head:
            with self._connection(url, method="HEAD") as response:
                return _head(response, 0)

        return self._patiently(url, ask)

    def small(self, url: str) -> bytes:
        """A small file, such as a list of checksums. Raises Missing, InputError."""

        def ask() -> bytes:
            with self._connection(url) as response:
                size = _head(response, 0).size
                data = b"".join(self._read(response, _SMALL))
            if size is not None and len(data) < size:
                raise _Passing(f"connection cut at {len(data):,} of {size:,} bytes")
            return data

        return self._patiently(url, ask)

    def stream(
        self,
        url: str,
        start: int = 0,
        size: int | None = None,
        validator: str = "",
        begin: Callable[[Head], None] = lambda head: None,
    ) -> Iterator[tuple[int, bytes]]:
        """Offsets and bytes of a file from `start` on, over as many connections as it takes.

        A step back to offset 0 means that the file comes from its start again: the server cannot resume, or
        the file is not that of `size` and `validator` (if given) any more. `begin` is called for each
        connection and may refuse by raising. Raises Missing, InputError.
        """
        position = furthest = counted = start
        failures = 0
        while True:
            try:
                with self._connection(url, position, validator) as response:
                    head = _head(response, position)
                    changed = None not in (size, head.size) and head.size != size
                    if changed and head.start:
                        say(url, f"has {head.size:,} bytes now, not {size:,}: from its start again")
                        position, size, validator = 0, None, ""
                        continue
                    if head.start != position:
                        say(
                            url,
                            "comes from its start again: the server cannot resume, or the file has changed",
                        )
                        position = head.start
                    size = head.size
                    begin(head)
                    for data in self._read(response):
                        yield position, data
                        position += len(data)
                        furthest = max(furthest, position)
                        if furthest - counted >= self.manners.progress:
                            counted, failures = furthest, 0
                if size is None or position >= size:
                    return
                raise _Passing(f"connection cut at {position:,} of {size:,} bytes")
            except _OutOfRange as answer:
                if answer.size == position:
                    return
                say(url, f"has {answer.size or 'fewer'} bytes, less than are here: from its start again")
                position, size, validator = 0, None, ""
            except _Passing as fault:
                failures += 1
                self._wait(url, fault, failures)

    def _patiently(self, url: str, ask: Callable[[], T]) -> T:
        failures = 0
        while True:
            try:
                return ask()
            except _Passing as fault:
                failures += 1
                self._wait(url, fault, failures)

    def _wait(self, url: str, fault: _Passing, failures: int) -> None:
        manners = self.manners
        if failures >= manners.tries:
            raise InputError(
                f"{url}: given up after {failures} tries without getting further ({fault}). What has arrived "
                "of a dump is kept: run the same command again later, and it goes on from there"
            )
        if fault.wait is not None and fault.wait > manners.longest_wait:
            raise InputError(
                f"{url}: the server asks to come back in {fault.wait:,.0f} s ({fault}); run the same command "
                "again then. What has arrived of a dump is kept"
            )
        # Jitter, so that many who were turned away together do not come back together.
        pause = min(manners.pause * 2 ** (failures - 1), manners.longest_pause) * random.uniform(0.75, 1.25)
        if fault.wait is not None:
            pause = max(pause, fault.wait)
        say(url, f"{fault}; try {failures + 1} of {manners.tries} in {pause:,.1f} s")
        manners.sleep(pause)

    @contextlib.contextmanager
    def _connection(
        self, url: str, start: int = 0, validator: str = "", method: str = "GET"
    ) -> Iterator[http.client.HTTPResponse]:
        headers = {"User-Agent": self.agent, "Accept-Encoding": "identity"}
        if start:
            headers["Range"] = f"bytes={start}-"
            if validator:
                headers["If-Range"] = validator
        request = urllib.request.Request(url, headers=headers, method=method)
        with _turn(url), _open(request, self.manners.timeout) as response:
            yield response

    def _read(self, response: http.client.HTTPResponse, most: int | None = None) -> Iterator[bytes]:
        """The body as it comes. A cut body ends early without an error where its length was announced."""
        manners = self.manners
        since, arrived, total = manners.clock(), 0, 0
        while True:
            with _named():
                data = response.read1(_CHUNK)
            if not data:
                return
            yield data
            arrived, total = arrived + len(data), total + len(data)
            if most is not None and total > most:
                raise InputError(f"{response.url}: more than {most:,} bytes; is this the right address?")
            span = manners.clock() - since
            if span >= manners.timeout:
                if arrived < manners.slowest * span:
                    raise _Passing(f"only {arrived:,} bytes in {span:,.0f} s")
                since, arrived = manners.clock(), 0


def say(url: str, what: str) -> None:
    """One line to standard error about a file on a server."""
    print(f"{url}: {what}", file=sys.stderr, flush=True)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Asks for the head alone at the new address too, where it was the head that was asked for."""

    def redirect_request(self, req: urllib.request.Request, *rest: Any) -> urllib.request.Request | None:
        moved = super().redirect_request(req, *rest)
        if moved is not None:
            moved.method = req.get_method()
        return moved


_OPENER = urllib.request.build_opener(_Redirects)


@contextlib.contextmanager
def _open(request: urllib.request.Request, timeout: float) -> Iterator[http.client.HTTPResponse]:
    try:
        with _named():
            response = cast("http.client.HTTPResponse", _OPENER.open(request, timeout=timeout))
    except urllib.error.HTTPError as answer:
        with answer:
            _refused(request, answer)
    with response:
        yield response


def _refused(request: urllib.request.Request, answer: urllib.error.HTTPError) -> NoReturn:
    """Raises what an error status means."""
    url = request.full_url
    if answer.code in (404, 410):
        raise Missing(url) from None
    if answer.code == 416 and request.has_header("Range"):
        raise _OutOfRange(_total(answer.headers.get("Content-Range", ""))) from None
    if answer.code in _PASSING:
        raise _Passing(f"status {answer.code} {answer.reason}", _retry_after(answer.headers)) from None
    with contextlib.suppress(OSError, http.client.HTTPException):
        text = " ".join(answer.read(2000).decode("utf-8", "replace").split())[:300]
        raise InputError(
            f"{url}: the server refuses with status {answer.code} {answer.reason}: {text}"
        ) from None
    raise InputError(f"{url}: the server refuses with status {answer.code} {answer.reason}") from None


@contextlib.contextmanager
def _named() -> Iterator[None]:
    """Faults of the network as _Passing; a certificate that does not hold as InputError."""
    try:
        yield
    except urllib.error.HTTPError:
        raise
    except (OSError, http.client.HTTPException) as fault:
        cause = fault.reason if isinstance(fault, urllib.error.URLError) else fault
        if isinstance(cause, ssl.SSLCertVerificationError):
            raise InputError(
                f"the server's certificate does not hold ({cause}); is a proxy in between?"
            ) from fault
        text = "no answer in time" if isinstance(cause, TimeoutError) else str(cause) or type(cause).__name__
        raise _Passing(text) from fault


def _head(response: http.client.HTTPResponse, asked: int) -> Head:
    headers = response.headers
    tag = headers.get("ETag", "")
    validator = tag if tag.startswith('"') else headers.get("Last-Modified", "")
    if response.status == 206:
        found = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", headers.get("Content-Range", ""))
        if not found or int(found[1]) != asked:
            raise _Passing(f"the server sent a wrong range ({headers.get('Content-Range')!r})")
        return Head(asked, _total(headers["Content-Range"]), validator)
    length = headers.get("Content-Length", "")
    return Head(0, int(length) if length.isdigit() else None, validator)


def _total(content_range: str) -> int | None:
    total = content_range.rpartition("/")[2]
    return int(total) if total.isdigit() else None


def _retry_after(headers: email.message.Message) -> float | None:
    """Seconds of a Retry-After, which is a number or a date."""
    text = headers.get("Retry-After", "").strip()
    if text.isdigit():
        return float(text)
    try:
        until = email.utils.parsedate_to_datetime(text)
    except ValueError:
        return None
    now = datetime.datetime.now(datetime.UTC)
    return max(0.0, (until.replace(tzinfo=until.tzinfo or datetime.UTC) - now).total_seconds())


@contextlib.contextmanager
def _turn(url: str) -> Iterator[None]:
    """Holds the one connection to a host that all processes of this user on this machine share."""
    host = urlsplit(url).netloc
    folder = Path(tempfile.gettempdir()) / f"factdrift-connections-{os.getuid()}"
    folder.mkdir(mode=0o700, exist_ok=True)
    with (folder / re.sub(r"[^\w.-]", "_", host)).open("w") as lock:
        try:
            fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say(url, f"waits for another download from {host}")
            fcntl.flock(lock, fcntl.LOCK_EX)
        yield
