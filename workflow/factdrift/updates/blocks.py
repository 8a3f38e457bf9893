"""Tables of statements, read in blocks of whole subjects, and the one from which two dumps are compared.

All tables are sorted by subject, so the rows of a subject are neighbours, and memory depends on the size of a
block (and of the largest subject), not on that of the tables.

The table of kept statements (KEPT) has few columns that are cheap to decode. It has no dropped statements and
hardly any nulls, and a date is one binary column instead of a struct of eight. All other columns are in the
table of all statements, in the row with the number `row`.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from numpy.typing import NDArray

from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.progress import Progress
from factdrift.wikidata.tables import TIME

BLOCK = 32_768
"""The approximate number of rows of a table in one block, and of the rows that Arrow decodes at a time."""

Lines = NDArray[np.int64]
"""Row numbers, from 0, within a block or a whole table. [n], int64."""


def in_step(old: Path, new: Path, columns: Sequence[str], rows: int = BLOCK) -> Iterator[list[pa.Table]]:
    """Yields pairs of blocks, one of each table, that hold all rows of the same range of subjects.

    Subjects ascend from block to block. `columns` must include `subject`. The larger block of a pair has
    about `rows` rows. Raises InputError if a table is not sorted by subject.
    """
    return _blocks([_Rows(path, columns, rows) for path in (old, new)], rows)


def in_blocks(path: Path, columns: Sequence[str], rows: int = BLOCK) -> Iterator[pa.Table]:
    """Yields blocks of about `rows` rows of one table, each with all rows of its subjects; see `in_step`."""
    for (block,) in _blocks([_Rows(path, columns, rows)], rows):
        yield block


def _blocks(sides: list["_Rows"], rows: int) -> Iterator[list[pa.Table]]:
    """Yields a block of each table, all of the same range of subjects."""
    wanted = rows
    while True:
        for side in sides:
            side.fill(wanted)
        last = [side.subjects[-1] for side in sides if not side.ended]
        if not last:
            yield [side.give(len(side.subjects)) for side in sides]
            return
        # The last subject of what has been read may go on.
        ends = [int(np.searchsorted(side.subjects, min(last))) for side in sides]
        if any(ends):
            yield [side.give(end) for side, end in zip(sides, ends, strict=True)]
            wanted = rows
        else:
            wanted *= 2


class _Rows:
    """A buffer of rows of one table: read from the file, not yet returned as part of a block."""

    def __init__(self, path: Path, columns: Sequence[str], rows: int) -> None:
        self.path = path
        self.file, self.schema = _opened(path, columns)
        total = self.file.metadata.num_rows
        self.megabytes = path.stat().st_size / max(total, 1) / 1e6  # a row
        self.progress = Progress(f"reading {path.parent.name}/{path.name}", total, "rows", beside="MB")
        self.batches = self.file.iter_batches(min(rows, BLOCK), columns=list(columns), use_threads=False)
        self.buffer = self.schema.empty_table()
        self.subjects: NDArray[np.int32] = np.empty(0, np.int32)
        self.ended = False

    def fill(self, rows: int) -> None:
        """Reads until the buffer has `rows` rows, or the table ends."""
        while not self.ended and len(self.subjects) < rows:
            if (batch := next(self.batches, None)) is None:
                self.ended = True
                self.file.close()
                self.progress.say()
            elif batch.num_rows:
                self.progress.advance(batch.num_rows, beside=batch.num_rows * self.megabytes)
                table = pa.Table.from_batches([batch]).select(self.schema.names)
                self.buffer = pa.concat_tables([self.buffer, table]) if len(self.subjects) else table
                self.subjects = np.concatenate([self.subjects, batch["subject"].to_numpy()])
                if (self.subjects[1:] < self.subjects[:-1]).any():
                    raise InputError(f"{self.path}: not sorted by subject; make it again")

    def give(self, rows: int) -> pa.Table:
        """Removes and returns the first rows."""
        # combine_chunks() copies: each column becomes one array, and the old buffers can be freed.
        block = self.buffer.slice(0, rows).combine_chunks()
        self.buffer, self.subjects = self.buffer.slice(rows).combine_chunks(), self.subjects[rows:].copy()
        return block


def _opened(path: Path, columns: Sequence[str]) -> tuple[pq.ParquetFile, pa.Schema]:
    """The file, and a nullable schema of `columns`; InputError if one is missing."""
    file = pq.ParquetFile(path, pre_buffer=False)
    missing = [name for name in columns if name not in file.schema_arrow.names]
    if missing:
        raise InputError(f"{path}: has no column {missing[0]!r}; make it again")
    return file, pa.schema([file.schema_arrow.field(name).with_nullable(True) for name in columns])


class Lookup:
    """Fetches rows of a table by their numbers, in calls whose row numbers ascend from one to the next."""

    def __init__(self, path: Path, columns: Sequence[str]) -> None:
        self.path, self.columns = path, list(columns)
        self.file, self.schema = _opened(path, columns)
        sizes = [self.file.metadata.row_group(group).num_rows for group in range(self.file.num_row_groups)]
        self.ends = np.cumsum(sizes, dtype=np.int64)
        self.batches: Iterator[pa.RecordBatch] = iter(())
        self.group = -1
        """Number of the row group that is read; the last one stands for none, as no row is behind it."""
        self.buffer: list[tuple[int, pa.RecordBatch]] = []
        """Batches that may still be needed, each with the number of its first row."""
        self.read = 0
        """Number of the first row that was neither read nor skipped."""

    def take(self, rows: Lines, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows with these numbers, in the given order; a negative number gives a row of nulls.

        `columns`: a selection, else all. Raises InputError if the table has fewer rows.
        """
        schema = pa.schema([self.schema.field(name) for name in columns or self.columns])
        present = rows >= 0
        if not present.any():
            return pa.table([pa.nulls(len(rows), field.type) for field in schema], schema=schema)
        first, end = int(rows[present].min()), int(rows.max()) + 1
        if end > self.file.metadata.num_rows:
            raise InputError(f"{self.path}: has no row {end - 1}; make the table that refers to it again")
        self._read(first, end)
        # Numbers ascend except within a subject, so they fall into few contiguous pieces of batches.
        starts = np.array([start for start, _ in self.buffer])
        batches = np.searchsorted(starts, np.where(present, rows, first), side="right") - 1
        # A null belongs to the batch of the row before it.
        batches = batches[np.maximum.accumulate(np.where(present, np.arange(len(rows)), 0))]
        edges = np.flatnonzero(np.diff(batches, prepend=-1))
        pieces = []
        for begin, until in zip(edges, [*edges[1:], len(rows)], strict=True):
            start, batch = self.buffer[batches[begin]]
            numbers = pa.array(rows[begin:until] - start, mask=~present[begin:until])
            piece = batch.select(schema.names).take(numbers)
            pieces.append(pa.RecordBatch.from_arrays(piece.columns, schema=schema))
        return pa.Table.from_batches(pieces)

    def _read(self, first: int, end: int) -> None:
        """Drops batches before row `first` and reads up to row `end`; row groups in between are not read."""
        self.buffer = [(start, batch) for start, batch in self.buffer if start + batch.num_rows > first]
        if self.ends[self.group] <= first:
            self.batches = iter(())
        while self.read < end:
            if (batch := next(self.batches, None)) is None:
                self.read = max(first, self.read)
                self.group = int(np.searchsorted(self.ends, self.read, side="right"))
                self.read = int(self.ends[self.group - 1]) if self.group else 0
                self.batches = self.file.iter_batches(
                    BLOCK, row_groups=[self.group], columns=self.columns, use_threads=False
                )
                continue
            if self.read + batch.num_rows > first:
                self.buffer.append((self.read, batch))
            self.read += batch.num_rows


