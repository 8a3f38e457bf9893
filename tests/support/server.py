"""A web server on the loopback interface with faults on demand, which records all requests."""

import contextlib
import os
import re
import threading
import time
import unittest.mock
import zlib
from collections.abc import Iterator
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer

from support.listening import Handler, in_thread


@dataclass
class Fault:
    """The fault of one GET: an error status, or a body that is cut, sent in small pieces, or held back."""

    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: int | None = None
    """Bytes of the body after which the connection is closed."""
    hold: int | None = None
    """Bytes of the body after which nothing more comes until `Server.released` is set."""
    drip: tuple[int, float] | None = None
    """Bytes of each piece, and seconds between two pieces."""
    then: bytes | None = None
    """The content that replaces the file when this answer has been sent."""


@dataclass
class Asked:
    """A request: `start` is the first byte of its range, `sent` the number of bytes of the body sent.

    `began` is when it arrived, `ended` when the last piece of the body was about to be sent, both in seconds
    of the monotonic clock.
    """

    method: str
    path: str
    start: int
    agent: str
    sent: int = 0
    began: float = field(default_factory=time.monotonic)
    ended: float = 0.0
    authorization: str = ""


class Server:
    """Serves `files`. Each GET of a path takes the next of its `faults`, else `always`, if there is one."""

    def __init__(self) -> None:
        self.files: dict[str, bytes] = {}
        self.faults: dict[str, list[Fault]] = {}
        self.always: dict[str, Fault] = {}
        self.moved: dict[str, str] = {}
        self.ranges = True
        self.validators = True
        self.heeds_if_range = True
        self.weak = False
        """Entity tags are weak."""
        self.salt = ""
        """A part of the entity tags that does not depend on the content."""
        self.lengths = True
        self.headers: dict[str, str] = {}
        """Sent with each file besides."""
        self.asked: list[Asked] = []
        self.lock = threading.Lock()
        self.released = threading.Event()
        self.url = ""

    def gets(self, path: str) -> list[Asked]:
        return [asked for asked in self.asked if asked.method == "GET" and asked.path == path]


@contextlib.contextmanager
def serving() -> Iterator[Server]:
    server = Server()
    local = {"no_proxy": "127.0.0.1", "NO_PROXY": "127.0.0.1"}
    with in_thread(ThreadingHTTPServer(("127.0.0.1", 0), _handler(server))) as server.url:
        try:
            with unittest.mock.patch.dict(os.environ, local):
                yield server
        finally:
            server.released.set()


def _handler(server: Server) -> type[Handler]:
    class Answering(Handler):
        def do_HEAD(self) -> None:
            self._answer(Fault())

        def do_GET(self) -> None:
            with server.lock:
                waiting = server.faults.get(self.path)
                fault = waiting.pop(0) if waiting else server.always.get(self.path, Fault())
            with contextlib.suppress(ConnectionError):
                self._answer(fault)
            if fault.then is not None:
                server.files[self.path] = fault.then

        def _answer(self, fault: Fault) -> None:
            wanted = re.fullmatch(r"bytes=(\d+)-", self.headers.get("Range", ""))
            start = int(wanted[1]) if wanted else 0
            asked = Asked(self.command, self.path, start, self.headers.get("User-Agent", ""))
            asked.authorization = self.headers.get("Authorization", "")
            server.asked.append(asked)
            if self.path in server.moved:
                self.head(302, {"Location": server.moved[self.path]})
                return
            body = server.files.get(self.path)
            if body is None or fault.status != 200:
                self._plain(404 if body is None else fault.status, fault.headers)
                return
            tag = f'{"W/" if server.weak else ""}"{len(body)}-{zlib.crc32(body)}{server.salt}"'
            unchanged = not server.heeds_if_range or self.headers.get("If-Range", tag) == tag
            resumed = bool(wanted) and server.ranges and unchanged
            if resumed and start >= len(body):
                self._plain(416, {"Content-Range": f"bytes */{len(body)}"})
                return
            headers: dict[str, object] = {}
            if resumed:
                headers["Content-Range"] = f"bytes {start}-{len(body) - 1}/{len(body)}"
            rest = body[start:] if resumed else body
            if server.lengths:
                headers["Content-Length"] = len(rest)
            if server.validators:
                headers["ETag"] = tag
            self.head(206 if resumed else 200, headers | server.headers)
            if self.command == "GET":
                rest = rest if fault.cut is None else rest[: fault.cut]
                if fault.hold is not None:
                    self._send(rest[: fault.hold], fault.drip, asked)
                    server.released.wait()
                self._send(rest[fault.hold or 0 :], fault.drip, asked)

        def _send(self, data: bytes, drip: tuple[int, float] | None, asked: Asked) -> None:
            step, pause = drip or (16384, 0.0)
            for begin in range(0, len(data), step):
                time.sleep(pause if begin else 0)
                asked.ended = time.monotonic()
                piece = data[begin : begin + step]
                self.wfile.write(piece)
                asked.sent += len(piece)

        def _plain(self, status: int, headers: dict[str, str]) -> None:
            text = b"a word about the reason"
            self.head(status, {"Content-Length": len(text), **headers})
            self.wfile.write(text)

    return Answering
