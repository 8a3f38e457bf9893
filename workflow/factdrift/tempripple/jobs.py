"""Jobs that make TempRIPPLE's questions from a snapshot or a SPARQL server, and tools for what they wrote."""

import contextlib
import json
import os
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from factdrift.core.addresses import QUERY_SERVICE, check_address
from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place
from factdrift.core.paths import TEMPRIPPLE
from factdrift.core.settings import contact_of
from factdrift.tempripple.settings import PART, ItemSettings, TempRippleSettings

if TYPE_CHECKING:
    import pyarrow as pa

    from factdrift.tempripple.relations import Relations
    from factdrift.tempripple.search import Search, StageTables


class WithTables(Job, implied_inputs="resources"):
    """A job that reads the method's tables."""

    resources: Annotated[Place, "folder of mutable.tsv, immutable.tsv, types.tsv"] = TEMPRIPPLE

    def relations(self, immutable_set: str = "full53") -> "Relations":
        """The method's properties and types."""
        from factdrift.tempripple.relations import read_relations

        return read_relations(self.resources, immutable_set)


class Rows(WithTables, command="tempripple rows"):
    """Select the statements and classes of one bucket that TempRIPPLE needs."""

    statements: Path
    entities: Path
    rows: Annotated[Output, "statements of the needed properties"]
    classes: Annotated[Output, "classes of items and of classes"]

    def run(self) -> str:
        from factdrift.tempripple.table_source import make_rows

        properties = self.relations().properties()
        rows = make_rows(self.statements, self.entities, properties, self.rows, self.classes)
        return f"{rows:,} statements of {len(properties)} properties"


class Rdf(WithTables, command="tempripple rdf"):
    """Write the part of a snapshot that TempRIPPLE queries, as RDF in Wikidata's vocabulary, and load it.

    All names are written as English, and the values of qualifiers other than P580, P582 and P585 as unknown.
    """

    statements: Annotated[Paths, "all buckets"]
    entities: Annotated[Paths, "all buckets"]
    properties: Path
    output: Annotated[Output, "N-Triples, .nt or .nt.gz"]
    database: Annotated[Output, "of the local SPARQL server", Flag("FOLDER")]
    threads: int = 1

    def run(self) -> str:
        from factdrift.core.tables import database
        from factdrift.sparql.server import load
        from factdrift.tempripple.rdf import write_rdf

        relations = self.relations()
        shown = relations.properties(), [entry.number for entry in relations.types]
        with database(2000, self.threads) as db:
            lines = write_rdf(db, self.statements, self.entities, self.properties, *shown, self.output)
        return f"{lines:,} lines of N-Triples; {load([self.output], self.database):,} triples"


class OfSource(WithTables):
    """Fields of all jobs that query TempRIPPLE's source."""

    source: Annotated[Literal["tables", "sparql"], Key(f"{PART}.source")]
    rows: Annotated[Paths, "what `rows` wrote, all buckets"] = ()
    classes: Annotated[Paths, "what `rows` wrote, all buckets"] = ()
    entities: Annotated[Paths, "the snapshot's items, all buckets"] = ()
    properties: Annotated[Path | None, "the snapshot's properties"] = None
    endpoint: Annotated[str, Key(f"{PART}.endpoint"), Flag("local|wikidata|URL")]
    database: Annotated[Path | None, "what `rdf` loaded, for --endpoint local"] = None
    answers: Annotated[Place | None, "folder that keeps the answers of any other endpoint"] = None
    threads: int = 1
    settings: Annotated[TempRippleSettings, Key(PART)]
    labels: Annotated[Paths, "id, label of what the dump lacks"] = ()
    dropped: Annotated[Output, "tr_dropped of this job"]
    account: Annotated[Output, "counts for the statistics"]

    @contextlib.contextmanager
    def opened(self) -> Iterator["Search"]:
        """Opens the source for the block: tables, the local server, or another one, whose answers are kept.

        Raises InputError that names the flags that are missing.
        """
        from factdrift.core.tables import database
        from factdrift.sparql.client import OWN_LIMIT, Client
        from factdrift.sparql.server import serving
        from factdrift.tempripple.search import search_of
        from factdrift.tempripple.sparql_source import OWN_BATCH, SparqlSource
        from factdrift.tempripple.table_source import TableSource

        source: TableSource | SparqlSource
        client = None
        with contextlib.ExitStack() as stack:
            if self.source == "tables":
                tables = ("rows", "classes", "entities", "properties")
                missing = [f"--{name}" for name in tables if not getattr(self, name)]
                if missing or self.properties is None:
                    raise InputError(f"--source tables needs {', '.join(missing)}")
                db = stack.enter_context(database(2000, self.threads))
                source = TableSource(db, self.rows, self.classes, self.entities, self.properties)
            elif self.endpoint == "local":
                if self.database is None:
                    raise InputError("--endpoint local needs --database")
                url = stack.enter_context(serving(self.database))
                source = SparqlSource(Client(url, limit=OWN_LIMIT), OWN_BATCH, monthly=False)
            else:
                if self.answers is None:
                    raise InputError("--endpoint wikidata or an address needs --answers")
                if self.endpoint == "wikidata":
                    url, contact = QUERY_SERVICE, contact_of("")
                else:
                    check_address("--endpoint", self.endpoint)
                    url, contact = self.endpoint, os.environ.get("FACTDRIFT_CONTACT", "")
                client = Client(url, contact, self.answers)
                source = SparqlSource(client)
            yield search_of(source, self.settings, self.relations(self.settings.immutable_set), self.labels)
        if client is not None:
            print(f"{client.url}: {client.requests:,} requests; the other answers had been kept")

    def write(
        self, tables: "StageTables", table: "pa.Schema", output: Path, part: str, **account: Any
    ) -> int:
        """Writes the rows, the dropped ones, and the counts under `part`; returns the number of rows."""
        from factdrift.core.files import write_json
        from factdrift.tempripple.schemas import TR_DROPPED, write_rows

        write_rows(tables.dropped, TR_DROPPED, self.dropped)
        write_json(account | {part: dict(sorted(tables.counts.items()))}, self.account)
        return write_rows(tables.rows, table, output)


