"""The source that a job names."""

from __future__ import annotations

import contextlib
import os
from collections.abc import Iterator
from typing import TYPE_CHECKING

from factdrift.core.addresses import QUERY_SERVICE, check_address
from factdrift.core.errors import InputError
from factdrift.core.settings import contact_of

if TYPE_CHECKING:
    from factdrift.tempripple.jobs import Search
    from factdrift.tempripple.sources import Source

TABLES = ("rows", "classes", "entities", "properties")


@contextlib.contextmanager
def open_source(job: Search) -> Iterator[Source]:
    """Opens the source for the block. Raises InputError that names the flags it lacks."""
    if job.source == "sparql":
        with _sparql(job) as source:
            yield source
        return
    from factdrift.core.tables import database
    from factdrift.tempripple.table_source import TableSource

    missing = [f"--{name}" for name in TABLES if not getattr(job, name)]
    if missing or job.properties is None:
        raise InputError(f"--source tables needs {', '.join(missing)}")
    with database(job.memory_mb, job.threads) as db:
        yield TableSource(db, job.rows, job.classes, job.entities, job.properties)


@contextlib.contextmanager
def _sparql(job: Search) -> Iterator[Source]:
    """The local server, which runs for the block, or another server, whose answers are kept."""
    from factdrift.sparql.answers import Answers
    from factdrift.sparql.client import OWN_LIMIT, Client
    from factdrift.sparql.server import serving
    from factdrift.tempripple.sparql_source import OWN_BATCH, SparqlSource

    if job.endpoint == "local":
        if job.database is None:
            raise InputError("--endpoint local needs --database")
        with serving(job.database) as url:
            yield SparqlSource(Client(url, limit=OWN_LIMIT), OWN_BATCH, monthly=False)
        return
    if job.answers is None:
        raise InputError("--endpoint wikidata or an address needs --answers")
    if job.endpoint == "wikidata":
        url, contact = QUERY_SERVICE, contact_of("")
    else:
        check_address("--endpoint", job.endpoint)
        url, contact = job.endpoint, os.environ.get("FACTDRIFT_CONTACT", "")
    client = Client(url, contact, Answers(job.answers, url))
    yield SparqlSource(client)
    print(f"{url}: {client.requests:,} requests; the other answers had been kept")
