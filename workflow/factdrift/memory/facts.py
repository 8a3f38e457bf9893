"""A temporal knowledge graph with both axes: when a fact was true, and in which dumps Wikidata states it."""

import calendar
import itertools
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from factdrift.core.columns import Row, schema_of
from factdrift.core.tables import database, fetched, sql
from factdrift.wikidata.ids import entity_id, property_id
from factdrift.wikidata.time import unpack

FACTS = schema_of(
    "subject subject_label relation relation_label object object_label: string",
    "valid_from valid_to known_from known_until statement: string, stale_after_1y: double",
)
"""A row is a fact as some dumps had it (docs/memory.md)."""


def date_between(first: int | None, last: int | None) -> str | None:
    """The date that covers the packed days from first to last: a year, a month, or else the first day.

    None without a first day.
    """
    if first is None:
        return None
    year, month, day = unpack(first)
    until = unpack(last) if last is not None else (year, month, day)
    if day == 1 and until[0] == year > 0 and until[2] == calendar.monthrange(*until[:2])[1]:
        if (month, until[1]) == (1, 12):
            return f"{year:04}"
        if month == until[1]:
            return f"{year:04}-{month:02}"
    return f"{year:04}-{month:02}-{day:02}"


def read_facts(known: Path) -> Iterator[Row]:
    """FACTS of a table of timelines with labels, in its order; of items with names only.

    A fact that goes on is a single row, although its certain days become more with every dump.
    """
    columns = (
        "subject, subject_label, property, relation_label, value, value_label, statement, possible_first, "
        "start_last, certain_last, possible_last, known_from, known_until, "
        "stale_after_1y"
    )
    key = "subject, property, value, statement, possible_first, start_last, known_from"
    with database() as db:
        db.execute(
            f"SELECT {columns} FROM read_parquet({sql(known)}) WHERE value_label IS NOT NULL "
            f"AND subject_label IS NOT NULL AND NOT doubted ORDER BY {key}"
        )
        names = columns.split(", ")
        rows = (_fact(dict(zip(names, row, strict=True))) for row in fetched(db))
        for _, group in itertools.groupby(rows, key=_stable):
            merged: list[Row] = []
            for row in group:
                if merged and merged[-1]["known_until"] == row["known_from"]:
                    merged[-1]["known_until"] = row["known_until"]
                else:
                    merged.append(row)
            yield from merged


def _stable(row: Row) -> tuple[Any, ...]:
    """All of a fact but when it was known."""
    return tuple(value for name, value in row.items() if not name.startswith("known_"))


def _fact(row: Row) -> Row:
    open_end = row["possible_last"] is None
    return {
        "subject": entity_id(row["subject"]),
        "subject_label": row["subject_label"],
        "relation": property_id(row["property"]),
        "relation_label": row["relation_label"],
        "object": entity_id(row["value"]),
        "object_label": row["value_label"],
        "valid_from": date_between(row["possible_first"], row["start_last"]),
        "valid_to": None if open_end else date_between(row["certain_last"], row["possible_last"]),
        "known_from": row["known_from"],
        "known_until": row["known_until"],
        "statement": row["statement"],
        "stale_after_1y": row["stale_after_1y"],
    }
