"""The table of kept statements, from which two dumps are compared: few columns that are cheap to decode.

It has no dropped statements and hardly any nulls, and a date is one binary column instead of a struct of
eight. All other columns are in the table of all statements, in the row with the number `row`.
"""

from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from factdrift.core.errors import InputError
from factdrift.wikidata.tables import TIME

_DATE = np.dtype(
    [(field.name, np.dtype(field.type.to_pandas_dtype()).newbyteorder("<")) for field in TIME], align=False
)
"""NumPy layout of a packed date: the fields of TIME in order, without gaps, little-endian."""

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
"""One row a kept statement. `row`: its row number, from 0, among all statements; `revision`: 0 if unknown;
`identity`: a hash of the value (`matching.identities`), 0 for a value that equals no other; `repeated`: the
value occurs several times in its group; `id`: a hash of the statement's id (`statement_ids`); `dated`: a
start, end or point in time is given (an unknown one, `somevalue`, counts); DATES: see `packed`."""

_BLANKS = np.frombuffer(b" " * 8, "<u8")[0]

WRITER: dict[str, Any] = {
    "use_dictionary": ["property", "position"],
    "column_encoding": dict.fromkeys(("subject", "revision", "identity", "id", *DATES), "PLAIN")
    | {"row": "DELTA_BINARY_PACKED"},
    "compression": dict.fromkeys(KEPT.names, "lz4")
    | {"identity": "none", "id": "none"}
    | dict.fromkeys(DATES, "zstd"),
    "compression_level": dict.fromkeys(DATES, 3),
}
"""Parquet options: columns that hardly shrink are not compressed, repetitive ones by lz4, dates by zstd."""


def statement_ids(statements: pa.ChunkedArray) -> NDArray[np.uint64]:
    """A hash of each upper-cased id that depends on that id alone. [n], uint64.

    Starting at h = 0, every eight bytes w of the id (little-endian, padded with blanks) are mixed in:
    h = (h xor w) * 0x9E3779B97F4A7C15 modulo 2^64, then h = h xor (h >> 32).
    """
    texts = pc.ascii_upper(pc.fill_null(statements, "")).combine_chunks()
    words = (pc.max(pc.binary_length(texts)).as_py() or 0) // 8 + 1
    # Padded to one length, the ids form a matrix of 8-byte words.
    filled = pa.concat_arrays([pc.ascii_rpad(texts, words * 8)])
    table = np.frombuffer(filled.buffers()[2], "<u8", len(filled) * words, filled.offset * words * 8)
    hashes = np.zeros(len(filled), np.uint64)
    for word in table.reshape(-1, words).T:
        mixed = (hashes ^ word) * np.uint64(0x9E3779B97F4A7C15)
        mixed ^= mixed >> np.uint64(32)
        hashes = np.where(word == _BLANKS, hashes, mixed)
    return hashes


def packed(times: pa.ChunkedArray) -> pa.Array:
    """Dates (TIME) as fixed-size binary, see `_DATE`; null stays null.

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
    """The inverse of `packed`: TIME structs."""
    chunks = []
    for chunk in dates.chunks:
        records = np.frombuffer(chunk.buffers()[1], _DATE, len(chunk), chunk.offset * _DATE.itemsize)
        fields = [pa.array(np.ascontiguousarray(records[field.name]), field.type) for field in TIME]
        missing = chunk.is_null() if chunk.null_count else None
        chunks.append(pa.StructArray.from_arrays(fields, fields=list(TIME), mask=missing))
    return pa.chunked_array(chunks, TIME)
