"""The tables of TempRIPPLE: schemas, ids of rows, reading and writing."""

import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of, struct_of
from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet

_STEP = struct_of("p x value stmt_id x_type x_class: string")

TR_FACTS = schema_of(
    "fact_id s p o s_label o_label role: string, ordinal: int32, ordinal_text: string",
    "start_lo start_hi end_lo end_hi: date32, start_prec end_prec: int8",
    "duration_days n_timeline n_changes: int32, returning: bool, s_type: string, stmt_ids: [string]",
    "statement question s_class phrase: string, o_aliases known_values o_kinds: [string]",
    "discriminates: bool",
)

TR_RELATED = schema_of(
    "rel_id fact_id: string, hop: int8",
    ("path", pa.list_(_STEP)),
    "value_type answer_id answer_label: string, answer_aliases: [string], precision: int8",
    "question question_debug: string, answer_in_context: bool, known_values answer_kinds: [string]",
    "discriminates: bool",
)

TR_ITEMS = schema_of(
    "item_id: string, task hop: int8, s p asked_s asked_p fact_id rel_id: string, as_of: date32",
    "context question: string, options option_ids: [string], answer_index: int8, answer_label: string",
    "answer_aliases: [string], pool_size: int32, open_only discriminates: bool, flags: [string]",
)

ASOF = schema_of(
    *TR_ITEMS,
    "chain precision date: string, first_day last_day: int64, holds: string, option_verdicts: [string]",
)
"""Questions with a date, of a stream: items, so that they are asked in the same way, and what is theirs."""

TR_DROPPED = schema_of("s p reason: string, stmt_ids: [string], detail stage: string")

TASKS = ("new", "old", "new related", "old related")
"""The names of tasks 1 to 4: acquisition, retention, and propagation from the new and from an old fact."""


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
    for index, field in enumerate(schema):
        if field.type == pa.date32():
            table = table.set_column(index, field.name, table[field.name].cast(pa.int32()))
    return list(table.to_pylist())
