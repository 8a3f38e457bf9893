"""literals.parquet: every literal of a build as people write it."""

import sys
from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.progress import Progress
from factdrift.core.tables import database, growing, sql
from factdrift.wikidata.ids import entity_id
from factdrift.wikidata.tables import supplied_labels
from factdrift.words.literals import PERCENT, shown

LITERALS = schema_of("datatype key json label short raw: string")
"""One row for each literal as a dump writes it (docs/tables/literals.md)."""

_BATCH = 65_536


def write_literals(
    updates: Sequence[Path],
    neighbors: Sequence[Path],
    entities: tuple[Sequence[Path], Sequence[Path]],
    labels: Sequence[Path],
    output: Path,
    as_raw: bool = False,
) -> None:
    """Writes LITERALS for every literal of the updates and neighbour tables.

    Units take label and symbol from the entities of the new and then of the old snapshot, else a label from
    the `labels` tables. With `as_raw` the label of a literal is its raw form, as in the variant `reference`.
    """
    parts = []
    if updates:
        parts += [
            f"SELECT datatype, key, {side}_json AS json, object FROM read_parquet({sql(updates)}) "
            "WHERE dropped_by IS NULL"
            for side in ("old", "new")
        ]
    # One file at a time: nearest and random facts may be tables of different columns.
    parts += [f"SELECT datatype, key, json, object FROM read_parquet({sql(path)})" for path in neighbors]
    with database() as db, growing(output, LITERALS) as add:
        db.execute(
            f"""CREATE TEMP TABLE literals AS
            SELECT DISTINCT datatype, key, json FROM ({" UNION ALL ".join(parts)})
            WHERE object IS NULL AND json IS NOT NULL"""
        )
        units = units_of(db, *entities, labels)
        progress = Progress("literals", db.sql("SELECT count(*) FROM literals").fetchall()[0][0])
        rows = db.sql("SELECT datatype, key, json FROM literals ORDER BY datatype, key, json")
        for batch in rows.to_arrow_reader(_BATCH):
            forms = [shown(row["datatype"], row["json"], units) for row in batch.to_pylist()]
            label, short, raw = (pa.array(texts, pa.string()) for texts in zip(*forms, strict=True))
            if as_raw:
                label = raw
            add(pa.RecordBatch.from_arrays([*batch.columns, label, short, raw], schema=LITERALS))
            progress.advance(batch.num_rows)


def units_of(
    db: Connection, entities: Sequence[Path], old_entities: Sequence[Path], labels: Sequence[Path]
) -> dict[int, tuple[str | None, str | None]]:
    """Label and symbol of the units in the table `literals` (datatype, json); says which have neither."""
    db.execute(
        r"""CREATE OR REPLACE TEMP TABLE units AS
        SELECT DISTINCT try_cast(regexp_extract(json, '"unit":\s*"[^"]*/Q(\d+)"', 1) AS INTEGER) AS id
        FROM literals WHERE datatype = 'quantity'"""
    )
    db.register("supplied", supplied_labels(labels))
    parts = [
        f"SELECT {rank} AS place, id, label, symbol FROM read_parquet({sql(tables)})"
        for rank, tables in enumerate((entities, old_entities))
        if tables
    ]
    union = " UNION ALL ".join([*parts, "SELECT 2 AS place, id, label, NULL AS symbol FROM supplied"])
    rows = db.sql(
        f"""SELECT id, arg_min(label, place), arg_min(symbol, place) FROM units LEFT JOIN ({union}) USING (id)
        WHERE id IS NOT NULL GROUP BY id ORDER BY id"""
    ).fetchall()
    named: dict[int, tuple[str | None, str | None]] = {row[0]: row[1:] for row in rows}
    nameless = [entity_id(n) for n, names in named.items() if not any(names) and n != PERCENT]
    if nameless:
        print(f"literals: units without a label, shown by their id: {', '.join(nameless)}", file=sys.stderr)
    return named
