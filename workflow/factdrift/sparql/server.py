"""The local SPARQL 1.1 server: Oxigraph behind Python's HTTP server, in a thread of the process that asks.

There is no other process that could be left behind when a job ends. The database is on disk and is opened
read-only, so that several jobs can serve it at the same time.
"""

import contextlib
import gzip
import os
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, TypeVar, cast
from urllib.parse import parse_qs, urlsplit

import pyoxigraph

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path

_Format = TypeVar("_Format")
_HOST = "127.0.0.1"
_ROWS = {
    "application/sparql-results+json": pyoxigraph.QueryResultsFormat.JSON,
    "application/sparql-results+xml": pyoxigraph.QueryResultsFormat.XML,
    "text/csv": pyoxigraph.QueryResultsFormat.CSV,
    "text/tab-separated-values": pyoxigraph.QueryResultsFormat.TSV,
}
_TRIPLES = {
    "application/n-triples": pyoxigraph.RdfFormat.N_TRIPLES,
    "text/turtle": pyoxigraph.RdfFormat.TURTLE,
}


def load(rdf: Sequence[Path], database: Path) -> int:
    """Loads N-Triples files, gzipped or not, into a new database; returns the number of triples.

    The folder `database` appears only when it is complete. Raises InputError if a file is not N-Triples.
    """
    if database.exists():
        raise InputError(f"{database} exists already; remove it to load it again")
    with atomic_path(database) as temporary:
        store = pyoxigraph.Store(str(temporary))
        for path in rdf:
            # Lenient, because Wikibase has language codes that the standard does not allow (zh-classical).
            with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
                try:
                    store.bulk_load(
                        cast(IO[bytes], file), format=pyoxigraph.RdfFormat.N_TRIPLES, lenient=True
                    )
                except (SyntaxError, EOFError, gzip.BadGzipFile) as error:
                    raise InputError(f"{path}: not valid N-Triples ({error}); make the file again") from error
        store.flush()
        triples = len(store)
        del store
    return triples


@contextlib.contextmanager
def serving(database: Path) -> Iterator[str]:
    """Serves the database as long as the block runs; yields the server's address.

    Raises InputError if the folder is not a database.
    """
    if not database.is_dir():
        raise InputError(f"{database}: no such folder; make the database with `factdrift tempripple load`")
    try:
        store = pyoxigraph.Store.read_only(str(database))
    except OSError as error:
        raise InputError(f"{database}: cannot be read as a database ({error}); make it again") from error
    server = _Server((_HOST, 0), _Handler)
    server.store = store
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        with _without_proxy():
            url = f"http://{_HOST}:{server.server_address[1]}/sparql"
            _check(url)
            yield url
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _check(url: str) -> None:
    """Raises InputError if the server does not answer a trivial query correctly."""
    try:
        with urllib.request.urlopen(url, data=b"query=ASK%20%7B%7D", timeout=30) as answer:
            healthy = b"true" in answer.read()
    except OSError as error:
        raise InputError(f"{url}: the local SPARQL server does not answer ({error})") from error
    if not healthy:
        raise InputError(f"{url}: the local SPARQL server gives wrong answers")


@contextlib.contextmanager
def _without_proxy() -> Iterator[None]:
    """Sends requests to this machine directly, not by a proxy that the environment names."""
    before = os.environ.get("no_proxy")
    os.environ["no_proxy"] = f"{before},{_HOST}" if before else _HOST
    try:
        yield
    finally:
        if before is None:
            del os.environ["no_proxy"]
        else:
            os.environ["no_proxy"] = before


class _Server(ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    store: pyoxigraph.Store


class _Handler(BaseHTTPRequestHandler):
    server: _Server

    def do_GET(self) -> None:
        self._answer(parse_qs(urlsplit(self.path).query))

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers.get("Content-Length", 0))).decode("utf-8", "replace")
        match self.headers.get_content_type():
            case "application/x-www-form-urlencoded":
                self._answer(parse_qs(body))
            case "application/sparql-query":
                self._answer({"query": [body]})
            case kind:
                self._send(415, "text/plain", f"a query cannot be sent as {kind}\n".encode())

    def _answer(self, parameters: dict[str, list[str]]) -> None:
        if "query" not in parameters:
            # An update has the parameter `update`.
            self._send(400, "text/plain", b"no query; this server is read-only\n")
            return
        try:
            result = self.server.store.query(parameters["query"][0])
            if isinstance(result, pyoxigraph.QueryTriples):
                kind, triples = self._choice(_TRIPLES)
                body = result.serialize(format=triples)
            else:
                kind, rows = self._choice(_ROWS)
                body = result.serialize(format=rows)
        except SyntaxError as error:
            self._send(400, "text/plain", f"{error}\n".encode())
        except (OSError, RuntimeError, ValueError) as error:
            self._send(500, "text/plain", f"{error}\n".encode())
        else:
            self._send(200, kind, body or b"")

    def _choice(self, formats: dict[str, _Format]) -> tuple[str, _Format]:
        """The first format of the client's Accept header that is known, else the first of `formats`."""
        wanted = [part.partition(";")[0].strip() for part in self.headers.get("Accept", "").split(",")]
        kind = next((kind for kind in wanted if kind in formats), next(iter(formats)))
        return kind, formats[kind]

    def _send(self, status: int, kind: str, body: bytes) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # the client may be gone
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Prints nothing, because the client reports failures."""