class Facts(OfSource, command="tempripple facts"):
    """Find the facts that changed in the period, and the earlier ones."""

    facts: Annotated[Output, "tr_facts"]

    def run(self) -> str:
        from factdrift.tempripple.facts import check_presence, find_facts
        from factdrift.tempripple.schemas import TR_FACTS

        with self.opened() as search:
            presence = check_presence(search)
            tables = find_facts(search)
        rows = self.write(tables, TR_FACTS, self.facts, "facts", presence=presence)
        if not rows:
            print(
                f"warning: nothing changed from {self.settings.change_start} to "
                f"{self.settings.last_day} that passes; {self.dropped} says why",
                file=sys.stderr,
            )
        return f"{rows:,} mutable facts"


class Related(OfSource, command="tempripple related"):
    """Find the facts that follow from these over up to three hops."""

    facts: Path
    related: Annotated[Output, "tr_related"]

    def run(self) -> str:
        from factdrift.tempripple.related import find_related
        from factdrift.tempripple.schemas import TR_FACTS, TR_RELATED, read_rows

        with self.opened() as search:
            tables = find_related(search, read_rows(self.facts, TR_FACTS))
        return f"{self.write(tables, TR_RELATED, self.related, 'expansion'):,} related facts"


class Items(WithTables, command="tempripple items"):
    """Write the questions, with four options where there are enough values; counts, and what was dropped."""

    settings: Annotated[ItemSettings, Key(PART)]
    facts: Path
    related: Path
    dropped: Annotated[Paths, "from `facts` and `related`"]
    accounts: Annotated[Paths, "from `facts` and `related`"]
    snapshot: Annotated[Path | None, "snapshot.json, if the rows are a snapshot's"] = None
    endpoint: Annotated[str | None, "the SPARQL server that the rows came from otherwise"] = None
    output: Annotated[Output, "tr_items"]
    all_dropped: Annotated[Output, "tr_dropped"]
    json: Annotated[Output, "tr_stats.json"]

    def run(self) -> str:
        from factdrift.core.files import write_json
        from factdrift.tempripple import schemas
        from factdrift.tempripple.items import make_items
        from factdrift.tempripple.stats import statistics

        facts = schemas.read_rows(self.facts, schemas.TR_FACTS)
        related = schemas.read_rows(self.related, schemas.TR_RELATED)
        schemas.write_rows(make_items(facts, related, self.settings), schemas.TR_ITEMS, self.output)
        dropped = [row for path in self.dropped for row in schemas.read_rows(path, schemas.TR_DROPPED)]
        schemas.write_rows(dropped, schemas.TR_DROPPED, self.all_dropped)
        snapshot = json.loads(self.snapshot.read_text(encoding="utf-8")) if self.snapshot else {}
        rows = facts, related, schemas.read_rows(self.output, schemas.TR_ITEMS), dropped
        relations = self.relations(self.settings.immutable_set)
        stats = statistics(*rows, relations, self.settings, snapshot | {"endpoint": self.endpoint})
        for path in self.accounts:
            stats |= json.loads(path.read_text(encoding="utf-8"))
        write_json(stats, self.json)
        counts = ", ".join(f"{number:,} {name.replace('_', ' ')}" for name, number in stats["sizes"].items())
        return f"{self.json}: {counts}"
