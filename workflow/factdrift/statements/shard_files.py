"""The files of a shard: one Arrow file a table, in which each record batch has the rows of one bucket.

Batch n is of the bucket n modulo the number of buckets, so a bucket's job reads its own batches only. The
last batch is empty and carries what the table holds besides. A file a bucket would make hundreds of thousands
of a large build; in Parquet, each bucket's job would parse the descriptions of all row groups.
"""

from collections.abc import Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.ipc as ipc

from factdrift.core.owned import atomic_path
from factdrift.core.tables import table_of

BUFFERED_ROWS = 65_536
"""Rows kept as Python objects before they are written."""

Row = tuple[Any, ...]
"""One row, its fields in the order of the table's schema."""

_OPTIONS = ipc.IpcWriteOptions(compression=pa.Codec("zstd", 1))
"""The files are read once and then deleted, so they are compressed a little only."""


class Kind(NamedTuple):
    """A table that each shard has: the name of its file and its columns."""

    file: str
    schema: pa.Schema


class ShardTable:
    """A table of a shard that is being written into a folder; the file gets its name when `files` ends."""

    def __init__(self, folder: Path, kind: Kind, buckets: int, files: ExitStack) -> None:
        self._schema, self._empty = kind.schema, pa.RecordBatch.from_pylist([], kind.schema)
        self._waiting: list[list[Row]] = [[] for _ in range(buckets)]
        self._rows = 0
        temporary = files.enter_context(atomic_path(folder / kind.file))
        self._writer = files.enter_context(ipc.new_file(temporary, kind.schema, options=_OPTIONS))

    def add(self, bucket: int, row: Row) -> None:
        """Adds a row, its fields in the order of the schema."""
        self._waiting[bucket].append(row)
        self._rows += 1
        if self._rows >= BUFFERED_ROWS:
            self._flush()

    def _flush(self) -> None:
        if self._rows:
            self.write([table_of(rows, self._schema).to_batches() if rows else [] for rows in self._waiting])
            self._waiting = [[] for _ in self._waiting]
            self._rows = 0

    def write(self, buckets: Sequence[Sequence[pa.RecordBatch]]) -> None:
        """Writes the rows of all buckets, in their order: of each some batches, or none."""
        if any(buckets):
            for batches in buckets:
                self._writer.write_batch(pa.concat_batches(batches) if batches else self._empty)

    def end(self, **about: str) -> None:
        """Writes what is left, and what the last batch carries."""
        self._flush()
        self._writer.write_batch(self._empty, custom_metadata=about)


def read_about(path: Path) -> dict[str, str]:
    """What the last batch of a table carries. Raises OSError or ValueError for what is no such file."""
    with pa.memory_map(str(path)) as source, ipc.open_file(source) as file:
        if not file.num_record_batches:
            raise ValueError("no batch")
        about = file.get_batch_with_custom_metadata(file.num_record_batches - 1)[1] or {}
        return {key.decode(): value.decode() for key, value in about.items()}


def read_bucket(
    folders: Sequence[Path], kind: Kind, bucket: int, buckets: int, columns: Sequence[str] = ()
) -> pa.RecordBatchReader:
    """The rows of a bucket in a table of all shards, in their order; of `columns` only, if any are named.

    They can be read once, and a batch is in memory at a time.
    """
    schema = kind.schema
    places = [place for place, name in enumerate(schema.names) if not columns or name in columns]
    options = ipc.IpcReadOptions(included_fields=places)

    def batches() -> Iterator[pa.RecordBatch]:
        for folder in folders:
            with (
                pa.memory_map(str(folder / kind.file)) as source,
                ipc.open_file(source, options=options) as file,
            ):
                for place in range(bucket, file.num_record_batches - 1, buckets):
                    yield file.get_batch(place)

    return pa.RecordBatchReader.from_batches(pa.schema([schema.field(place) for place in places]), batches())
