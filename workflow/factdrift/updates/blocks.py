"""Tables of statements, read in step: blocks of whole subjects, however large the tables are.

All are sorted by subject, so that what concerns a subject stands close together in each, and memory depends
on the size of a block (and of the largest subject), not on that of the tables.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
from numpy.typing import NDArray

from factdrift.progress import Progress
from factdrift.settings import InputError

BATCH = 32_768
"""Rows that are read at once: what is unpacked of a table besides a block is small."""

BLOCK = 32_768
"""Rows of either table that are looked at together, more or less."""

Lines = NDArray[np.int64]
"""Numbers of rows, from 0, of a block or of a whole table."""


def in_step(
    old: Path, new: Path, columns: Sequence[str], rows: int = BLOCK
) -> Iterator[tuple[pa.Table, pa.Table]]:
    """Blocks of both tables with all rows of the same subjects; their subjects ascend from block to block.

    `columns` are read, `subject` and `position` among them. A block has about `rows` rows of the side that
    has more of these subjects. Raises InputError if a table is not sorted by subject and position.
    """
    sides = (_Rows(old, columns, rows), _Rows(new, columns, rows))
    wanted = rows
    while True:
        for side in sides:
            side.fill(wanted)
        last = [side.last_subject() for side in sides if not side.ended]
        if not last:
            yield sides[0].rest(), sides[1].rest()
            return
        # The last subject of what has been read may go on.
        end = min(last)
        if all(side.begins_at_or_after(end) for side in sides):
            wanted *= 2
            continue
        yield sides[0].before(end), sides[1].before(end)
        wanted = rows


def in_blocks(
    path: Path, columns: Sequence[str], rows: int = BLOCK, positions: bool = True
) -> Iterator[pa.Table]:
    """Blocks of one table with about `rows` rows, all those of their subjects; see `in_step`.

    Without `positions` the table need only be sorted by subject.
    """
    side = _Rows(path, columns, rows, positions)
    wanted = rows
    while True:
        side.fill(wanted)
        if side.ended:
            yield side.rest()
            return
        if side.begins_at_or_after(side.last_subject()):
            wanted *= 2
            continue
        yield side.before(side.last_subject())
        wanted = rows


class _Rows:
    """The rows of one table that have been read and not been given away."""

    def __init__(self, path: Path, columns: Sequence[str], rows: int, positions: bool = True) -> None:
        self.path, self.positions = path, positions
        self.file, self.schema = _opened(path, columns)
        total = self.file.metadata.num_rows
        self.megabytes = path.stat().st_size / max(total, 1) / 1e6  # a row
        self.progress = Progress(f"reading {path.parent.name}/{path.name}", total, "rows", beside="MB")
        self.batches = self.file.iter_batches(min(rows, BATCH), columns=list(columns), use_threads=False)
        self.held = self.schema.empty_table()
        self.subjects: NDArray[np.int32] = np.empty(0, np.int32)
        self.last = -1
        self.ended = False

    def fill(self, rows: int) -> None:
        """Reads on until `rows` rows are held, or the table ends."""
        while not self.ended and len(self.subjects) < rows:
            batch = next(self.batches, None)
            if batch is None:
                self.ended = True
                self.file.close()
                self.progress.say()
            elif batch.num_rows:
                self.progress.advance(batch.num_rows, beside=batch.num_rows * self.megabytes)
                self._check(batch)
                table = pa.Table.from_batches([batch]).select(self.schema.names)
                self.held = pa.concat_tables([self.held, table]) if len(self.subjects) else table
                self.subjects = np.concatenate([self.subjects, batch["subject"].to_numpy()])

    def last_subject(self) -> int:
        return int(self.subjects[-1])

    def begins_at_or_after(self, subject: int) -> bool:
        return not len(self.subjects) or int(self.subjects[0]) >= subject

    def before(self, subject: int) -> pa.Table:
        """Gives away the rows of smaller subjects."""
        return self._give(int(np.searchsorted(self.subjects, subject)))

    def rest(self) -> pa.Table:
        return self._give(len(self.subjects))

    def _give(self, rows: int) -> pa.Table:
        # A copy where batches meet, so that a column is one array and what was given away can be freed.
        given = self.held.slice(0, rows).combine_chunks()
        self.held, self.subjects = self.held.slice(rows).combine_chunks(), self.subjects[rows:].copy()
        return given

    def _check(self, batch: pa.RecordBatch) -> None:
        subjects = batch["subject"].to_numpy()
        places = place(subjects, batch["position"].to_numpy()) if self.positions else subjects
        disorder = np.less_equal if self.positions else np.less
        if bool(disorder(places[0], self.last) or disorder(places[1:], places[:-1]).any()):
            by = "subject and position" if self.positions else "subject"
            raise InputError(f"{self.path}: not sorted by {by}; make it again")
        self.last = int(places[-1])


def _opened(path: Path, columns: Sequence[str], few: Sequence[str] = ()) -> tuple[pq.ParquetFile, pa.Schema]:
    """A table, and the schema of some of its columns, as what may lack values; InputError if it has not all.

    `few`: columns that are read as dictionaries.
    """
    file = pq.ParquetFile(path, pre_buffer=False, read_dictionary=list(few))
    missing = [name for name in columns if name not in file.schema_arrow.names]
    if missing:
        raise InputError(f"{path}: has no column {missing[0]!r}; make it again")
    return file, pa.schema([file.schema_arrow.field(name).with_nullable(True) for name in columns])


class Lookup:
    """Rows of a table by their numbers; what is asked for later must not stand before what was asked for.

    `few`: columns of texts of which there are few different ones.
    """

    def __init__(self, path: Path, columns: Sequence[str], few: Sequence[str] = ()) -> None:
        self.path, self.columns = path, list(columns)
        self.file, self.schema = _opened(path, columns, few)
        sizes = [self.file.metadata.row_group(group).num_rows for group in range(self.file.num_row_groups)]
        self.ends = np.cumsum(sizes, dtype=np.int64)
        self.batches: Iterator[pa.RecordBatch] = iter(())
        self.group = -1
        self.held: list[tuple[int, pa.RecordBatch]] = []
        """Batches that may be needed still, with the number of their first row."""
        self.read = 0
        """Number of the first row that has not been read or passed over."""

    def take(self, rows: Lines, columns: Sequence[str] | None = None) -> pa.Table:
        """The rows of these numbers, in their order; where a number is negative, nulls.

        `columns`: some of the table's, if not all are wanted. What `few` names comes as dictionaries. Raises
        InputError if the table has not so many rows.
        """
        schema = pa.schema([self.schema.field(name) for name in columns or self.columns])
        present = rows >= 0
        if not present.any():
            return pa.table([pa.nulls(len(rows), field.type) for field in schema], schema=schema)
        first, end = int(rows[present].min()), int(rows.max()) + 1
        if end > self.file.metadata.num_rows:
            raise InputError(f"{self.path}: has no row {end - 1}; make the table that refers to it again")
        self._read(first, end)
        # What is asked for ascends but for the rows of a subject, so that it lies in few pieces of batches.
        starts = np.array([start for start, _ in self.held])
        batches = np.searchsorted(starts, np.where(present, rows, first), side="right") - 1
        # A null goes with what stands before it.
        batches = batches[np.maximum.accumulate(np.where(present, np.arange(len(rows)), 0))]
        edges = np.flatnonzero(np.diff(batches, prepend=-1))
        pieces = []
        for begin, until in zip(edges, [*edges[1:], len(rows)], strict=True):
            start, batch = self.held[batches[begin]]
            numbers = pa.array(rows[begin:until] - start, mask=~present[begin:until])
            piece = batch.select(schema.names).take(numbers)
            pieces.append(pa.RecordBatch.from_arrays(piece.columns, schema=schema))
        return pa.Table.from_batches(pieces)

    def _read(self, first: int, end: int) -> None:
        """Lets go of what stands before `first`, and reads on to `end`; row groups between are left out."""
        self.held = [(start, batch) for start, batch in self.held if start + batch.num_rows > first]
        if self.group >= 0 and self.ends[self.group] <= first:
            self.batches = iter(())
        while self.read < end:
            batch = next(self.batches, None)
            if batch is None:
                self.read = max(first, self.read)
                self.group = int(np.searchsorted(self.ends, self.read, side="right"))
                self.read = int(self.ends[self.group - 1]) if self.group else 0
                self.batches = self.file.iter_batches(
                    BATCH, row_groups=[self.group], columns=self.columns, use_threads=False
                )
                continue
            if self.read + batch.num_rows > first:
                self.held.append((self.read, batch))
            self.read += batch.num_rows


def place(subjects: NDArray[np.integer], places: NDArray[np.integer]) -> NDArray[np.int64]:
    """Subject and position (or relation) as one number that sorts alike."""
    return (subjects.astype(np.int64) << 32) + places.astype(np.int64)
