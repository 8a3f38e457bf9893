"""Jobs that make TempRIPPLE's questions from a snapshot or a SPARQL server, and tools for what they wrote."""

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, Literal

from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Place
from factdrift.core.paths import TEMPRIPPLE
from factdrift.tempripple.method import PART, ItemMethod, Method

if TYPE_CHECKING:
    import pyarrow as pa

    from factdrift.tempripple.relations import Relations
    from factdrift.tempripple.search import Found

MemoryMb = Annotated[int, "for the tables"]


class WithTables(Job, beside="resources"):
    """A job that reads the method's tables."""

    resources: Annotated[Place, "folder of mutable.tsv, immutable.tsv, types.tsv"] = TEMPRIPPLE

    def relations(self, immutable_set: str = "full53") -> "Relations":
        """The method's properties and types."""
        from factdrift.tempripple.relations import read_relations

        return read_relations(self.resources, immutable_set)


class Rows(WithTables, command="tempripple rows"):
    """The statements and classes that TempRIPPLE needs, of one bucket."""

    statements: Path
    entities: Path
    rows: Annotated[Output, "statements of the needed properties"]
    classes: Annotated[Output, "classes of items and of classes"]
    memory_mb: MemoryMb = 2000

    def run(self) -> str:
        from factdrift.tempripple.table_source import make_rows

        properties = self.relations().properties()
        rows = make_rows(self.statements, self.entities, properties, self.rows, self.classes, self.memory_mb)
        return f"{rows:,} statements of {len(properties)} properties"


class Rdf(WithTables, command="rdf"):
    """The part of a snapshot that TempRIPPLE queries, as RDF in Wikidata's vocabulary.

    All names are written as English, and the values of qualifiers other than P580, P582 and P585 as unknown.
    """

    statements: Annotated[Paths, "all buckets"]
    entities: Annotated[Paths, "all buckets"]
    properties: Path
    output: Annotated[Output, "N-Triples, .nt or .nt.gz"]
    memory_mb: MemoryMb = 2000
    threads: int = 1

    def run(self) -> str:
        from factdrift.core.tables import database
        from factdrift.tempripple.rdf import write_rdf

        relations = self.relations()
        shown = relations.properties(), [entry.number for entry in relations.types]
        with database(self.memory_mb, self.threads) as db:
            lines = write_rdf(db, self.statements, self.entities, self.properties, *shown, self.output)
        return f"{lines:,} lines of N-Triples"


class Load(Job, command="tempripple load"):
    """RDF into the database of the local SPARQL server."""

    rdf: Annotated[Paths, "what `factdrift rdf` wrote", Flag(by_place=True)]
    output: Annotated[Output, "folder of the database"]

    def run(self) -> str:
        from factdrift.sparql.server import load

        return f"{load(self.rdf, self.output):,} triples"


class OfSource(WithTables):
    """Fields of all jobs that query TempRIPPLE's source."""

    source: Annotated[Literal["tables", "sparql"], Key(f"{PART}.source")]
    rows: Annotated[Paths, "what `rows` wrote, all buckets"] = ()
    classes: Annotated[Paths, "what `rows` wrote, all buckets"] = ()
    entities: Annotated[Paths, "the snapshot's items, all buckets"] = ()
    properties: Annotated[Path | None, "the snapshot's properties"] = None
    endpoint: Annotated[str, Key(f"{PART}.endpoint"), Flag("local|wikidata|URL")]
    database: Annotated[Path | None, "what `load` made, for --endpoint local"] = None
    answers: Annotated[Place | None, "folder that keeps the answers of any other endpoint"] = None
    memory_mb: MemoryMb = 2000
    threads: int = 1
    settings: Annotated[Method, Key(PART)]
    labels: Annotated[Paths, "id, label of what the dump lacks"] = ()
    dropped: Annotated[Output, "tr_dropped of this job"]
    account: Annotated[Output, "counts for the statistics"]

    def write(self, found: "Found", table: "pa.Schema", output: Path, part: str, **account: Any) -> int:
        """Writes what was found and dropped, and the counts under `part`; returns the number of rows."""
        from factdrift.core.files import write_json
        from factdrift.tempripple.schemas import TR_DROPPED, write_rows

        write_rows(found.dropped, TR_DROPPED, self.dropped)
        write_json(account | {part: dict(sorted(found.counts.items()))}, self.account)
        return write_rows(found.rows, table, output)


class Facts(OfSource, command="tempripple facts"):
    """What changed in the period, and what it was before."""

    facts: Annotated[Output, "tr_facts"]

    def run(self) -> str:
        from factdrift.tempripple.facts import check_presence, find_facts
        from factdrift.tempripple.schemas import TR_FACTS
        from factdrift.tempripple.search import opened

        with opened(self) as search:
            presence = check_presence(search)
            found = find_facts(search)
        rows = self.write(found, TR_FACTS, self.facts, "facts", presence=presence)
        if not rows:
            print(
                f"warning: nothing changed from {self.settings.change_start} to "
                f"{self.settings.last_day} that passes; {self.dropped} says why",
                file=sys.stderr,
            )
        return f"{rows:,} mutable facts"


