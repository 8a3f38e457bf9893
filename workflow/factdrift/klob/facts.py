"""The statements of KLoB's relations in one snapshot, and which are facts."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from factdrift.core.tables import database, sql, write_query

DEATH = 570
"""Dates of death are among the statements, dropped as `datatype`: they say of whom to speak in the past."""

FACTS = pa.schema(
    [
        ("subject", pa.int32()),
        ("property", pa.int32()),
        ("object", pa.int32()),
        ("statement", pa.string()),
        ("revision", pa.int64()),
        ("objects", pa.int32()),
        ("dropped_by", pa.string()),
    ]
)
"""One row a statement, sorted by `subject`, `property`, `statement`; ids are integers. `objects`: the number
of different objects of the subject's facts with that property. `dropped_by`: one of DROPS; null: a fact."""

DROPS = ("deprecated", "rank", "snak", "datatype", "ended", "duplicate")
"""Why a statement is no fact, the first reason that holds: it is deprecated; the subject has a preferred
statement with that property and this is not one; its value is unknown; its value is no item; it ended, or may
have ended, by the snapshot's day; an earlier statement has the same object."""


def write_facts(
    statements: Path,
    properties: Sequence[int],
    day: int,
    output: Path,
    memory_mb: int = 2000,
    threads: int = 1,
) -> int:
    """Writes FACTS for one bucket of a snapshot's statements and returns the number of rows.

    `day` is the snapshot's date as an integer (20230227).
    """
    with database(memory_mb, threads) as db:
        query = f"""
            WITH ranked AS (
                SELECT *, max(rank = 'preferred') OVER (PARTITION BY subject, property) AS has_preferred
                FROM read_parquet({sql(statements)})
                WHERE property IN (SELECT unnest({sql(list(properties))}))
            ), judged AS (
                SELECT subject, property, object, statement, revision, position, CASE
                    WHEN rank = 'deprecated' THEN 'deprecated'
                    WHEN rank <> 'preferred' AND has_preferred THEN 'rank'
                    WHEN snak <> 'value' THEN 'snak'
                    WHEN datatype <> 'wikibase-item' OR object IS NULL OR object < 0 THEN 'datatype'
                    WHEN end_unknown OR "end".first <= {int(day)} THEN 'ended'
                END AS reason
                FROM ranked
            )
            SELECT subject, property, object, statement, revision,
                (count(DISTINCT object) FILTER (reason IS NULL)
                    OVER (PARTITION BY subject, property))::INTEGER AS objects,
                CASE WHEN reason IS NULL AND row_number() OVER (
                    PARTITION BY subject, property, object, reason ORDER BY position, statement
                ) > 1 THEN 'duplicate' ELSE reason END AS dropped_by
            FROM judged ORDER BY subject, property, statement"""
        return write_query(db, query, output)
