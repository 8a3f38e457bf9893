"""TempRIPPLE on a synthetic snapshot: how fast a source answers, hop by hop, and what the decisions cost.

    python benchmarks/tempripple.py                      200,000 people: 2.0 million statements
    python benchmarks/tempripple.py --people 20000 --record benchmarks/RESULTS.md

The snapshot is made here as tables, with people, towns, countries, languages and currencies; of one town
in 200 the mayor changed in 2025. Triples are what RDF has for it: of a statement its rank, value and
best rank, of each date its value node, each label. Each source runs in a process of
its own, on one core; the SPARQL server in the process that asks it.
"""

import argparse
import multiprocessing
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq
from record import add_record, peak, record

from factdrift.core.keys import read_settings, settings_of
from factdrift.core.settings import configure
from factdrift.core.tables import database, sql
from factdrift.evaluation.methods.own import keys_of_methods
from factdrift.sparql.client import OWN_LIMIT, Client
from factdrift.sparql.server import load, serving
from factdrift.tempripple.facts import find_facts
from factdrift.tempripple.items import make_items
from factdrift.tempripple.rdf import write_rdf
from factdrift.tempripple.related import find_related
from factdrift.tempripple.relations import read_relations
from factdrift.tempripple.search import search_of
from factdrift.tempripple.settings import PART, ItemSettings
from factdrift.tempripple.sources import StatementSource
from factdrift.tempripple.sparql_source import OWN_BATCH, SparqlSource
from factdrift.tempripple.table_source import TableSource, make_rows
from factdrift.wikidata.tables import ENTITIES, PROPERTIES, STATEMENTS

RELATIONS = read_relations()
PEOPLE, TOWNS, COUNTRIES, LANGUAGES, CURRENCIES, NAMES = (n * 100_000_000 for n in range(2, 8))
FEW = 200
"""Countries, languages and currencies, of each kind."""


def make(folder: Path, people: int) -> None:
    """Writes statements, entities and properties of a snapshot; one town on ten people."""
    towns = people // 10
    with database(4000, 2) as db:
        db.execute(
            f"""
            CREATE TABLE facts (
                subject INT, property INT, object INT, day BIGINT, first BIGINT, last BIGINT, text TEXT);
            -- Any one of n by a hash, so that a few objects are not everybody's.
            CREATE MACRO any_of(base, n, salt, i) AS (base + hash(i * 31 + salt) % n)::INT;
            CREATE VIEW people AS SELECT i, ({PEOPLE} + i)::INT AS id FROM range({people}) t(i);
            CREATE VIEW towns AS SELECT i, ({TOWNS} + i)::INT AS id FROM range({towns}) t(i);
            CREATE VIEW countries AS SELECT i, ({COUNTRIES} + i)::INT AS id FROM range({FEW}) t(i);
            CREATE VIEW languages AS SELECT i, ({LANGUAGES} + i)::INT AS id FROM range({FEW}) t(i);
            CREATE VIEW currencies AS SELECT i, ({CURRENCIES} + i)::INT AS id FROM range({FEW}) t(i);
            """
        )
        for subjects, relation, base, number in (
            ("people", 31, 5, 1),
            ("people", 19, TOWNS, towns),
            ("people", 22, PEOPLE, people),
            ("people", 25, PEOPLE, people),
            ("people", 26, PEOPLE, people),
            ("people", 103, LANGUAGES, FEW),
            ("people", 734, NAMES, 20_000),
            ("people", 735, NAMES, 20_000),
            ("towns", 31, 515, 1),
            ("towns", 17, COUNTRIES, FEW),
            ("countries", 31, 6256, 1),
            ("countries", 36, TOWNS, towns),
            ("countries", 37, LANGUAGES, FEW),
            ("countries", 38, CURRENCIES, FEW),
            ("languages", 31, 34770, 1),
            ("currencies", 31, 8142, 1),
        ):
            db.execute(
                f"""INSERT INTO facts BY NAME SELECT id AS subject, {relation} AS property,
                any_of({base}, {number}, {relation}, i) AS object,
                CASE WHEN {relation} = 26 THEN 19900101 + i % 20 * 10000 END AS first FROM {subjects}"""
            )
        for subjects, relation in (("countries", 297), ("languages", 218), ("currencies", 498)):
            db.execute(
                f"""INSERT INTO facts BY NAME SELECT id AS subject, {relation} AS property,
                '{subjects[:1]}' || i AS text FROM {subjects}"""
            )
        db.execute(
            f"""
            INSERT INTO facts BY NAME SELECT id AS subject, 569 AS property,
                19300101 + i % 60 * 10000 + i % 12 * 100 AS day FROM people;
            INSERT INTO facts BY NAME SELECT id AS subject, 571 AS property,
                12000101 + i % 700 * 10000 AS day FROM towns;
            INSERT INTO facts BY NAME SELECT id AS subject, 6 AS property,
                any_of({PEOPLE}, {people}, 61 + h, i) AS object,
                [20080101, 20170501, CASE WHEN i % 200 = 0 THEN 20250301 ELSE 20240301 END][h] AS first,
                [20170501, CASE WHEN i % 200 = 0 THEN 20250301 ELSE 20240301 END, NULL][h] AS last
                FROM towns, range(1, 4) holders(h);
            CREATE MACRO time_of(d) AS CASE WHEN d IS NULL THEN NULL ELSE {{
                'year': d // 10000, 'month': d // 100 % 100, 'day': d % 100, 'precision': 11, 'julian': false,
                'written': d, 'first': d, 'last': d}} END;
            """
        )
        _write(
            db,
            """SELECT subject, property,
                'Q' || subject || '$' || (row_number() OVER w - 1) AS statement,
                row_number() OVER w - 1 AS position,
                'normal' AS rank, 'value' AS snak,
                CASE WHEN text IS NOT NULL THEN 'external-id' WHEN day IS NOT NULL THEN 'time'
                    ELSE 'wikibase-item' END AS datatype,
                object, coalesce(text, 'Q' || object, day::TEXT) AS key, to_json(text)::TEXT AS json,
                time_of(day) AS time, time_of(first) AS start, false AS start_unknown,
                time_of(last) AS "end", false AS end_unknown, NULL AS pit,
                CASE WHEN last IS NOT NULL THEN [580, 582] WHEN first IS NOT NULL THEN [580] ELSE [] END
                    AS qualifiers,
                1 AS revision, NULL AS starts, NULL AS ends, NULL AS pits
            FROM facts WINDOW w AS (PARTITION BY subject ORDER BY property, object, first)
            ORDER BY subject, position""",
            STATEMENTS,
            folder / "statements.parquet",
        )
        classes = [(entry.number, entry.label) for entry in RELATIONS.types]
        db.execute("CREATE TABLE classes (id INT, label TEXT)")
        db.executemany("INSERT INTO classes VALUES (?, ?)", sorted(set(classes)))
        _write(
            db,
            """SELECT id, label, NULL AS description, [label || ' too'] AS aliases, label AS title,
                1 AS sitelinks, 1 AS revision, NULL AS modified, [] AS classes, [] AS superclasses,
                NULL AS symbol, true AS whole
            FROM (
                SELECT id, 'thing ' || id AS label
                FROM (SELECT subject AS id FROM facts UNION SELECT object FROM facts)
                WHERE id > 100000000 UNION ALL FROM classes
            ) ORDER BY id""",
            ENTITIES,
            folder / "entities.parquet",
        )
        rows = [
            {"id": each.property, "label": each.label, "datatype": each.datatype}
            for group in (RELATIONS.mutable, RELATIONS.immutable)
            for each in group.values()
        ]
        unique = sorted({row["id"]: row for row in rows}.values(), key=lambda row: row["id"])
        pq.write_table(pa.Table.from_pylist(unique, PROPERTIES), folder / "properties.parquet")


