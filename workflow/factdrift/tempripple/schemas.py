"""The tables of TempRIPPLE: schemas, ids of rows, reading and writing."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet

_TEXTS = pa.list_(pa.string())
_STEP = pa.struct([(name, pa.string()) for name in ("p", "x", "value", "stmt_id", "x_type", "x_class")])

TR_FACTS = pa.schema(
    [
        ("fact_id", pa.string()),
        ("s", pa.string()),
        ("p", pa.string()),
        ("o", pa.string()),
        ("s_label", pa.string()),
        ("o_label", pa.string()),
        ("role", pa.string()),
        ("ordinal", pa.int32()),
        ("ordinal_text", pa.string()),
        ("start_lo", pa.date32()),
        ("start_hi", pa.date32()),
        ("end_lo", pa.date32()),
        ("end_hi", pa.date32()),
        ("start_prec", pa.int8()),
        ("end_prec", pa.int8()),
        ("duration_days", pa.int32()),
        ("n_timeline", pa.int32()),
        ("n_changes", pa.int32()),
        ("returning", pa.bool_()),
        ("s_type", pa.string()),
        ("stmt_ids", _TEXTS),
        ("statement", pa.string()),
        ("question", pa.string()),
        ("s_class", pa.string()),
        ("phrase", pa.string()),
        ("o_aliases", _TEXTS),
        ("known_values", _TEXTS),
        ("o_kinds", _TEXTS),
        ("discriminates", pa.bool_()),
    ]
)

TR_RELATED = pa.schema(
    [
        ("rel_id", pa.string()),
        ("fact_id", pa.string()),
        ("hop", pa.int8()),
        ("path", pa.list_(_STEP)),
        ("value_type", pa.string()),
        ("answer_id", pa.string()),
        ("answer_label", pa.string()),
        ("answer_aliases", _TEXTS),
        ("precision", pa.int8()),
        ("question", pa.string()),
        ("question_debug", pa.string()),
        ("answer_in_context", pa.bool_()),
        ("known_values", _TEXTS),
        ("answer_kinds", _TEXTS),
        ("discriminates", pa.bool_()),
    ]
)

TR_ITEMS = pa.schema(
    [
        ("item_id", pa.string()),
        ("task", pa.int8()),
        ("hop", pa.int8()),
        ("s", pa.string()),
        ("p", pa.string()),
        ("asked_s", pa.string()),
        ("asked_p", pa.string()),
        ("fact_id", pa.string()),
        ("rel_id", pa.string()),
        ("as_of", pa.date32()),
        ("context", pa.string()),
        ("question", pa.string()),
        ("options", _TEXTS),
        ("option_ids", _TEXTS),
        ("answer_index", pa.int8()),
        ("answer_label", pa.string()),
        ("answer_aliases", _TEXTS),
        ("pool_size", pa.int32()),
        ("open_only", pa.bool_()),
        ("discriminates", pa.bool_()),
        ("flags", _TEXTS),
    ]
)

ASOF = pa.schema(
    [
        *TR_ITEMS,
        ("chain", pa.string()),
        ("precision", pa.string()),
        ("date", pa.string()),
        ("first_day", pa.int64()),
        ("last_day", pa.int64()),
        ("holds", pa.string()),
        ("option_verdicts", pa.list_(pa.string())),
    ]
)
"""Questions with a date, of a stream: items, so that they are asked in the same way, and what is theirs."""

TR_DROPPED = pa.schema(
    [
        ("s", pa.string()),
        ("p", pa.string()),
        ("reason", pa.string()),
        ("stmt_ids", _TEXTS),
        ("detail", pa.string()),
        ("stage", pa.string()),
    ]
)

TASKS = ("new", "old", "new related", "old related")
"""The names of tasks 1 to 4: acquisition, retention, and propagation from the new and from an old fact."""

Row = dict[str, Any]


def row_id(*parts: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of the parts, separated by `|`."""
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]


def write_rows(rows: Iterable[Mapping[str, Any]], schema: pa.Schema, path: Path) -> int:
    """Writes rows sorted by the first column, or by all columns for TR_DROPPED; returns their number."""
    key = schema.names if schema is TR_DROPPED else schema.names[:1]
    ordered = sorted(rows, key=lambda row: [row[name] for name in key])
    return write_parquet(pa.Table.from_pylist(ordered, schema=schema), path)


def read_rows(path: Path, schema: pa.Schema) -> list[Row]:
    """The rows of a table of this stage; dates as days since 1970-01-01.

    Raises InputError if the file has other columns.
    """
    table = pq.read_table(path)
    if table.schema.names != schema.names:
        raise InputError(f"{path}: its columns are not those of this version; remove the file and run again")
    for place, field in enumerate(schema):
        if field.type == pa.date32():
            table = table.set_column(place, field.name, table[field.name].cast(pa.int32()))
    rows: list[Row] = table.to_pylist()
    return rows
