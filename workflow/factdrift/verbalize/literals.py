"""literals.parquet: every literal of a build as people write it."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from factdrift.core.progress import Progress
from factdrift.core.tables import database, sql, write_parquet
from factdrift.wikidata.ids import entity_id
from factdrift.wikidata.tables import supplied_labels
from factdrift.words.literals import shown
from factdrift.words.quantities import PERCENT

if TYPE_CHECKING:
    from factdrift.verbalize.jobs import Literals

LITERALS = pa.schema(
    [
        ("datatype", pa.string()),
        ("key", pa.string()),
        ("json", pa.string()),
        ("label", pa.string()),
        ("short", pa.string()),
        ("raw", pa.string()),
    ]
)
"""One row for each literal as it is written, sorted by datatype, `key` and `json`.

Several `json` may have one `key`: `+1000` and `+1000.0` are the same value. The three forms
(`factdrift.words.literals.Shown`) are those of `json`."""

_BATCH = 65_536


def write_literals(job: Literals) -> int:
    """Writes LITERALS for every literal of the updates and neighbour tables; returns the number of rows.

    Units take label and symbol from the new snapshot's entities, else from the old one's, else a label from
    the `labels` tables. In variant `reference` the label of a literal is its raw form.
    """
    with database() as db:
        _collect(db, job.updates, job.neighbors)
        units = units_of(db, job.new, job.old, job.labels)
        rows = db.sql("SELECT count(*) FROM literals").fetchall()[0][0]
        progress = Progress("literals", rows)

        def batches() -> Iterator[pa.RecordBatch]:
            reader = db.sql("SELECT datatype, key, json FROM literals ORDER BY datatype, key, json")
            for batch in reader.to_arrow_reader(_BATCH):
                forms = [shown(row["datatype"], row["json"], units) for row in batch.to_pylist()]
                label, short, raw = (pa.array(texts, pa.string()) for texts in zip(*forms, strict=True))
                if job.variant == "reference":
                    label = raw
                yield pa.RecordBatch.from_arrays([*batch.columns, label, short, raw], schema=LITERALS)
                progress.advance(batch.num_rows)

        return write_parquet(pa.RecordBatchReader.from_batches(LITERALS, batches()), job.output)


def _collect(db: duckdb.DuckDBPyConnection, updates: Sequence[Path], neighbors: Sequence[Path]) -> None:
    """TEMP TABLE literals (datatype, key, json): literals that reach a dataset, each form of a value once."""
    parts = []
    if updates:
        parts += [
            f"SELECT datatype, key, {side}_json AS json, object FROM read_parquet({sql(updates)}) "
            "WHERE dropped_by IS NULL"
            for side in ("old", "new")
        ]
    # One file at a time: nearest and random facts may be tables of different columns.
    parts += [f"SELECT datatype, key, json, object FROM read_parquet({sql(path)})" for path in neighbors]
    db.execute(
        f"""CREATE TEMP TABLE literals AS
        SELECT DISTINCT datatype, key, json FROM ({" UNION ALL ".join(parts)})
        WHERE object IS NULL AND json IS NOT NULL"""
    )


def units_of(
    db: duckdb.DuckDBPyConnection,
    entities: Sequence[Path],
    old_entities: Sequence[Path],
    labels: Sequence[Path],
) -> dict[int, tuple[str | None, str | None]]:
    """Label and symbol of the units in the table `literals` (datatype, json); says which have neither."""
    db.execute(
        r"""CREATE OR REPLACE TEMP TABLE units AS
        SELECT DISTINCT try_cast(regexp_extract(json, '"unit":\s*"[^"]*/Q(\d+)"', 1) AS INTEGER) AS id
        FROM literals WHERE datatype = 'quantity'"""
    )
    named: dict[int, tuple[str | None, str | None]] = {
        number: (None, None)
        for (number,) in db.sql("SELECT id FROM units WHERE id IS NOT NULL ORDER BY id").fetchall()
    }
    for tables in (entities, old_entities):
        if not tables:
            continue
        for number, label, symbol in db.sql(
            f"SELECT id, label, symbol FROM read_parquet({sql(tables)}) JOIN units USING (id)"
        ).fetchall():
            before = named[number]
            named[number] = (before[0] or label, before[1] or symbol)
    for row in supplied_labels(labels).to_pylist():
        if row["id"] in named:
            label, symbol = named[row["id"]]
            named[row["id"]] = (label or row["label"], symbol)
    nameless = [entity_id(n) for n, names in named.items() if not any(names) and n != PERCENT]
    if nameless:
        print(f"literals: units without a label, shown by their id: {', '.join(nameless)}", file=sys.stderr)
    return named