def _write(db: duckdb.DuckDBPyConnection, query: str, schema: pa.Schema, path: Path) -> None:
    pq.write_table(db.sql(query).to_arrow_table().cast(schema), path, row_group_size=131_072)


def triples(folder: Path) -> int:
    """How many triples RDF has for the snapshot."""
    statements, entities = sql(folder / "statements.parquet"), sql(folder / "entities.parquet")
    with database() as db:
        [(number,)] = db.sql(
            # p:, ps:, wdt:, rank, best rank; of each date a link (and pq:) and two triples of its node.
            f"""SELECT sum(5 + 3 * (time IS NOT NULL)::INT + 4 * (start IS NOT NULL)::INT
                    + 4 * ("end" IS NOT NULL)::INT)
                + (SELECT 2 * count(*) FROM read_parquet({entities}))
            FROM read_parquet({statements})"""
        ).fetchall()
    return int(number)


@dataclass
class Timed:
    """A source that notes how long each answer took."""

    source: StatementSource
    answers: list[tuple[str, int, int, float]] = field(default_factory=list)

    def __getattr__(self, name: str) -> Callable[..., pa.Table]:
        method = getattr(self.source, name)

        def timed(*arguments: Any) -> pa.Table:
            started = time.perf_counter()
            table = method(*arguments)
            seconds = time.perf_counter() - started
            self.answers.append((name, len(arguments[0]), table.num_rows, seconds))
            return table

        return timed

    @property
    def seconds(self) -> float:
        return sum(took for _, _, _, took in self.answers)


