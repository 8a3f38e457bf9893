"""The one fact that each entity may contribute for each updated relation, as of T_old."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from factdrift.core.tables import database, sql, write_query
from factdrift.wikidata.tables import supplied_labels, time_bound
from factdrift.words.templates import BLANK


def write_holding(
    updates: Sequence[Path],
    old: Path,
    entities: Sequence[Path],
    labels: Sequence[Path],
    output: Path,
    old_day: int,
    variant: str,
    dates: str,
    memory_mb: int = 2000,
    threads: int = 1,
) -> int:
    """Writes a triple of W_old for each subject of a bucket and updated relation; returns their number.

    Columns: neighbor (the subject), relation, statement, object, datatype, json, key, pit. `old`: the
    bucket's preprocessed statements of the old dump. `entities`: tables with `id` and `label`; `labels`:
    tab-separated files of the same. Facts are left out whose subject or object has no label in any of them,
    or whose subject's label holds the blank of a cloze test: nobody could ask for them. `old_day`: T_old as
    YYYYMMDD.
    """
    with database(memory_mb, threads) as db:
        db.register("supplied", supplied_labels(labels))
        return write_query(
            db,
            f"""WITH labelled AS (
                SELECT id, label FROM read_parquet({sql(entities)}) WHERE label IS NOT NULL
                UNION ALL SELECT id, label FROM supplied
            ), updated AS (
                SELECT DISTINCT property FROM read_parquet({sql(updates)}) WHERE dropped_by IS NULL
            )
            SELECT subject AS neighbor, property AS relation, statement, object, datatype, json, key, pit
            FROM read_parquet({sql(old)})
            WHERE dropped_by IS NULL AND property IN (FROM updated)
                AND {holds(old_day, variant, dates)}
                AND subject IN (SELECT id FROM labelled WHERE NOT contains(label, {sql(BLANK)}))
                -- Properties (negative numbers) always have a label.
                AND (object IS NULL OR object < 0 OR object IN (SELECT id FROM labelled))
            QUALIFY row_number() OVER (
                PARTITION BY subject, property ORDER BY rank = 'preferred' DESC, upper(statement), position
            ) = 1
            ORDER BY neighbor, relation""",
            output,
        )


def holds(day: int, variant: str, dates: str) -> str:
    """SQL over STATEMENTS: the fact has not ended before `day` (YYYYMMDD) and does not begin after it.

    A fact that ended at an unknown time (`somevalue`) does not hold.
    """
    if variant == "reference":
        start = "start"
    else:
        start = "CASE WHEN start IS NULL AND NOT start_unknown THEN pit ELSE start END"
    begins_after = f"({time_bound(f'({start})', 'first', variant, dates)}) > {day}"
    last_day = time_bound('"end"', "last", variant, dates)
    ended_before = f"({last_day}) < {day}"
    return f"(NOT (end_unknown OR coalesce({ended_before}, false) OR coalesce({begins_after}, false)))"
