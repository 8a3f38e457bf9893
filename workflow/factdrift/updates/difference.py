"""F-, F0, F+: which kept triples stand only in the old dump, in both, only in the new one (spec section 3).

A triple is a statement. Statements of a group with the same value are matched one to one; where there is
only one on each side, which is nearly always, the join decides alone.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from factdrift.tables import TIME, database, sql, write_query
from factdrift.updates.method import Method
from factdrift.updates.readings import high, low

_SIDE = [
    ("statement", pa.string()),
    ("position", pa.int32()),
    ("rank", pa.string()),
    ("json", pa.string()),
    ("start", TIME),
    ("start_unknown", pa.bool_()),
    ("end", TIME),
    ("end_unknown", pa.bool_()),
    ("pit", TIME),
    ("qualifiers", pa.list_(pa.int32())),
    ("revision", pa.int64()),
]

TRIPLES = pa.schema(
    [
        ("subject", pa.int32()),
        ("property", pa.int32()),
        ("change", pa.string()),
        ("datatype", pa.string()),
        ("object", pa.int32()),
        ("key", pa.string()),
        ("time", TIME),
        *((f"old_{name}", kind) for name, kind in _SIDE),
        *((f"new_{name}", kind) for name, kind in _SIDE),
    ]
)
"""One row a triple: `change` is `F-`, `F0` or `F+`; `old_*` is null for F+, `new_*` for F-. The columns
of the value are the new dump's where the triple stands there."""

ORDER = "subject, property, old_position IS NULL, old_position, new_position, old_statement, new_statement"
"""A group's triples in the old dump's order, then F+ in the new dump's."""


def difference(old: Path, new: Path, method: Method, output: Path) -> int:
    """Writes the triples of one bucket from its two preprocessed tables; returns their number."""
    # Exact equality of the datavalue is what the reference compares; entity values have no JSON.
    value = "coalesce(json, key)" if method.variant == "reference" else "key"
    with database() as db:
        for side, path in (("old", old), ("new", new)):
            db.execute(
                f"""CREATE TEMP TABLE {side} AS
                SELECT *, row_number() OVER (ORDER BY subject, position, statement) AS line,
                    {value} AS value, count(*) OVER same_value AS same
                FROM read_parquet({sql(path)}) WHERE dropped_by IS NULL
                WINDOW same_value AS (PARTITION BY subject, property, datatype, {value})"""
            )
        pairs = _match_repeated(db, method)
        db.register("repeated", pairs)
        db.execute(
            """CREATE TEMP TABLE pairs AS
            SELECT o.line AS old_line, n.line AS new_line FROM old o
            JOIN new n USING (subject, property, datatype, value) WHERE o.same = 1 AND n.same = 1
            UNION ALL SELECT old_line, new_line FROM repeated"""
        )
        return write_query(db, _triples_query(), output)


def _triples_query() -> str:
    shared = ("subject", "property", "datatype", "object", "key", "time")
    both = ", ".join(f"coalesce(n.{name}, o.{name}) AS {name}" for name in shared)
    sides = ", ".join(
        f'{letter}."{name}" AS {side}_{name}'
        for letter, side in (("o", "old"), ("n", "new"))
        for name, _ in _SIDE
    )
    columns = ", ".join(TRIPLES.names)
    return f"""
        WITH joined AS (
            SELECT {both}, {sides},
                CASE WHEN n.line IS NULL THEN 'F-' WHEN o.line IS NULL THEN 'F+' ELSE 'F0' END AS change
            FROM old o LEFT JOIN pairs p ON p.old_line = o.line FULL JOIN new n ON n.line = p.new_line
        )
        SELECT {columns} FROM joined ORDER BY {ORDER}"""


def _match_repeated(db: duckdb.DuckDBPyConnection, method: Method) -> pa.Table:
    """One-to-one matches where a value stands several times on a side: greedy over all pairs, best first."""
    equal = " + ".join(
        f"""(({_day(f'o."{name}"', method)}) IS NOT DISTINCT FROM ({_day(f'n."{name}"', method)})
            AND {unknown})::INTEGER"""
        for name, unknown in (
            ("start", "o.start_unknown = n.start_unknown"),
            ("end", "o.end_unknown = n.end_unknown"),
            ("pit", "true"),
        )
    )
    candidates = db.execute(
        f"""SELECT o.line AS old_line, n.line AS new_line FROM old o
        JOIN new n USING (subject, property, datatype, value) WHERE o.same > 1 OR n.same > 1
        ORDER BY upper(o.statement) = upper(n.statement) DESC, {equal} DESC,
            len(list_intersect(o.qualifiers, n.qualifiers)) DESC,
            upper(o.statement), upper(n.statement), o.line, n.line"""
    )
    taken_old: set[int] = set()
    taken_new: set[int] = set()
    matches: dict[str, list[Any]] = {"old_line": [], "new_line": []}
    while rows := candidates.fetchmany(10_000):
        for old_line, new_line in rows:
            if old_line not in taken_old and new_line not in taken_new:
                taken_old.add(old_line)
                taken_new.add(new_line)
                matches["old_line"].append(old_line)
                matches["new_line"].append(new_line)
    return pa.table(matches, schema=pa.schema([("old_line", pa.int64()), ("new_line", pa.int64())]))


def _day(time: str, method: Method) -> str:
    """A date as what the comparisons see of it, so that matching and rules agree on what is equal."""
    return f"CASE WHEN {time} IS NOT NULL THEN [{low(time, method)}, {high(time, method)}] END"