def run(timed: Timed, people: int) -> list[list[str]]:
    """The stage, with a row for each step."""
    config: dict[str, Any] = {"snapshots": {"old": "2025-01-06", "new": "2026-01-05"}, "grammar": "plain"}
    configure(config, keys_of_methods)
    method = read_settings(settings_of(config, ItemSettings, PART), ItemSettings, PART)
    search = search_of(timed, method, RELATIONS)  # type: ignore[arg-type]
    rows = []

    def step(title: str, work: Callable[[], Any], kinds: tuple[str, ...]) -> Any:
        before, started = len(timed.answers), time.perf_counter()
        result = work()
        seconds = time.perf_counter() - started
        mine = timed.answers[before:]
        asked = 0.0
        for name, items, got, took in mine:
            asked += took
            if name in kinds:
                rows.append(
                    [f"{title}: {name}", f"{items:,}", f"{got:,}", f"{took:.2f}", f"{got / took:,.0f}"]
                )
        rows.append([f"{title}: decisions and the rest", "", "", f"{seconds - asked:.2f}", ""])
        return result

    found = step(
        "facts",
        lambda: find_facts(search),
        ("candidates", "statements", "terms"),
    )
    related = step(
        "related",
        lambda: find_related(search, found.rows),
        ("statements", "classes", "terms"),
    )
    items = step("items", lambda: make_items(found.rows, related.rows, method), ())
    hops = ", ".join(f"{number:,}" for key, number in sorted(related.counts.items()) if key.startswith("hop"))
    rows.append([f"{len(found.rows):,} facts, related by hop {hops}", f"{len(items):,} items", "", "", ""])
    assert len(found.rows) == 3 * (people // 2000)
    return rows


class Side(NamedTuple):
    """One source: what it took, in a process of its own."""

    rows: list[list[str]]
    answering: float
    """Seconds of all answers."""
    peak: float
    triples: int = 0


def over_tables(folder: Path, people: int) -> Side:
    started = time.perf_counter()
    statements = make_rows(
        folder / "statements.parquet",
        folder / "entities.parquet",
        RELATIONS.properties(),
        folder / "rows.parquet",
        folder / "edges.parquet",
    )
    loading = _row("rows of the snapshot", statements, started)
    with database(2000, 1) as db:
        timed = Timed(
            TableSource(
                db,
                [folder / "rows.parquet"],
                [folder / "edges.parquet"],
                [folder / "entities.parquet"],
                folder / "properties.parquet",
            )
        )
        rows = run(timed, people)
    return Side([loading, *rows], timed.seconds, peak())


def over_sparql(folder: Path, people: int) -> Side:
    rdf, store = folder / "rdf.nt.gz", folder / "database"
    started = time.perf_counter()
    with database(2000, 1) as db:
        lines = write_rdf(
            db,
            [folder / "statements.parquet"],
            [folder / "entities.parquet"],
            folder / "properties.parquet",
            RELATIONS.properties(),
            [entry.number for entry in RELATIONS.types],
            rdf,
        )
    writing = _row(f"RDF, {rdf.stat().st_size / 1e6:,.0f} MB", lines, started, f"peak {peak():,.0f} MB")
    started = time.perf_counter()
    number = load([rdf], store)
    size = sum(path.stat().st_size for path in store.iterdir()) / 1e6
    loading = _row(f"database, {size:,.0f} MB", number, started, f"peak {peak():,.0f} MB")
    return Side([writing, loading], 0, peak(), number)


def asking_sparql(folder: Path, people: int) -> Side:
    with serving(folder / "database") as url:
        timed = Timed(SparqlSource(Client(url, limit=OWN_LIMIT), OWN_BATCH, monthly=False))
        rows = run(timed, people)
    return Side(rows, timed.seconds, peak())


def _row(title: str, number: int, started: float, note: str = "") -> list[str]:
    seconds = time.perf_counter() - started
    return [title, note, f"{number:,}", f"{seconds:.2f}", f"{number / seconds:,.0f}"]


def alone(work: Callable[..., Any], *arguments: Any) -> Any:
    """Runs it in a process of its own, whose peak of memory is then its own too."""
    with ProcessPoolExecutor(1, multiprocessing.get_context("spawn")) as pool:
        return pool.submit(work, *arguments).result()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--people", type=int, default=200_000)
    parser.add_argument("--tables-only", action="store_true", help="without the SPARQL server")
    add_record(parser)
    options = parser.parse_args()
    header = ["step", "items asked about", "rows", "seconds", "rows a second"]
    command = f"`python benchmarks/tempripple.py --people {options.people}`"
    with tempfile.TemporaryDirectory(prefix="tempripple-") as name:
        folder = Path(name)
        alone(make, folder, options.people)
        number = triples(folder)
        tables = alone(over_tables, folder, options.people)
        title = f"TempRIPPLE over tables, {number / 1e6:.1f} million triples"
        record(title, header, tables.rows, f"One core; peak {tables.peak:,.0f} MB. {command}", options.record)
        if options.tables_only:
            return
        loaded = alone(over_sparql, folder, options.people)
        asked = alone(asking_sparql, folder, options.people)
        record(
            f"TempRIPPLE over the local SPARQL server, {loaded.triples / 1e6:.1f} million triples",
            header,
            [*loaded.rows, *asked.rows],
            f"Answers took {asked.answering:.1f} s, over tables {tables.answering:.1f} s: "
            f"{asked.answering / tables.answering:.1f} times as long. "
            f"Peak of the server with the stage {asked.peak:,.0f} MB. {command}",
            options.record,
        )


if __name__ == "__main__":
    main()
