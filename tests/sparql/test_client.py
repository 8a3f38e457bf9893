"""The client with a server that has all faults of the Query Service."""

import contextlib
import errno
import gzip
import socket
import urllib.error
from collections.abc import Iterator
from itertools import cycle, islice, pairwise
from pathlib import Path
from typing import Any

import pytest
from support.ripples import COUNTRY, HUMAN, Ripple, kinds, ripple_of, source_of
from support.sparql import QueryService, database_of, query_service, stored_queries
from support.worlds import Fact, World

from factdrift.core.errors import InputError
from factdrift.sparql.client import POLICY, Client, TooMuch
from factdrift.tempripple.sparql_source import SparqlSource

CONTACT = "me@example.org"
ATTEMPTS = POLICY.tries
FAULTS = ("429", "500", "html", "truncated", "reset", "drip", "503", "429 bare", "500 timeout")
WORST = [each for fault in FAULTS for each in (fault, "", "")]
QUERY = "PREFIX wd: <http://www.wikidata.org/entity/> SELECT ?p ?o WHERE { wd:Q1 ?p ?o }"

WORLD = World(
    new=[
        *kinds(Q1=(COUNTRY,), Q2=(COUNTRY,), Q3=(HUMAN,), Q4=(HUMAN,), Q5=(HUMAN,)),
        *(Fact(1, 6, 3, "2010", "2025-03-14"), Fact(1, 6, 4, "2025-03-14"), Fact(2, 6, 5, "2010", "2025-05")),
        *(Fact(3, 25, 9), Fact(3, 22, 10), Fact(4, 25, 11), Fact(9, 19, 8)),
    ]
)


@pytest.fixture(scope="module")
def made(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, Ripple]:
    """The database, and what the stage makes of the tables."""
    folder = tmp_path_factory.mktemp("world")
    with source_of(WORLD, folder) as tables:
        expected = ripple_of(tables)
    return database_of(folder / "new"), expected


@pytest.fixture
def service(made: tuple[Path, Ripple]) -> Iterator[QueryService]:
    with query_service(made[0]) as found:
        yield found
        assert found.offences == []


def client(service: QueryService, answers: Path | None = None) -> Client:
    times = {"sleep": service.clock.sleep, "clock": service.clock.time}
    return Client(service.url, CONTACT, answers, uniform=lambda low, high: high, **times)


def test_faults_do_not_change_the_tables(service: QueryService, made: Any, tmp_path: Path) -> None:
    """Every fault occurs until the end; a second run takes all answers from the store, without a server."""
    service.faults = list(islice(cycle(WORST), 1000))
    asking = client(service, tmp_path)
    assert ripple_of(SparqlSource(asking, batch=4)) == made[1]
    assert len(made[1].related) == 3
    assert 40 < len(service.asked) == asking.requests < 1000

    kept = stored_queries(tmp_path)
    assert len(kept) == len(set(kept))
    again = Client(service.url, CONTACT, tmp_path, sleep=service.clock.sleep)
    assert ripple_of(SparqlSource(again, batch=4)) == made[1]
    assert again.requests == 0


@pytest.mark.parametrize("fault", ["html", "truncated", "drip", "500 timeout"])
def test_a_query_that_takes_too_long_is_divided_or_repeated(fault, service, tmp_path):
    """The store remembers that it is to be divided."""
    service.faults = [fault]
    for _ in range(2):
        with pytest.raises(TooMuch):
            client(service, tmp_path).rows(QUERY, divisible=True)
    assert len(service.asked) == 1
    service.faults = [fault, fault]
    assert client(service, tmp_path).rows(QUERY, divisible=False)
    assert len(service.asked) == 4


DEEP = "[" * 100_000 + "]" * 100_000
NO_TERMS = [b'"Q1"', b'{"type": "uri"}', b'{"type": "uri", "value": 1}', b'{"type": "link", "value": "x"}']
NO_TERMS += [b'{"type": "literal", "value": "x", "xml:lang": null}']
ODD = [
    *(b"[]", b"null", b'{"boolean": true}', b'{"results": {}}', b'{"results": {"bindings": null}}'),
    b'{"x": %s, "results": {"bindings": []}}' % DEEP.encode(),
    *(b'{"results": {"bindings": %s}}' % each for each in (b"{}", b"[[]]", DEEP.encode())),
    *(b'{"results": {"bindings": [{"o": %s}]}}' % each for each in NO_TERMS),
]
"""Answers that are JSON, but not of SPARQL's form."""
BROKEN = [
    b'{"results": {"bindings": [{"o": {"type": "literal", "value": "%s"}}]}}' % text
    for text in (b"\\ud800", b"\xed\xa0\x80", b"\xff")
]
"""Answers with lone surrogates or invalid UTF-8."""


