"""Table 2 of the paper for this build: counts of updates, triples, scenarios and more, of both datasets."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb

from factdrift.core.files import write_json
from factdrift.core.tables import database, sql
from factdrift.updates.rules import SCENARIOS
from factdrift.wikifactdiff.replacements import replacement_rows

DECISIONS = ("new", "obsolete", "static")
SPLITS = ("train", "test")


def write_stats(dataset: Path, groups: Path, output: Path) -> None:
    """Writes the counts of both datasets as JSON; `groups` are those of WFD_repl, possibly none."""
    with database() as db:
        counts = {
            "wikifactdiff": dataset_stats(db, f"SELECT * FROM read_parquet({sql(dataset)})"),
            "wfd_repl": dataset_stats(db, replacement_rows(dataset, groups)),
        }
    write_json(counts, output, indent=2)


def dataset_stats(db: duckdb.DuckDBPyConnection, records: str) -> dict[str, Any]:
    """Counts of a query's records; literals are distinct by datatype, raw form and label."""
    rows = f"({records})"
    db.execute(f"CREATE OR REPLACE TEMP VIEW triples AS SELECT *, unnest(objects) AS object FROM {rows}")

    def number(what: str, source: str = "triples") -> int:
        return int(db.sql(f"SELECT {what} FROM {source}").fetchall()[0][0])

    def tally(column: str, names: tuple[str, ...], source: str) -> dict[str, int]:
        counts = dict(db.sql(f"SELECT {column}, count(*) FROM {source} GROUP BY 1").fetchall())
        return {name: int(counts.get(name, 0)) for name in names}

    entities = number("count(DISTINCT object.id)")
    literals = number(
        "count(DISTINCT (object.datatype, object.raw, object.label)) FILTER (object.id IS NULL)"
    )
    return {
        "updates": number("count(*)", rows),
        "triples": number("count(*)"),
        "subjects": number("count(DISTINCT subject.id)"),
        "relations": number("count(DISTINCT relation.id)"),
        "objects": {"all": entities + literals, "entities": entities, "literals": literals},
        "scenarios": tally("scenario", SCENARIOS, rows),
        "decisions": tally("object.decision", DECISIONS, "triples"),
        "splits": tally("split", SPLITS, rows),
    }