class Related(OfSource, command="tempripple related"):
    """What follows from the facts over up to three hops."""

    facts: Path
    related: Annotated[Output, "tr_related"]

    def run(self) -> str:
        from factdrift.tempripple.related import find_related
        from factdrift.tempripple.schemas import TR_FACTS, TR_RELATED, read_rows
        from factdrift.tempripple.search import opened

        with opened(self) as search:
            found = find_related(search, read_rows(self.facts, TR_FACTS))
        return f"{self.write(found, TR_RELATED, self.related, 'expansion'):,} related facts"


class Items(Job, command="tempripple items"):
    """The questions, with four options where there are enough values."""

    settings: Annotated[ItemMethod, Key(PART)]
    facts: Path
    related: Path
    output: Annotated[Output, "tr_items"]

    def run(self) -> str:
        from factdrift.tempripple.items import make_items
        from factdrift.tempripple.schemas import TR_FACTS, TR_ITEMS, TR_RELATED, read_rows, write_rows

        facts, related = read_rows(self.facts, TR_FACTS), read_rows(self.related, TR_RELATED)
        rows = write_rows(make_items(facts, related, self.settings), TR_ITEMS, self.output)
        return f"{rows:,} items"


class Account(WithTables, command="tempripple account"):
    """Statistics, and everything that was dropped."""

    settings: Annotated[ItemMethod, Key(PART)]
    facts: Path
    related: Path
    items_: Path
    dropped: Annotated[Paths, "from `facts` and `related`"]
    accounts: Annotated[Paths, "from `facts` and `related`"]
    snapshot: Annotated[Path | None, "snapshot.json, if the rows are a snapshot's"] = None
    endpoint: Annotated[str | None, "the SPARQL server that the rows came from otherwise"] = None
    all_dropped: Annotated[Output, "tr_dropped"]
    json: Annotated[Output, "tr_stats.json"]
    markdown: Annotated[Output, "the statistics as Markdown"]

    def run(self) -> str:
        from factdrift.core.files import write_json, write_text
        from factdrift.tempripple import schemas
        from factdrift.tempripple.stats import as_markdown, statistics

        dropped = [row for path in self.dropped for row in schemas.read_rows(path, schemas.TR_DROPPED)]
        schemas.write_rows(dropped, schemas.TR_DROPPED, self.all_dropped)
        snapshot = json.loads(self.snapshot.read_text(encoding="utf-8")) if self.snapshot else {}
        stats = statistics(
            schemas.read_rows(self.facts, schemas.TR_FACTS),
            schemas.read_rows(self.related, schemas.TR_RELATED),
            schemas.read_rows(self.items_, schemas.TR_ITEMS),
            dropped,
            self.relations(self.settings.immutable_set),
            self.settings,
            snapshot | {"endpoint": self.endpoint},
        )
        for path in self.accounts:
            stats |= json.loads(path.read_text(encoding="utf-8"))
        write_json(stats, self.json)
        text = as_markdown(stats)
        write_text(text, self.markdown)
        return text


class Sparql(Job, command="sparql"):
    """A SPARQL query of your own to the database of the local server.

    For example: factdrift sparql query.rq --format csv
    """

    query: Annotated[Path, "a file with SELECT, ASK or CONSTRUCT; - for standard input", Flag(by_place=True)]
    database: Annotated[Path | None, "what `load` made; default: the one under results/snapshots"] = None
    format: Literal["table", "csv", "json"] = "table"

    def run(self) -> str:
        from factdrift.core.files import utf8_lines
        from factdrift.sparql.server import answer

        if str(self.query) == "-":
            query = sys.stdin.read()
        elif self.query.is_file():
            query = "\n".join(utf8_lines(self.query))
        else:
            raise InputError(f"{self.query}: no such file; - reads the query from standard input")
        return answer(self.database or _only_database(), query, self.format)


def _only_database() -> Path:
    """The only database under results/snapshots. Raises InputError if there is none, or several."""
    databases = sorted(Path("results/snapshots").glob("*/tempripple/database"))
    if not databases:
        raise InputError(
            "--database: no databases under results/snapshots; make one with "
            "`snakemake --cores all results/snapshots/DATE/tempripple/database`"
        )
    if len(databases) > 1:
        named = ", ".join(map(str, databases))
        raise InputError(f"--database: several databases under results/snapshots; name one of {named}")
    return databases[0]


ItemsTable = Annotated[Path, "tr_items, such as results/tempripple.parquet", Flag("items", by_place=True)]


class Examples(Job, command="tempripple examples"):
    """Some items as a Markdown page.

    For example: factdrift tempripple examples results/tempripple.parquet --number 5
    """

    items_: ItemsTable
    number: int = 20

    def run(self) -> str:
        from factdrift.tempripple.stats import examples

        return examples(self.items_, self.number)


class Mquake(WithTables, command="tempripple mquake"):
    """What follows from the new facts, in the layout of MQuAKE."""

    facts: Annotated[Path, "tr_facts", Flag("PARQUET")]
    related: Annotated[Path, "tr_related", Flag("PARQUET")]
    output: Annotated[Output, Flag("JSON")]

    def run(self) -> str:
        from factdrift.tempripple.mquake import write_mquake

        cases, left = write_mquake(self.facts, self.related, self.relations(), self.output)
        return (
            f"{self.output}: {cases:,} cases; {left:,} chains left out: a value is no item, or the fact "
            "before leads to no other one"
        )
