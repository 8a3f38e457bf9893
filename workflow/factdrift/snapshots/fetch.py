"""The HTTP client for dumps, page views and Wikidata's API: resumes downloads, one connection a host.

The connections are those of the library `requests`. This module adds what it does not do: to continue a
download after a fault, and to wait as long as a server asks.
"""

import contextlib
import re
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from functools import partial
from importlib.metadata import version
from typing import Any, NoReturn, TypeVar
from urllib.parse import urlsplit

import requests
import urllib3.exceptions

from factdrift.core.addresses import AccessToken
from factdrift.core.errors import InputError, Redactor
from factdrift.core.owned import file_lock, private_folder
from factdrift.core.retry import Retries, RetryPolicy, TransientError, cause_of, retry_after, say
from factdrift.core.settings import contact_of

T = TypeVar("T")

_CHUNK = 256 << 10
_SMALL = 64 << 20
_TRANSIENT = frozenset({408, 425, 429, 500, 502, 503, 504})
_UNREACHED = (urllib3.exceptions.NewConnectionError, urllib3.exceptions.ConnectTimeoutError)
"""What keeps a connection to a server, or to the proxy before it, from coming about."""


@dataclass(frozen=True)
class Limits:
    """When a connection counts as failed.

    `timeout`: seconds without a byte. `slowest`: bytes a second; a connection that is slower over `timeout`
    seconds is ended. `progress`: bytes after which a download's failures are counted from 0 again.
    """

    timeout: float = 60.0
    slowest: float = 1000.0
    progress: int = 1 << 20


@dataclass(frozen=True)
class Head:
    """What the headers of a response say of a file: `start`, the offset from which the server sends it;
    `size` of the whole file in bytes, if known; `validator`, its entity tag or date of change, else "";
    `modified`, its date of change as the server writes it, else ""."""

    start: int
    size: int | None
    validator: str
    modified: str = ""


class Missing(Exception):
    """The server does not have the file (404, 410)."""


class Refused(InputError):
    """The server refuses a request with a status that waiting does not change."""


class _OutOfRange(Exception):
    """The server's file, of `size` bytes if it says so, ends at or before the offset that was asked for."""

    def __init__(self, size: int | None):
        self.size = size


class Client:
    """Asks servers under the name of this program and a contact; `requests` counts how often."""

    def __init__(
        self,
        contact: str,
        policy: RetryPolicy | None = None,
        limits: Limits | None = None,
        sleep: Callable[[float], None] = time.sleep,
        token: AccessToken | None = None,
    ):
        """`token` is sent to its own host only, and removed from whatever a server sends.

        Raises InputError if `contact` is neither a mail address nor a web address.
        """
        self.policy, self.limits, self.requests = policy or RetryPolicy(), limits or Limits(), 0
        self._sleep, self._reached = sleep, False
        self._session = requests.Session()
        self._token, self._redactor = token, Redactor(token.secret if token else "")
        self._session.headers["User-Agent"] = f"factdrift/{version('factdrift')} ({contact_of(contact)})"

    def head(self, url: str) -> Head:
        """The headers of a file (a HEAD request). Raises Missing, InputError."""

        def ask() -> Head:
            with self._connection(url, method="HEAD") as response:
                return _head(response, 0)

        return self._retries(url).until(ask)

    def small(
        self,
        url: str,
        query: Mapping[str, str | int] | None = None,
        read: Callable[[bytes], T] = lambda data: data,  # type: ignore[assignment,return-value]
    ) -> T:
        """The body of a small answer, such as a list of checksums, after `read`.

        `read` may raise TransientError, and the request is repeated. Raises Missing, InputError.
        """

        def ask() -> T:
            with self._connection(url, query=query, encoding="gzip") as response:
                data = b"".join(self._read(response, _SMALL))
                if left := response.raw.length_remaining:
                    raise TransientError(f"connection cut {left:,} bytes before the end")
                try:
                    return read(self._redactor.body(data))
                except TransientError as fault:
                    raise TransientError(str(fault), retry_after(response.headers)) from fault.__cause__

        return self._retries(url).until(ask)

    def stream(
        self,
        url: str,
        start: int = 0,
        size: int | None = None,
        validator: str | None = "",
        begin: Callable[[Head], None] = lambda head: None,
    ) -> Iterator[tuple[int, bytes]]:
        """Yields (offset, bytes) of a file from `start` on, over as many connections as are needed.

        A step back to offset 0 means that the file is sent from its start again, because the server cannot
        resume, or because the file has changed: each connection's size and validator are compared with those
        of the one before. `size`, `validator`: those of the bytes before `start`, if known. With `validator`
        None they are not compared, because servers of one name may give the same file different ones; the
        caller must then compare a checksum. `begin` is called with each connection's headers, and may raise
        to refuse it. Raises Missing, InputError.
        """
        position = furthest = counted = start
        retries = self._retries(url)
        while True:
            try:
                with self._connection(url, position, validator or "") as response:
                    head = _head(response, position)
                    if head.start and changed(head, size, validator):
                        say(url, "has changed on the server: from its start again")
                        position, size, validator = 0, None, "" if validator is not None else None
                        continue
                    if head.start != position:
                        say(url, "comes from its start again: it cannot be resumed, or has changed")
                        position, size = head.start, None
                    size = head.size if head.size is not None else size
                    if validator is not None:
                        validator = head.validator or (validator if head.start else "")
                    begin(head)
                    for data in self._read(response):
                        yield position, data
                        position += len(data)
                        furthest = max(furthest, position)
                        if furthest - counted >= self.limits.progress:
                            counted = furthest
                            retries.succeeded()
                if size is None or position >= size:
                    return
                raise TransientError(f"connection cut at {position:,} of {size:,} bytes")
            except _OutOfRange as answer:
                if answer.size == position:
                    return
                of = "" if answer.size is None else f" of {answer.size:,}"
                say(url, f"does not continue at byte {position:,}{of}: from its start again")
                position, size, validator = 0, None, "" if validator is not None else None
            except TransientError as fault:
                retries.failed(fault)

    def _retries(self, url: str) -> Retries:
        return Retries(self.policy, url, self._sleep, reached=self._reached)

    @contextlib.contextmanager
    def _connection(
        self,
        url: str,
        start: int = 0,
        validator: str = "",
        method: str = "GET",
        query: Mapping[str, str | int] | None = None,
        encoding: str = "identity",
    ) -> Iterator[requests.Response]:
        headers = {"Accept-Encoding": encoding}
        if start:
            headers["Range"] = f"bytes={start}-"
            if validator and not validator.startswith("W/"):  # weak tags are not allowed there
                headers["If-Range"] = validator
        wait, address = self.limits.timeout, urlsplit(url).netloc
        token = self._token if self._token and self._token.host == address else None
        auth = partial(_log_in, secret=token.secret) if token else None
        host = address.rpartition("@")[2]
        # All processes of a user on a machine share one connection to each host.
        lock = private_folder("connections") / re.sub(r"[^\w.-]", "_", host)
        with file_lock(lock, lambda: say(url, f"waits for another download from {host}")), _named(url):
            self.requests += 1
            with self._session.request(
                method, url, query, headers=headers, auth=auth, timeout=wait, stream=True
            ) as response:
                self._reached = True
                if response.status_code >= 400:
                    _refused(url, response, bool(start), self._redactor)
                response.raw.enforce_content_length = False
                yield response

    def _read(self, response: requests.Response, most: int | None = None) -> Iterator[bytes]:
        """The body in pieces, up to where a connection is cut.

        With `most` it is decompressed, and more than that many bytes raise InputError.
        """
        limits = self.limits
        since, arrived, total = time.monotonic(), 0, 0
        while True:
            if not (data := response.raw.read1(_CHUNK, decode_content=most is not None)):
                return
            yield data
            arrived, total = arrived + len(data), total + len(data)
            if most is not None and total > most:
                raise InputError(f"{response.url}: more than {most:,} bytes; is this the right address?")
            span = time.monotonic() - since
            if span >= limits.timeout:
                if arrived < limits.slowest * span:
                    raise TransientError(f"only {arrived:,} bytes in {span:,.0f} s")
                since, arrived = time.monotonic(), 0


