"""The explorer's server: pages of a build for the browsers of one machine (Starlette)."""

import asyncio
import contextlib
import re
import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

import duckdb
import uvicorn
from starlette.applications import Starlette
from starlette.convertors import IntegerConvertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.middleware.base import BaseHTTPMiddleware, RequestResponseEndpoint
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from factdrift.core.errors import InputError
from factdrift.pages.browse.build import Build, Tables
from factdrift.pages.browse.pages import Links, Pages, script, style, updates_script
from factdrift.pages.browse.search import Chosen, Index

HOST = "127.0.0.1"
"""The loopback interface: no other machine reaches the server."""

HEADERS = {
    "content-security-policy": "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; "
    "img-src data:; form-action 'self'; base-uri 'none'; frame-ancestors 'none'",
    "x-content-type-options": "nosniff",
    "referrer-policy": "no-referrer",
    "cache-control": "no-store",
}
"""What keeps pages from loading or sending anything elsewhere."""

CHANGED = (
    "The tables have been built anew, or are being built, since this server was started, so that a page "
    "could mix old and new ones. Wait until the build is complete, end the server (Ctrl-C), run "
    "`factdrift browse` again and reload this page."
)


class _Digits(IntegerConvertor):
    """The number of an id in a path; Python reads no number of thousands of digits."""

    regex = "[0-9]{1,10}"


register_url_convertor("digits", _Digits())


async def _with_headers(request: Request, answer: RequestResponseEndpoint) -> Response:
    response = await answer(request)
    response.headers.update(HEADERS)
    return response


class _Explorer:
    """The endpoints, which run in threads."""

    def __init__(self, tables: Tables, index: Index):
        self.pages, self.tables, self.index = Pages(tables, index, Links()), tables, index
        self._version = tables.build.version()

    def checked(self, endpoint: Callable[[Request], Response]) -> Callable[[Request], Response]:
        """The endpoint, with a page that says so if the build has changed."""

        def answer(request: Request) -> Response:
            try:
                response = endpoint(request)
            except Exception:
                if self._changed():
                    return self._unavailable(CHANGED)
                raise
            # Afterwards, because the tables may have changed while they were read.
            return self._unavailable(CHANGED) if self._changed() else response

        return answer

    def _changed(self) -> bool:
        try:
            return self.tables.build.version() != self._version
        except InputError:
            return True

    def _unavailable(self, text: str) -> Response:
        return HTMLResponse(self.pages.nothing(text, "Not available"), status_code=503)

    def missing(self, request: Request, error: Exception | None = None) -> Response:
        """A page that says that there is none, or, of an entity, no label."""
        path = request.url.path
        text = f"{path[1:]} has no label in these dumps." if request.path_params else path
        return HTMLResponse(self.pages.nothing(text), status_code=404)

    def failed(self, request: Request, error: Exception) -> Response:
        """The page of an error of the server itself, which prints it."""
        text = "The server has failed to make this page; its terminal has the error."
        return HTMLResponse(self.pages.nothing(text, "Not available"), status_code=500, headers=HEADERS)

    def home(self, request: Request) -> Response:
        return HTMLResponse(self.pages.home(*_asked(request)))

    def search(self, request: Request) -> Response:
        text = request.query_params.get("q", "")[:200]
        return HTMLResponse(self.pages.results(text, "part" in request.query_params))

    def table(self, request: Request) -> Response:
        return HTMLResponse(self.pages.table())

    def updates(self, request: Request) -> Response:
        """The rows of the table, as a script."""
        return Response(updates_script(self.tables), media_type="text/javascript")

    def entity(self, request: Request) -> Response:
        """The page of an item, or of a property."""
        number = _number(request, "number")
        id = number if request.url.path.startswith("/Q") else -number
        if (row := self.index.names([id]).get(id)) is None:
            return self.missing(request)
        subject = self.tables.read([id])[id] if id > 0 else None
        return HTMLResponse(self.pages.entity(row, subject, *_asked(request)))

    def statements(self, request: Request) -> Response:
        number, relation = (_number(request, name) for name in ("number", "relation"))
        subject, part = self.tables.read([number])[number], "part" in request.query_params
        text = self.pages.statements(subject, relation, part)
        return HTMLResponse(text) if text else self.missing(request)


def _number(request: Request, name: str) -> int:
    """The number of an id in a path, which the tables hold in 32 bits; they have none for a longer one."""
    return min(int(request.path_params[name]), 2**31 - 1)


def _asked(request: Request) -> tuple[Chosen, int]:
    """Which updates a list is asked for, and the number of its page; of a number or day that is none: all."""
    number = request.query_params.get("page", "1")
    whole = int(number) if number.isascii() and number.isdigit() and len(number) < 8 else 1
    days = {
        name: day
        for name in ("since", "until")
        if re.fullmatch("[0-9]{4}-[0-9]{2}-[0-9]{2}", day := request.query_params.get(name, ""))
    }
    period = request.query_params.get("period", "")
    if re.fullmatch("[0-9]{4}(-[0-9]{2})?", period):
        days["period"] = period
    return Chosen(request.query_params.get("scenario", ""), **days), max(whole, 1)


def application(build: Build, index: Path, db: duckdb.DuckDBPyConnection) -> Starlette:
    """The server's application."""
    explorer = _Explorer(Tables(build, db), Index(index))
    routes = [
        Route("/", explorer.checked(explorer.home)),
        Route("/search", explorer.checked(explorer.search)),
        Route("/table", explorer.checked(explorer.table)),
        Route("/updates.js", explorer.checked(explorer.updates)),
        Route("/explorer.css", lambda request: Response(style(), media_type="text/css")),
        Route("/explorer.js", lambda request: Response(script(), media_type="text/javascript")),
        Route("/Q{number:digits}", explorer.checked(explorer.entity)),
        Route("/P{number:digits}", explorer.checked(explorer.entity)),
        Route("/Q{number:digits}-P{relation:digits}", explorer.checked(explorer.statements)),
    ]
    return Starlette(
        routes=routes,
        exception_handlers={404: explorer.missing, Exception: explorer.failed},
        # Pages elsewhere whose name leads to this machine must not read a build (DNS rebinding).
        middleware=[
            Middleware(BaseHTTPMiddleware, dispatch=_with_headers),
            Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"]),
        ],
    )


def serve(build: Build, index: Path, db: duckdb.DuckDBPyConnection, port: int, open_browser: bool) -> None:
    """Answers until it is interrupted. Raises InputError if the port is none, or is taken."""
    if not 0 <= port <= 65535:
        raise InputError(f"--port {port}: a port is a number from 1 to 65535, or 0 for a free one")
    app = application(build, index, db)
    # asyncio sends what it is given at once only on sockets that name their protocol.
    with socket.socket(socket.AF_INET, socket.SOCK_STREAM, socket.IPPROTO_TCP) as listening:
        listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            listening.bind((HOST, port))
            listening.listen()  # whoever reads the address below may ask at once
        except OSError as error:
            raise InputError(
                f"port {port} of {HOST}: {error.strerror}; name another with --port, or 0 for a free one"
            ) from error
        address = f"http://{HOST}:{listening.getsockname()[1]}/"
        print(f"{address}  (Ctrl-C ends it)", flush=True)
        if open_browser:
            threading.Timer(0.5, webbrowser.open, [address]).start()
        config = uvicorn.Config(app, log_level="warning", access_log=False, lifespan="off")
        with contextlib.suppress(KeyboardInterrupt):
            asyncio.run(uvicorn.Server(config).serve(sockets=[listening]))
    print("ended", file=sys.stderr)
