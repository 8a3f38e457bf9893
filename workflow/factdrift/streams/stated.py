"""All statements of the chains of a bucket, those that filters drop too, and the timelines that they make."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from factdrift.core.tables import fetched, growing, sql
from factdrift.streams.changes import Span
from factdrift.streams.timelines import EVER, NEVER_ENDS, UNNAMED, Stated, follow, held

TIMELINES = pa.schema(
    [
        ("subject", pa.int32()),
        ("property", pa.int32()),
        ("value", pa.int32()),
        ("certain_first", pa.int64()),
        ("certain_last", pa.int64()),
        ("possible_first", pa.int64()),
        ("possible_last", pa.int64()),
        ("doubted", pa.bool_()),
    ]
)
"""One row a statement: the days on which its value held for certain, and those on which it possibly did. Null
where nothing limits what is possible; no `value`: it names no item. `doubted`: as of Held."""

ITEM = "wikibase-item"

Ended = dict[tuple[int, int], dict[tuple[int, int], tuple[int, int]]]
"""(subject, property) -> (interval, item) -> first and last day of the change by which the item ended."""

_SPAN = """
    CREATE TEMP MACRO span(t) AS CASE WHEN t IS NOT NULL THEN {
        'text': CASE WHEN t.year < 0 THEN '-' ELSE '' END || printf('%04d', abs(t.year)) || CASE
            WHEN t.precision >= 11 THEN printf('-%02d-%02d', t.month, t.day)
            WHEN t.precision = 10 THEN printf('-%02d', t.month) ELSE '' END
            || CASE WHEN t.julian THEN ' julian' ELSE '' END,
        'precision': t.precision, 'first': t.first, 'last': t.last} END;
    CREATE TEMP MACRO spans(times, t) AS list_transform(
        coalesce(times, CASE WHEN t IS NULL THEN [] ELSE [t] END), lambda each: span(each));
"""


def create_stated(db: duckdb.DuckDBPyConnection, updates: Sequence[Path], statements: Sequence[Path]) -> None:
    """TEMP TABLEs `linked` (subject, property, functional) of the groups with an update in some interval, and
    `stated`, their statements in each dump; defines `span(TIME)`, a date as the fields of Span.

    `updates`: the triples of each interval; `statements`: those of each dump with the filter that drops them.
    """
    db.execute(_SPAN)
    db.execute(
        f"""CREATE TEMP TABLE linked AS SELECT subject, property, bool_or(relation_is_temp_func) AS functional
        FROM read_parquet({sql(list(updates))}) WHERE dropped_by IS NULL GROUP BY ALL"""
    )
    rows = " UNION ALL ".join(
        f"SELECT {dump} AS dump, * FROM read_parquet({sql(path)})" for dump, path in enumerate(statements)
    )
    db.execute(
        f"""CREATE TEMP TABLE stated AS SELECT dump, subject, property, position, statement, datatype, key,
            object, snak, rank, dropped_by, spans(starts, start) AS starts, start_unknown,
            spans(ends, "end") AS ends, end_unknown, span("end") AS last_end, pit IS NOT NULL AS has_pit
        FROM ({rows}) SEMI JOIN linked USING (subject, property)"""
    )


_STANDING = """CASE
    WHEN rank = 'deprecated' THEN 'deprecated'
    WHEN dropped_by = 'restrictive_qualifier' THEN 'in_part'
    WHEN dropped_by IN ('keep_latest', 'preferred') THEN 'aside'
    WHEN functional AND rank = 'normal'
        AND bool_or(rank = 'preferred') OVER (PARTITION BY dump, subject, property) THEN 'aside'
    ELSE 'current' END"""
"""SQL: a Standing. A filter sees only what those before it leave, so ranks are looked at here once more."""


def write_timelines(db: duckdb.DuckDBPyConnection, days: Sequence[int], ended: Ended, output: Path) -> None:
    """Writes TIMELINES of the relations whose values are items, by subject and property.

    Needs the tables of `create_stated`. `days`: those of the dumps.
    """
    db.execute(
        f"""SELECT subject, property, dump, statement,
            CASE WHEN snak = 'value' THEN object ELSE {UNNAMED} END AS value, {_STANDING} AS standing,
            starts, ends, start_unknown, end_unknown, has_pit AND len(starts) = 0 AS measured
        FROM stated JOIN linked USING (subject, property)
        WHERE datatype = '{ITEM}' AND (snak <> 'value' OR object > 0)
        ORDER BY subject, property, dump, position, statement"""
    )
    with growing(output, TIMELINES) as add:
        found = _timelines(db, days, ended)
        while part := list(itertools.islice(found, 10_000)):
            add(pa.RecordBatch.from_pylist(part, schema=TIMELINES))


def _timelines(db: duckdb.DuckDBPyConnection, days: Sequence[int], ended: Ended) -> Iterator[dict[str, Any]]:
    for group, rows in itertools.groupby(fetched(db), key=lambda row: (row[0], row[1])):
        statements = [
            Stated(dump, id_, value, standing, _spans(starts), _spans(ends), *flags)
            for _, _, dump, id_, value, standing, starts, ends, *flags in rows
        ]
        for holding in follow(statements, days, ended.get(group, {})):
            value, certain, (first, last), doubted = held(holding, days)
            yield {
                **dict(zip(("subject", "property"), group, strict=True)),
                "value": None if value == UNNAMED else value,
                "certain_first": certain and certain[0],
                "certain_last": certain and certain[1],
                "possible_first": None if first == EVER else first,
                "possible_last": None if last == NEVER_ENDS else last,
                "doubted": doubted,
            }


def _spans(dates: Sequence[Mapping[str, Any]]) -> tuple[Span, ...]:
    return tuple(Span(**date) for date in dates)