def cell(subjects: NDArray[np.integer], positions: NDArray[np.integer]) -> NDArray[np.int64]:
    """Packs subject and position (or relation) into one number with the same order. [n], int64."""
    return (subjects.astype(np.int64) << 32) + positions.astype(np.int64)


_DATE = np.dtype([(field.name, np.dtype(field.type.to_pandas_dtype()).newbyteorder("<")) for field in TIME])
"""NumPy layout of a packed date: the fields of TIME in order, without gaps, little-endian."""

DATES = ("time", "start", "end", "pit")

_NUMBERS = schema_of(
    "row subject property position: int32, revision: int64, identity: uint64, repeated: bool, id: uint64",
    "dated: bool",
)
KEPT = pa.schema(
    [
        *(field.with_nullable(False) for field in _NUMBERS),
        *(pa.field(name, pa.binary(_DATE.itemsize)) for name in DATES),
    ]
)
"""One row a kept statement; DATES: see `packed` (docs/tables/kept.md)."""

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
    buffers = [valid, pa.py_buffer(records.view(np.uint8))]
    return pa.Array.from_buffers(pa.binary(_DATE.itemsize), len(times), buffers)


def unpacked(dates: pa.ChunkedArray) -> pa.ChunkedArray:
    """The inverse of `packed`: TIME structs."""
    chunks = []
    for chunk in dates.chunks:
        records = np.frombuffer(chunk.buffers()[1], _DATE, len(chunk), chunk.offset * _DATE.itemsize)
        fields = [pa.array(np.ascontiguousarray(records[field.name]), field.type) for field in TIME]
        missing = chunk.is_null() if chunk.null_count else None
        chunks.append(pa.StructArray.from_arrays(fields, fields=list(TIME), mask=missing))
    return pa.chunked_array(chunks, TIME)
