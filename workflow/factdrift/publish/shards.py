"""Parquet shards of a table, by split."""

from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.tables import write_parquet
from factdrift.publish.datasets import Config

SHARD = 50_000
"""Rows of a shard: some 20 MB of WikiFactDiff, 250 MB while it is written."""


def write_splits(
    config: Config, sources: dict[str, Path], folder: Path, shard: int = SHARD
) -> dict[str, int]:
    """Writes `FOLDER/SPLIT-00000-of-00001.parquet` and so on, rows in their order; returns split -> rows.

    `sources`: product -> file; splits whose product is not among them are left out. A split without rows
    has no shard: `datasets` cannot load one that is empty. Raises InputError if a row has another split.
    """
    counts: dict[str, int] = {}
    schema: pa.Schema | None = None
    for split, product in config.files.items():
        if (source := sources.get(product)) is None:
            continue
        with pq.ParquetFile(source) as file:
            if schema is not None and not file.schema_arrow.equals(schema):
                raise InputError(f"{source}: has other columns than the other splits; build them together")
            schema = file.schema_arrow
        for name in config.splits if split == "*" else [split]:
            counts[name] = _write(source, name if split == "*" else None, folder, name, shard)
        if split == "*" and sum(counts.values()) != pq.read_metadata(source).num_rows:
            raise InputError(f"{source}: has splits other than {', '.join(config.splits)}; build it again")
    return counts


def _write(source: Path, wanted: str | None, folder: Path, name: str, shard: int) -> int:
    rows = _count(source, wanted)
    number = -(-rows // shard)
    with pq.ParquetFile(source) as file:
        held = file.schema_arrow.empty_table()
        batches = _batches(file, wanted)
        for place in range(number):
            size = min(shard, rows - place * shard)
            while held.num_rows < size:
                held = pa.concat_tables([held, pa.Table.from_batches([next(batches)])])
            # One chunk per column, so that the bytes do not depend on how the product's rows are grouped.
            write_parquet(
                held.slice(0, size).combine_chunks(), folder / f"{name}-{place:05}-of-{number:05}.parquet"
            )
            held = held.slice(size)
    return rows


def _batches(file: pq.ParquetFile, wanted: str | None) -> Iterator[pa.RecordBatch]:
    for batch in file.iter_batches(8192):
        yield batch if wanted is None else batch.filter(pc.equal(batch.column("split"), wanted))


def _count(source: Path, wanted: str | None) -> int:
    if wanted is None:
        rows: int = pq.read_metadata(source).num_rows
        return rows
    column = pq.read_table(source, columns=["split"]).column("split")
    count: int = pc.sum(pc.equal(column, wanted)).as_py() or 0
    return count
