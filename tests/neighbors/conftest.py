"""Small preprocessed statements and updates, as the stages before would write them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.tables import written

from factdrift.wikidata.tables import STATEMENTS
from factdrift.wikidata.time import parse_time

FILTERED = STATEMENTS.append(pa.field("dropped_by", pa.string()))
UPDATES = pa.schema(
    [
        ("subject", pa.int32()),
        ("property", pa.int32()),
        ("label", pa.string()),
        ("object", pa.int32()),
        ("dropped_by", pa.string()),
    ]
)

LABELS = pa.schema([("id", pa.int32()), ("label", pa.string())])

Row = dict[str, Any]
Write = Callable[[str, pa.Schema, list[Row]], Path]


def day(text: str, precision: int = 11) -> Row:
    """`2019-05-01` as a value of a TIME column."""
    return parse_time(f"+{text}T00:00:00Z", precision, "http://www.wikidata.org/entity/Q1985727")._asdict()


def statement(subject: int, property: int, object: int | None = None, **more: Any) -> Row:
    row: Row = dict.fromkeys(FILTERED.names)
    row |= {
        "subject": subject,
        "property": property,
        "object": object,
        "statement": f"Q{subject}-{property}-{object}",
        "position": 0,
        "rank": "normal",
        "snak": "value",
        "datatype": "wikibase-item" if object is not None else "string",
        "key": f"Q{object}" if object is not None else "text",
        "json": None if object is not None else '"text"',
        "start_unknown": False,
        "end_unknown": False,
        "qualifiers": [],
        "revision": 1,
    }
    return row | more


def update(subject: int, property: int, label: str, object: int | None, **more: Any) -> Row:
    row: Row = {"subject": subject, "property": property, "label": label, "object": object}
    return row | {"dropped_by": None} | more


@pytest.fixture
def table(tmp_path):
    def write(name: str, schema: pa.Schema, rows: list[Row]) -> Path:
        return written(tmp_path / f"{name}.parquet", schema, rows)

    return write
