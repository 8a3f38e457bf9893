"""Writes the stream: the datasets of all consecutive pairs of dates, one after the other, linked."""

from collections.abc import Iterator, Sequence
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.tables import database, sql, write_parquet
from factdrift.streams.chains import CHAINS

STREAM = schema_of(
    CHAINS.field("interval"),
    "old_date new_date chain: string",
    *(CHAINS.field(name) for name in CHAINS.names if name not in ("interval", "subject", "property")),
)
"""What the stream has beside the columns of a pair's dataset."""

_ROWS = 2_000
"""Rows that are held at once: those of a dataset are some kilobytes each."""


def assemble(datasets: Sequence[Path], chains: Sequence[Path], dates: Sequence[str], output: Path) -> int:
    """Writes the rows of the pairs' datasets in their order, with STREAM's columns; returns their number.

    `chains`: the tables of all buckets. Raises InputError that names the dataset if the two were not made of
    the same updates.
    """
    with database() as db:
        db.execute(f"CREATE TEMP VIEW chains AS SELECT * FROM read_parquet({sql(chains)})")
        schema = pa.schema([*pq.read_schema(datasets[0]).remove_metadata(), *STREAM])
        batches = (
            batch.cast(schema)
            for interval, dataset in enumerate(datasets, start=1)
            for batch in _interval(db, interval, dataset, dates)
        )
        return write_parquet(pa.RecordBatchReader.from_batches(schema, batches), output)


def _interval(db: Connection, interval: int, dataset: Path, dates: Sequence[str]) -> Iterator[pa.RecordBatch]:
    constants = {"old_date": sql(dates[interval - 1]), "new_date": sql(dates[interval]), "chain": "chain"}
    columns = ", ".join(f"{constants.get(name, 'c.' + name)} AS {name}" for name in STREAM.names)
    # A row for each of the dataset's, in its order.
    links = db.sql(
        f"""SELECT {columns} FROM (
            SELECT subject.id || '-' || relation.id AS chain, row_number() OVER () AS place
            FROM read_parquet({sql(dataset)})
        ) d FULL JOIN (
            SELECT *, 'Q' || subject || '-P' || property AS chain FROM chains WHERE interval = {int(interval)}
        ) c USING (chain) ORDER BY place"""
    ).to_arrow_table()
    file = pq.ParquetFile(dataset)
    wrong = InputError(
        f"{dataset}: its updates are not those of the chains of interval {interval}, "
        f"{dates[interval - 1]} to {dates[interval]}; make both again from the same tables"
    )
    if links.num_rows != file.metadata.num_rows or links.column("link").null_count:
        raise wrong
    start = 0
    for batch in file.iter_batches(_ROWS):
        own = links.slice(start, batch.num_rows).combine_chunks()
        start += batch.num_rows
        objects = pc.list_value_length(batch.column("objects"))
        if not objects.equals(pc.list_value_length(own.column("changes").combine_chunks())):
            raise wrong
        arrays = [*batch.columns, *(own.column(name).combine_chunks() for name in STREAM.names)]
        yield pa.RecordBatch.from_arrays(arrays, names=[*batch.schema.names, *STREAM.names])