@pytest.mark.parametrize("raw", [*ODD, *BROKEN], ids=range(len(ODD) + len(BROKEN)))
def test_an_answer_of_another_form_is_requested_again_and_never_stored(raw, service, tmp_path):
    service.raw, service.faults = raw, ["odd", "odd"]
    odd = raw in ODD  # what is not even Unicode would be divided
    good = client(service, tmp_path).rows(QUERY, divisible=odd)
    assert len(service.asked) == 3
    assert client(service, tmp_path).rows(QUERY, divisible=True) == good
    service.always = "odd"
    with pytest.raises(InputError, match="the form of SPARQL's results" if odd else "that is not whole"):
        client(service, tmp_path).rows(QUERY + " LIMIT 1", divisible=odd)
    assert len(stored_queries(tmp_path)) == 1


@pytest.mark.parametrize(
    "rows", ['[{"o": "Q1"}]', '[{"o": {"type": "uri", "value": 1}}]', "{}", DEEP, ""], ids=range(5)
)
def test_a_stored_answer_of_another_form_is_named(rows: str, service: QueryService, tmp_path: Path) -> None:
    """Without rows: a file that was cut."""
    client(service, tmp_path).rows(QUERY, divisible=True)
    (kept,) = tmp_path.rglob("*.json.gz")
    odd = gzip.compress(f'{{"url": "", "query": "", "answered": "", "rows": {rows}}}'.encode())
    kept.write_bytes(odd if rows else kept.read_bytes()[:-9])
    with pytest.raises(InputError, match=f"{kept.name}: cannot be read as a stored answer .*remove the file"):
        client(service, tmp_path).rows(QUERY, divisible=True)


@pytest.mark.parametrize("fault", ["429", "429 bare", "html", "reset"])
def test_transient_failures_are_waited_for_and_lasting_ones_end_the_run(fault, service):
    service.faults = [fault] * (ATTEMPTS - 1)
    assert client(service).rows(QUERY, divisible=False)
    assert len(service.asked) == ATTEMPTS
    if fault.startswith("429"):
        wait = 30 if fault == "429" else 60
        times = [at for at, _ in service.asked]
        assert min(after - before for before, after in pairwise(times)) >= wait
    service.always = fault
    with pytest.raises(InputError, match=f"given up after {ATTEMPTS} tries"):
        client(service).rows(QUERY, divisible=False)
    assert len(service.asked) == 2 * ATTEMPTS


@pytest.mark.parametrize(
    ("fault", "said"),
    [("403", "banned until tomorrow"), ("400", "refuses a query"), ("429", "to come back in 7,200 s")],
)
def test_a_refusal_ends_the_run_at_once(fault: str, said: str, service: QueryService, tmp_path: Path) -> None:
    service.always, service.retry_after = fault, 7200
    with pytest.raises(InputError, match=said):
        client(service, tmp_path).rows(QUERY, divisible=True)
    assert len(service.asked) == 1
    assert stored_queries(tmp_path) == []


@pytest.mark.parametrize("url", ["http://127.0.0.1:9/", "http://no.such.host.invalid/"])
def test_a_server_that_was_never_reached_is_not_waited_for(tmp_path: Path, url: str) -> None:
    waited: list[float] = []
    alone = Client(url, CONTACT, tmp_path, sleep=waited.append)
    with pytest.raises(InputError, match=r"cannot be reached, after 3 tries .* whether .* has a network"):
        alone.rows(QUERY, divisible=True)
    assert sum(waited) < 20


@pytest.mark.slow
def test_a_server_that_takes_no_connection_is_not_asked_for_halves(tmp_path: Path) -> None:
    with socket.create_server(("127.0.0.1", 0), backlog=0) as server, contextlib.ExitStack() as waiting:
        address = server.getsockname()
        # What waits to be accepted fills the queue, and what comes then gets no answer at all.
        waiting.enter_context(socket.create_connection(address))
        alone = Client(f"http://127.0.0.1:{address[1]}/", CONTACT, tmp_path, lambda seconds: None, limit=0.5)
        with pytest.raises(InputError, match="cannot be reached, after 3 tries"):
            alone.rows(QUERY, divisible=True)
    assert stored_queries(tmp_path) == []


def test_a_server_that_has_answered_before_is_waited_for(service, tmp_path, monkeypatch):
    waited: list[float] = []
    known = Client(service.url, CONTACT, tmp_path, sleep=waited.append)
    assert known.rows(QUERY, divisible=True)

    def gone() -> bytes:
        raise urllib.error.URLError(OSError(errno.ENETUNREACH, "Network is unreachable"))

    monkeypatch.setattr(known, "_body", gone)
    with pytest.raises(InputError, match=f"given up after {ATTEMPTS} tries"):
        known.rows(f"{QUERY} ", divisible=True)
    assert sum(waited) > 200
