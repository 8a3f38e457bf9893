"""The statements that the filters keep, as two dumps are compared: few columns that are cheap to unpack.

What is dropped is not in it, hardly anything can be missing, and dates, which take eight columns each where
they are structs, take one. The columns that are left stand in the table of all statements; `row` leads there.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from factdrift.settings import InputError
from factdrift.tables import TIME

_DATE = np.dtype(
    [(field.name, np.dtype(field.type.to_pandas_dtype()).newbyteorder("<")) for field in TIME], align=False
)
"""The fields of a date in turn, without gaps, little-endian."""

DATES = ("time", "start", "end", "pit")

KEPT = pa.schema(
    [
        pa.field("row", pa.int32(), nullable=False),
        pa.field("subject", pa.int32(), nullable=False),
        pa.field("property", pa.int32(), nullable=False),
        pa.field("position", pa.int32(), nullable=False),
        pa.field("revision", pa.int64(), nullable=False),
        pa.field("identity", pa.uint64(), nullable=False),
        pa.field("repeated", pa.bool_(), nullable=False),
        pa.field("id", pa.uint64(), nullable=False),
        pa.field("dated", pa.bool_(), nullable=False),
        *(pa.field(name, pa.binary(_DATE.itemsize)) for name in DATES),
    ]
)
"""One row a statement that is kept. `row`: the number, from 0, of its row among all statements; `revision`: 0
where it is not known; `identity`: a hash of the value (`matching.identities`), 0 where it equals nothing;
`repeated`: its value stands several times in its group; `id`: a hash of the statement's id (`statement_ids`);
`dated`: a start, an end or a point in time is given, be it known or not; DATES: see `packed`."""

_BLANKS = np.frombuffer(b" " * 8, "<u8")[0]

_PLAIN = ("subject", "revision", "identity", "id", *DATES)
_BARE = ("identity", "id")
_DENSE = DATES

WRITER: dict[str, Any] = {
    "use_dictionary": ["property", "position"],
    "column_encoding": {"row": "DELTA_BINARY_PACKED"} | dict.fromkeys(_PLAIN, "PLAIN"),
    "compression": dict.fromkeys(KEPT.names, "lz4")
    | dict.fromkeys(_BARE, "none")
    | dict.fromkeys(_DENSE, "zstd"),
    "compression_level": dict.fromkeys(_DENSE, 3),
}
"""How it is stored: what hardly shrinks is not compressed, what shrinks by its repetitions only by lz4."""


class Dump(NamedTuple):
    """The tables of one bucket of a dump that `preprocess` has written."""

    filtered: Path
    kept: Path


def statement_ids(statements: pa.ChunkedArray) -> NDArray[np.uint64]:
    """A hash of each id, upper-cased, whatever the ids beside it.

    From 0, each eight bytes of the text, little-endian and filled with blanks, are mixed in: h becomes
    (h xor bytes) * 0x9E3779B97F4A7C15 modulo 2^64, then h xor (h >> 32).
    """
    texts = pc.ascii_upper(pc.fill_null(statements, "")).combine_chunks()
    words = (pc.max(pc.binary_length(texts)).as_py() or 0) // 8 + 1
    # All of one length: the bytes of one follow those of the other.
    filled = pa.concat_arrays([pc.ascii_rpad(texts, words * 8)])
    table = np.frombuffer(filled.buffers()[2], "<u8", len(filled) * words, filled.offset * words * 8)
    found = np.zeros(len(filled), np.uint64)
    for word in table.reshape(-1, words).T:
        mixed = (found ^ word) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
        found = np.where(word == _BLANKS, found, mixed)
    return found


def packed(times: pa.ChunkedArray) -> pa.Array:
    """Dates (TIME) as fixed numbers of bytes: the fields in turn, little-endian; null stays null.

    Raises InputError if a field of a date is missing.
    """
    records = np.zeros(len(times), _DATE)
    for name in TIME.names:
        field = pc.struct_field(times, name)
        if field.null_count != times.null_count:
            raise InputError(f"statements: a date without {name!r}; make the table again")
        records[name] = pc.fill_null(field, False if name == "julian" else 0).to_numpy()
    valid = pa.array(times.is_valid().to_numpy()).buffers()[1]
    return pa.Array.from_buffers(
        pa.binary(_DATE.itemsize), len(times), [valid, pa.py_buffer(records.view(np.uint8))]
    )


def unpacked(dates: pa.ChunkedArray) -> pa.ChunkedArray:
    """What `packed` packed, as TIME."""
    return pa.chunked_array([_unpacked(chunk) for chunk in dates.chunks], TIME)


def _unpacked(dates: pa.FixedSizeBinaryArray) -> pa.StructArray:
    records = np.frombuffer(dates.buffers()[1], _DATE, len(dates), dates.offset * _DATE.itemsize)
    fields = [pa.array(np.ascontiguousarray(records[field.name]), field.type) for field in TIME]
    missing = dates.is_null() if dates.null_count else None
    return pa.StructArray.from_arrays(fields, fields=list(TIME), mask=missing)
