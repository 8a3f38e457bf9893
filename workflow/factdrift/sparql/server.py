"""The local SPARQL 1.1 server: Oxigraph behind Python's HTTP server, in a thread of the process that asks.

There is no other process that could be left behind when a job ends. The database is on disk and is opened
read-only, so that several jobs can serve it at the same time.
"""

import contextlib
import gzip
import os
import threading
import urllib.request
from collections.abc import Iterator, Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import IO, Any, cast
from urllib.parse import parse_qs

import pyoxigraph

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path

_HOST = "127.0.0.1"


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
                lines = cast(IO[bytes], file)
                try:
                    store.bulk_load(lines, format=pyoxigraph.RdfFormat.N_TRIPLES, lenient=True)
                except (SyntaxError, EOFError, gzip.BadGzipFile) as error:
                    raise InputError(f"{path}: not valid N-Triples ({error}); make the file again") from error
        store.flush()
        triples = len(store)
        del store
    return triples


def _opened(database: Path) -> pyoxigraph.Store:
    """The database, to be read. Raises InputError if the folder is none."""
    if not database.is_dir():
        raise InputError(f"{database}: no such folder; make the database with `factdrift tempripple rdf`")
    try:
        return pyoxigraph.Store.read_only(str(database))
    except OSError as error:
        raise InputError(f"{database}: cannot be read as a database ({error}); make it again") from error


@contextlib.contextmanager
def serving(database: Path) -> Iterator[str]:
    """Serves the database as long as the block runs; yields the server's address.

    It takes what `sparql.client` sends, SELECT queries in forms, and answers in JSON. Raises InputError if
    the folder is not a database.
    """
    store = _opened(database)
    server = _Server((_HOST, 0), _Handler)
    server.store = store
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        with _without_proxy():
            url = f"http://{_HOST}:{server.server_address[1]}/sparql"
            try:
                urllib.request.urlopen(url, b"query=ASK+%7B%7D", timeout=30).close()
            except OSError as error:
                raise InputError(f"{url}: the local SPARQL server does not answer ({error})") from error
            yield url
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


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

    def do_POST(self) -> None:
        form = parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode("utf-8"))
        try:
            result: Any = self.server.store.query(form["query"][0])
            status, body = 200, result.serialize(format=pyoxigraph.QueryResultsFormat.JSON)
        except SyntaxError as error:
            status, body = 400, str(error).encode()
        except (OSError, RuntimeError, ValueError) as error:
            status, body = 500, str(error).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/sparql-results+json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        with contextlib.suppress(ConnectionError):  # the client may be gone
            self.wfile.write(body)

    def log_message(self, format: str, *arguments: object) -> None:
        """Prints nothing, because the client reports failures."""
