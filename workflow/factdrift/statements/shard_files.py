"""The files of a shard: one Arrow file a table, in which each record batch has the rows of one bucket.

Batch n is of the bucket n modulo the number of buckets, so a bucket's job reads its own batches only. The
last batch is empty and carries what the table holds besides. A file a bucket would make hundreds of thousands
of a large build; in Parquet, each bucket's job would parse the descriptions of all row groups.
"""

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow as pa
import pyarrow.ipc as ipc

from factdrift.core.owned import atomic_path

_OPTIONS = ipc.IpcWriteOptions(compression=pa.Codec("zstd", 1))
"""The files are read once and then deleted, so they are compressed a little only."""


class Kind(NamedTuple):
    """A table that each shard has: the name of its file and its columns."""

    file: str
    schema: pa.Schema


class ShardTable:
    """A table of a shard that is being written; `about` is what its last batch carries."""

    def __init__(self, writer: ipc.RecordBatchFileWriter, schema: pa.Schema) -> None:
        self._writer, self._schema = writer, schema
        self.about: Mapping[str, str] = {}

    def write(self, buckets: Sequence[Sequence[pa.RecordBatch]]) -> None:
        """Adds the rows of all buckets, in their order: of each some batches, or none."""
        if any(buckets):
            for batches in buckets:
                self._writer.write_batch(pa.concat_batches(batches) if batches else self._empty())

    def end(self) -> None:
        self._writer.write_batch(self._empty(), custom_metadata=dict(self.about))

    def _empty(self) -> pa.RecordBatch:
        return pa.RecordBatch.from_arrays(
            [pa.array([], field.type) for field in self._schema], schema=self._schema
        )


@contextlib.contextmanager
def shard_table(folder: Path, kind: Kind) -> Iterator[ShardTable]:
    """A table of a shard's folder, whose file gets its name if the block succeeds."""
    with (
        atomic_path(folder / kind.file) as temporary,
        ipc.new_file(temporary, kind.schema, options=_OPTIONS) as writer,
    ):
        table = ShardTable(writer, kind.schema)
        yield table
        table.end()


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
