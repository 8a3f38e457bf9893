"""The one fact that each entity may contribute for each updated relation, as of T_old."""

from __future__ import annotations

from datetime import date
from typing import TYPE_CHECKING

import duckdb

from factdrift.core.tables import database, sql, write_query
from factdrift.wikidata.tables import supplied_labels, time_bound
from factdrift.wikidata.time import pack_date
from factdrift.words.templates import BLANK

if TYPE_CHECKING:
    from factdrift.neighbors.jobs import Holding, OfFacts


def write_holding(job: Holding) -> int:
    """Writes a triple of W_old for each subject of a bucket and updated relation; returns their number.

    Columns: neighbor (the subject), relation, statement, object, datatype, json, key, pit. Facts are left out
    whose subject or object has no label, or whose subject's label holds the blank of a cloze test: nobody
    could ask for them.
    """
    with database(job.memory_mb, job.threads) as db:
        create_labelled(db, job)
        return write_query(
            db,
            f"""WITH updated AS (
                SELECT DISTINCT property FROM read_parquet({sql(job.updates)}) WHERE dropped_by IS NULL
            )
            SELECT subject AS neighbor, property AS relation, statement, object, datatype, json, key, pit
            FROM read_parquet({sql(job.old)})
            WHERE dropped_by IS NULL AND property IN (FROM updated)
                AND {holds(job.old_date, job)}
                AND subject IN (FROM askable)
                -- Properties (negative numbers) always have a label.
                AND (object IS NULL OR object < 0 OR object IN (SELECT id FROM labelled))
            QUALIFY row_number() OVER (
                PARTITION BY subject, property ORDER BY rank = 'preferred' DESC, upper(statement), position
            ) = 1
            ORDER BY neighbor, relation""",
            job.output,
        )


def create_labelled(db: duckdb.DuckDBPyConnection, job: OfFacts) -> None:
    """TEMP VIEWs of entities: `labelled` (id, label), and `askable` (id), whose label holds no blank."""
    db.register("supplied", supplied_labels(job.labels))
    db.execute(
        f"""CREATE TEMP VIEW labelled AS
        SELECT id, label FROM read_parquet({sql(job.entities)}) WHERE label IS NOT NULL
        UNION ALL SELECT id, label FROM supplied;
        CREATE TEMP VIEW askable AS SELECT id FROM labelled WHERE NOT contains(label, {sql(BLANK)})"""
    )


def holds(day: date, job: OfFacts) -> str:
    """SQL over STATEMENTS: the fact has not ended before `day` and does not begin after it.

    A fact that ended at an unknown time (`somevalue`) does not hold.
    """
    if job.variant == "reference":
        start = "start"
    else:
        start = "CASE WHEN start IS NULL AND NOT start_unknown THEN pit ELSE start END"
    first_day = time_bound(f"({start})", "first", job.variant, job.dates)
    last_day = time_bound('"end"', "last", job.variant, job.dates)
    packed = pack_date(day)
    begins_after, ended_before = f"({first_day}) > {packed}", f"({last_day}) < {packed}"
    return f"(NOT (end_unknown OR coalesce({ended_before}, false) OR coalesce({begins_after}, false)))"
