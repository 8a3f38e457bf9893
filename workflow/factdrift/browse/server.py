"""The explorer's server: pages of a build for the browsers of one machine (Starlette)."""

from __future__ import annotations

import socket
import sys
import threading
import webbrowser
from collections.abc import Callable
from pathlib import Path

import duckdb
import uvicorn
from starlette.applications import Starlette
from starlette.convertors import Convertor, register_url_convertor
from starlette.middleware import Middleware
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from factdrift.browse.build import Build
from factdrift.browse.pages import Pages, packaged, style
from factdrift.browse.search import Index, open_index
from factdrift.browse.subjects import Subject, Tables
from factdrift.errors import InputError

HOST = "127.0.0.1"
"""The loopback interface: no other machine reaches the server."""

POLICY = (
    "default-src 'none'; style-src 'self'; script-src 'self'; connect-src 'self'; img-src data:; "
    "form-action 'self'; base-uri 'none'; frame-ancestors 'none'"
)


class _Number(Convertor[str]):
    """The number of an id, which the tables hold in 32 bits."""

    regex = "[1-9][0-9]{0,8}"

    def convert(self, value: str) -> str:
        return value

    def to_string(self, value: str) -> str:
        return value


register_url_convertor("number", _Number())


class ServerLinks:
    """Addresses of the server's pages."""

    static = False

    def home(self, number: int = 1, scenario: str = "") -> str:
        return f"./{_query(number, scenario)}"

    def entity(self, id: str, number: int = 1, scenario: str = "") -> str | None:
        return f"{id}{_query(number, scenario)}"

    def relation(self, subject: str, relation: str) -> str | None:
        return f"{subject}-{relation}"


def _query(number: int, scenario: str) -> str:
    given = [f"scenario={scenario}"] * bool(scenario) + [f"page={number}"] * (number > 1)
    return f"?{'&'.join(given)}" if given else ""


class _Headers:
    """Adds the headers that keep pages from loading or sending anything elsewhere."""

    def __init__(self, app: ASGIApp):
        self._app = app

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        async def with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                message["headers"] += [
                    (b"content-security-policy", POLICY.encode()),
                    (b"x-content-type-options", b"nosniff"),
                    (b"referrer-policy", b"no-referrer"),
                    (b"cache-control", b"no-store"),
                ]
            await send(message)

        await self._app(scope, receive, with_headers)


class _Explorer:
    """The endpoints. They run in threads, each with an index of its own."""

    def __init__(self, tables: Tables, index: Path):
        self.pages = Pages(tables, ServerLinks())
        self.tables, self._path, self._local = tables, index, threading.local()

    def _index(self) -> Index:
        if not hasattr(self._local, "index"):
            self._local.index = open_index(self._path)
        index: Index = self._local.index
        return index

    def home(self, request: Request) -> Response:
        return HTMLResponse(self.pages.home(self._index(), *_asked(request)))

    def search(self, request: Request) -> Response:
        text = request.query_params.get("q", "")[:200]
        return HTMLResponse(self.pages.results(self._index(), text, "part" in request.query_params))

    def entity(self, request: Request) -> Response:
        number = int(request.path_params["number"])
        return self._entity(number, request)

    def property(self, request: Request) -> Response:
        return self._entity(-int(request.path_params["number"]), request)

    def _entity(self, id: int, request: Request) -> Response:
        row = self._index().names([id]).get(id)
        if row is None:
            return self._nothing(request.url.path)
        subject = self._subject(id) if id > 0 else None
        return HTMLResponse(self.pages.entity(self._index(), row, subject, *_asked(request)))

    def _subject(self, id: int) -> Subject:
        return self.tables.read([id])[id]

    def statements(self, request: Request) -> Response:
        subject, relation = (int(request.path_params[name]) for name in ("number", "relation"))
        part = "part" in request.query_params
        text = self.pages.statements(self._index(), self._subject(subject), relation, part)
        return HTMLResponse(text) if text else self._nothing(request.url.path)

    def _nothing(self, path: str) -> Response:
        return HTMLResponse(self.pages.nothing(f"{path[1:]} has no label in these dumps."), status_code=404)

    def missing(self, request: Request, error: Exception) -> Response:
        return HTMLResponse(self.pages.nothing(request.url.path), status_code=404)


def _asked(request: Request) -> tuple[str, int]:
    """The scenario and the number of the page that a list is asked for; of a number that is none, 1."""
    number = request.query_params.get("page", "1")
    whole = int(number) if number.isascii() and number.isdigit() and len(number) < 8 else 1
    return request.query_params.get("scenario", ""), max(whole, 1)


def application(build: Build, index: Path, db: duckdb.DuckDBPyConnection) -> Starlette:
    """The server's application."""
    explorer = _Explorer(Tables(build, db), index)

    def fixed(text: str, kind: str) -> Callable[[Request], Response]:
        return lambda request: Response(text, media_type=kind)

    routes = [
        Route("/", explorer.home),
        Route("/search", explorer.search),
        Route("/explorer.css", fixed(style(), "text/css")),
        Route("/explorer.js", fixed(packaged("explorer.js"), "text/javascript")),
        Route("/Q{number:number}", explorer.entity),
        Route("/P{number:number}", explorer.property),
        Route("/Q{number:number}-P{relation:number}", explorer.statements),
    ]
    return Starlette(
        routes=routes,
        exception_handlers={404: explorer.missing},
        # Pages elsewhere whose name leads to this machine must not read a build (DNS rebinding).
        middleware=[
            Middleware(TrustedHostMiddleware, allowed_hosts=[HOST, "localhost"]),
            Middleware(_Headers),
        ],
    )


def serve(build: Build, index: Path, db: duckdb.DuckDBPyConnection, port: int, open_browser: bool) -> None:
    """Answers until it is interrupted. Raises InputError if the port is taken."""
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
        uvicorn.Server(config).run(sockets=[listening])
    print("ended", file=sys.stderr)
