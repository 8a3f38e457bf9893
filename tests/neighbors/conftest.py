"""Small preprocessed statements and updates, as the stages before would write them."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
from support.tables import written

from factdrift.neighbors.jobs import Space
from factdrift.updates.classify import UPDATES
from factdrift.updates.filters import FILTERED
from factdrift.wikidata.time import parse_time

LABELS = pa.schema([("id", pa.int32()), ("label", pa.string())])

Row = dict[str, Any]


def day(text: str, precision: int = 11) -> Row:
    """`2019-05-01` as a value of a TIME column."""
    return parse_time(f"+{text}T00:00:00Z", precision, "http://www.wikidata.org/entity/Q1985727")._asdict()


def statement(subject: int, property: int, object: int | None = None, **more: Any) -> Row:
    row: Row = dict.fromkeys(FILTERED.names) | {"position": 0, "revision": 1, "qualifiers": []}
    row |= {"subject": subject, "property": property, "object": object, "rank": "normal", "snak": "value"}
    row |= {"statement": f"Q{subject}-{property}-{object}", "start_unknown": False, "end_unknown": False}
    if object is None:
        row |= {"datatype": "string", "key": "text", "json": '"text"'}
    else:
        row |= {"datatype": "wikibase-item", "key": f"Q{object}"}
    return row | more


def update(subject: int, property: int, label: str, object: int | None, **more: Any) -> Row:
    row: Row = {"subject": subject, "property": property, "label": label, "object": object}
    return row | {"dropped_by": None} | more


def in_space(folder: Path, updates: list[Row], old: list[Row], new: Sequence[Row] = ()) -> dict[str, Any]:
    """Writes tables and the space of their entities; returns the inputs of jobs of these names."""
    given = (("updates", UPDATES, updates), ("old", FILTERED, old), ("new", FILTERED, new))
    tables = {name: [written(folder / f"{name}.parquet", schema, rows)] for name, schema, rows in given}
    Space(**tables, output=folder / "space", variant="paper").run()
    return {**tables, "space": folder / "space"}
