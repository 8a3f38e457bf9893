"""What a search for facts uses: the source that a job names, the method's tables, types and names."""

import contextlib
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Literal, NamedTuple

from factdrift.core.addresses import QUERY_SERVICE, check_address
from factdrift.core.errors import InputError
from factdrift.core.settings import contact_of
from factdrift.tempripple.method import Method
from factdrift.tempripple.names import Names
from factdrift.tempripple.relations import Relations
from factdrift.tempripple.schemas import Row
from factdrift.tempripple.sources import Source
from factdrift.tempripple.types import Types
from factdrift.wikidata.ids import entity_id, property_id
from factdrift.wikidata.tables import supplied_labels
from factdrift.words.names import read_names

if TYPE_CHECKING:
    from factdrift.tempripple.jobs import OfSource


class Search(NamedTuple):
    """A source, and what decides about its rows; `types` and `names` fetch each item once."""

    source: Source
    relations: Relations
    method: Method
    types: Types
    names: Names


@dataclass
class Found:
    """Rows of TR_FACTS or TR_RELATED, rows of TR_DROPPED, and counts for the statistics."""

    stage: Literal["mutable", "related"]
    rows: list[Row] = field(default_factory=list)
    dropped: list[Row] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def drop(
        self, subject: int, relation: int, reason: str, statements: Iterable[str], detail: str = ""
    ) -> None:
        """Adds a row of TR_DROPPED."""
        row = {"s": entity_id(subject), "p": property_id(relation), "reason": reason}
        self.dropped.append(row | {"stmt_ids": list(statements), "detail": detail, "stage": self.stage})


def search_of(source: Source, method: Method, relations: Relations, labels: Sequence[Path] = ()) -> Search:
    """The search of a source; `labels`: tables `id label` of items that it does not know."""
    table = supplied_labels(labels)
    supplied = dict(zip(table["id"].to_pylist(), table["label"].to_pylist(), strict=True))
    names = Names(source, supplied, None if method.grammar == "plain" else read_names())
    return Search(source, relations, method, Types(source, relations.types, method.type_depth), names)


@contextlib.contextmanager
def opened(job: "OfSource") -> Iterator[Search]:
    """Opens the source of a job for the block. Raises InputError that names the flags it lacks."""
    with _sparql(job) if job.source == "sparql" else _tables(job) as source:
        yield search_of(source, job.settings, job.relations(job.settings.immutable_set), job.labels)


@contextlib.contextmanager
def _tables(job: "OfSource") -> Iterator[Source]:
    from factdrift.core.tables import database
    from factdrift.tempripple.table_source import TableSource

    tables = ("rows", "classes", "entities", "properties")
    missing = [f"--{name}" for name in tables if not getattr(job, name)]
    if missing or job.properties is None:
        raise InputError(f"--source tables needs {', '.join(missing)}")
    with database(job.memory_mb, job.threads) as db:
        yield TableSource(db, job.rows, job.classes, job.entities, job.properties)


@contextlib.contextmanager
def _sparql(job: "OfSource") -> Iterator[Source]:
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
