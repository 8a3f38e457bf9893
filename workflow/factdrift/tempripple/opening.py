"""The source that the options of the command line name."""

from __future__ import annotations

import argparse
import contextlib
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

from factdrift.core.addresses import QUERY_SERVICE, check_address
from factdrift.core.errors import InputError
from factdrift.core.settings import contact_of

if TYPE_CHECKING:
    from factdrift.tempripple.sources import Source

TABLES = ("rows", "classes", "entities", "properties")


def add_source(verb: argparse.ArgumentParser) -> None:
    """Adds the options that name a source."""
    verb.add_argument("--source", choices=["tables", "sparql"], default="tables", help="where rows come from")
    verb.add_argument("--rows", type=Path, nargs="*", default=[], help="what `rows` wrote, all buckets")
    verb.add_argument("--classes", type=Path, nargs="*", default=[], help="what `rows` wrote, all buckets")
    verb.add_argument(
        "--entities", type=Path, nargs="*", default=[], help="the snapshot's items, all buckets"
    )
    verb.add_argument("--properties", type=Path, help="the snapshot's properties")
    verb.add_argument(
        "--endpoint", default="local", metavar="local|wikidata|URL", help="the server of --source sparql"
    )
    verb.add_argument("--database", type=Path, help="what `load` made, for --endpoint local")
    verb.add_argument("--answers", type=Path, help="folder that keeps the answers of any other endpoint")
    verb.add_argument("--memory-mb", type=int, default=2000, help="for the tables (default %(default)s)")
    verb.add_argument("--threads", type=int, default=1)


@contextlib.contextmanager
def open_source(options: argparse.Namespace) -> Iterator[Source]:
    """Opens the source for the block. Raises InputError that names the options it lacks."""
    if options.source == "sparql":
        with _sparql(options) as source:
            yield source
        return
    from factdrift.core.tables import database
    from factdrift.tempripple.table_source import TableSource

    missing = [f"--{name}" for name in TABLES if not getattr(options, name)]
    if missing:
        raise InputError(f"--source tables needs {', '.join(missing)}")
    with database(options.memory_mb, options.threads) as db:
        yield TableSource(db, options.rows, options.classes, options.entities, options.properties)


@contextlib.contextmanager
def _sparql(options: argparse.Namespace) -> Iterator[Source]:
    """The local server, which runs for the block, or another server, whose answers are kept."""
    from factdrift.sparql.answers import Answers
    from factdrift.sparql.client import OWN_LIMIT, Client
    from factdrift.sparql.server import serving
    from factdrift.tempripple.sparql_source import OWN_BATCH, SparqlSource

    if options.endpoint == "local":
        if options.database is None:
            raise InputError("--endpoint local needs --database")
        with serving(options.database) as url:
            yield SparqlSource(Client(url, limit=OWN_LIMIT), OWN_BATCH, monthly=False)
        return
    if options.answers is None:
        raise InputError("--endpoint wikidata or an address needs --answers")
    if options.endpoint == "wikidata":
        url, contact = QUERY_SERVICE, contact_of("")
    else:
        check_address("--endpoint", options.endpoint)
        url, contact = options.endpoint, os.environ.get("FACTDRIFT_CONTACT", "")
    client = Client(url, contact, Answers(options.answers, url))
    yield SparqlSource(client)
    print(f"{url}: {client.requests:,} requests; the other answers had been kept")