def _log_in(request: Any, secret: str) -> Any:
    """Adds an access token. As the request's own login it goes before one of the user's ~/.netrc, and
    `requests` does not send it to another host, to which an answer may redirect."""
    request.headers["Authorization"] = f"Bearer {secret}"
    return request


def changed(head: Head, size: int | None, validator: str | None) -> bool:
    """Whether a response is of another file than size and validator, as far as both sides have them."""
    other_size = None not in (head.size, size) and head.size != size
    return other_size or bool(validator and head.validator and head.validator != validator)


def _refused(url: str, answer: requests.Response, resuming: bool, redactor: Redactor) -> NoReturn:
    """Raises the exception for an error status."""
    status = redactor.text(f"status {answer.status_code} {answer.reason}")
    if answer.status_code in (404, 410):
        raise Missing(url)
    if answer.status_code == 416 and resuming:
        raise _OutOfRange(_total(answer.headers.get("Content-Range", "")))
    if answer.status_code in _TRANSIENT:
        raise TransientError(status, retry_after(answer.headers))
    words = b""
    with contextlib.suppress(urllib3.exceptions.HTTPError, OSError):
        words = answer.raw.read(2000, decode_content=True)
    text = redactor.text(" ".join(words.decode("utf-8", "replace").split()))[:300]
    raise Refused(f"{url}: the server refuses with {status}: {text}")


@contextlib.contextmanager
def _named(url: str) -> Iterator[None]:
    """Raises faults of the network as TransientError, and those that no waiting can fix as InputError."""
    try:
        yield
    except (requests.Timeout, urllib3.exceptions.TimeoutError) as fault:
        unreached = isinstance(fault, requests.ConnectTimeout)
        raise TransientError("no answer in time", unreached=unreached) from fault
    except (requests.RequestException, urllib3.exceptions.HTTPError, ValueError) as fault:
        if "CERTIFICATE_VERIFY_FAILED" in str(fault):
            raise InputError(
                f"{url}: the server's certificate is not valid ({fault}); does a proxy answer instead?"
            ) from fault
        if isinstance(fault, ValueError | requests.TooManyRedirects):
            raise InputError(f"{url}: no request can be sent ({fault}); correct the address") from fault
        reason = getattr(fault.args[0], "reason", None) if fault.args else None
        reason = getattr(reason, "original_error", reason)  # of a proxy's error
        unreached = isinstance(reason, _UNREACHED)
        raise TransientError(f"the connection failed: {cause_of(fault)}", unreached=unreached) from fault


def _head(response: requests.Response, asked: int) -> Head:
    headers = response.headers
    modified = headers.get("Last-Modified", "")
    validator = headers.get("ETag", "") or modified
    if response.status_code == 206:
        match = re.fullmatch(r"bytes (\d+)-\d+/(\d+|\*)", headers.get("Content-Range", ""))
        if not match or int(match[1]) != asked:
            raise TransientError(f"the server sent a wrong range ({headers.get('Content-Range')!r})")
        return Head(asked, _total(headers["Content-Range"]), validator, modified)
    length = headers.get("Content-Length", "")
    return Head(0, int(length) if length.isdecimal() else None, validator, modified)


def _total(content_range: str) -> int | None:
    total = content_range.rpartition("/")[2]
    return int(total) if total.isdecimal() else None
