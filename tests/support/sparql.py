"""A snapshot as RDF behind a SPARQL server, with or without faults."""

from __future__ import annotations

import contextlib
import gzip
import json
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from http.server import ThreadingHTTPServer
from pathlib import Path
from types import MappingProxyType
from urllib.parse import parse_qs

import pyoxigraph

from factdrift.core import tables
from factdrift.sparql.client import Client
from factdrift.sparql.server import load, serving
from factdrift.tempripple.rdf import write_rdf
from factdrift.tempripple.sparql_source import SparqlSource
from support.listening import Handler, in_thread
from support.ripples import RELATIONS


def rdf_of(snapshot: Path, output: Path) -> Path:
    """The RDF of a snapshot, whose folder has all buckets of its tables."""
    buckets = (sorted(snapshot.glob(f"{name}*.parquet")) for name in ("statements", "entities"))
    classes = [entry.number for entry in RELATIONS.types]
    with tables.database() as db:
        write_rdf(db, *buckets, snapshot / "properties.parquet", RELATIONS.properties(), classes, output)
    return output


def database_of(snapshot: Path) -> Path:
    """The database of a snapshot's RDF, beside its tables."""
    load([rdf_of(snapshot, snapshot / "rdf.nt.gz")], snapshot / "database")
    return snapshot / "database"


@contextlib.contextmanager
def sparql_source(database: Path, batch: int = 3) -> Iterator[SparqlSource]:
    """The source over a database, by small batches."""
    with serving(database) as url:
        yield SparqlSource(Client(url), batch, True)


@dataclass
class Clock:
    """Time that passes only where somebody waits."""

    now: float = 0.0

    def time(self) -> float:
        return self.now

    def sleep(self, seconds: float) -> None:
        self.now += seconds


@dataclass
class QueryService:
    """Acts as the Wikidata Query Service: answers queries, or has the next of its `faults`.

    A fault is `429`, `429 bare`, `500`, `500 timeout`, `503`, `403`, `400`, `html`, `truncated`, `drip`,
    `reset`, `odd` (the body `raw`), or `` for none. `offences` lists what a client does against the rules.
    """

    store: pyoxigraph.Store
    clock: Clock
    faults: list[str] = field(default_factory=list)
    always: str = ""
    retry_after: int = 30
    raw: bytes = b""
    asked: list[tuple[float, str]] = field(default_factory=list)
    """(time, query) of each request."""
    failed: list[float] = field(default_factory=list)
    offences: list[str] = field(default_factory=list)
    not_before: float = 0.0
    busy: int = 0
    url: str = ""
    hold_at: int | None = None
    """Number of the request from which on none is answered while this is set."""
    authorizations: list[str] = field(default_factory=list)
    """The headers with which clients logged in."""


JSON = "application/sparql-results+json"
REFUSALS = {
    "500": (500, b"java.lang.NullPointerException", 0),
    "500 timeout": (500, b"java.util.concurrent.TimeoutException at com.bigdata", 60),
    "403": (403, b"You have been banned until tomorrow, please respect throttling", 0),
    "400": (400, b"MalformedQueryException", 0),
    "html": (200, b"<html><body>Query timeout limit reached</body></html>", 60),
}
"""Fault -> status, body, and seconds until it comes."""


class _Handler(Handler):
    server: _Server

    def do_GET(self) -> None:
        self.server.service.offences.append("a query in an address")

    def do_POST(self) -> None:
        service = self.server.service
        body = self.rfile.read(int(self.headers["Content-Length"])).decode()
        query = parse_qs(body)["query"][0]
        service.busy += 1
        service.authorizations += self.headers.get_all("Authorization", [])
        self._judge(service, query)
        while service.hold_at is not None and len(service.asked) >= service.hold_at:
            time.sleep(0.005)
        self._answer(service, query)

    def _judge(self, service: QueryService, query: str) -> None:
        now = service.clock.now
        service.asked.append((now, query))
        if service.busy > 1:
            service.offences.append("two requests at once")
        if now < service.not_before:
            service.offences.append(f"at {now:.1f}, not to come before {service.not_before:.1f}")
        if "@" not in self.headers["User-Agent"]:
            service.offences.append("no contact")
        if self.headers["Accept"].split(",")[0] != JSON:
            service.offences.append("asks for another format")
        service.failed = [at for at in service.failed if at > now - 60]
        if len(service.failed) > 20:
            service.offences.append("more than 20 failures a minute")

    def _answer(self, service: QueryService, query: str) -> None:
        fault = service.faults.pop(0) if service.faults else service.always
        found = service.store.query(query).serialize(format=pyoxigraph.QueryResultsFormat.JSON)
        assert found is not None
        service.clock.now += 1
        if fault:
            service.failed.append(service.clock.now)
        if fault in REFUSALS:
            status, text, seconds = REFUSALS[fault]
            service.clock.now += seconds
            self._send(status, text, kind="text/html" if fault == "html" else JSON)
            return
        match fault:
            case "":
                self._send(200, found)
            case "429" | "429 bare":
                wait = service.retry_after if fault == "429" else 60
                service.not_before = service.clock.now + wait
                self._send(429, b"slow down", {"Retry-After": str(wait)} if fault == "429" else {})
            case "503":
                service.not_before = service.clock.now + service.retry_after
                self._send(503, b"<html>overloaded</html>", {"Retry-After": str(service.retry_after)})
            case "truncated":
                service.clock.now += 60
                self._send(200, found[: len(found) // 2] + b"java.util.concurrent.TimeoutException")
            case "odd":
                self._send(200, service.raw)
            case "drip":
                self.head(200, {"Content-Length": len(found)})
                service.clock.now += 60
                self.wfile.write(found[:1])
                service.busy -= 1
                service.clock.now += 60
                self.wfile.write(found[1:2])
            case "reset":
                service.busy -= 1
                self.connection.close()
            case _:
                raise AssertionError(fault)

    def _send(
        self, status: int, body: bytes, headers: Mapping[str, str] = MappingProxyType({}), kind: str = JSON
    ) -> None:
        self.server.service.busy -= 1  # before the last byte that the client looks at
        with contextlib.suppress(ConnectionError):  # the client may have been killed
            self.head(status, {"Content-Type": kind, "Content-Length": len(body), **headers})
            self.wfile.write(body)


class _Server(ThreadingHTTPServer):
    service: QueryService

    def handle_error(self, *arguments: object) -> None:
        """Prints nothing about connections that were cut on purpose."""


@contextlib.contextmanager
def query_service(database: Path) -> Iterator[QueryService]:
    """The service over a database."""
    server = _Server(("127.0.0.1", 0), _Handler)
    server.service = QueryService(pyoxigraph.Store.read_only(str(database)), Clock())
    with in_thread(server, "/sparql") as server.service.url:
        yield server.service


def stored_queries(folder: Path) -> list[str]:
    """The queries whose answers lie in a folder."""
    return [json.loads(gzip.decompress(path.read_bytes()))["query"] for path in folder.rglob("*.json.gz")]
