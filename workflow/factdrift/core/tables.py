"""Tables on disk: Parquet that is written atomically, the DuckDB connection, and tab-separated files.

A file appears under its final name only when it is complete. Its bytes depend on the rows alone: no
timestamps, no random order of rows, the same writer settings for all tables.
"""

from __future__ import annotations

import contextlib
import re
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from importlib.abc import MetaPathFinder
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.core.owned import WRITER, atomic_path, scratch
from factdrift.core.progress import Progress

if TYPE_CHECKING:
    import duckdb

ROW_GROUP = 131_072
_WRITER = {"compression": "zstd", "compression_level": 3, "version": "2.6", "use_dictionary": True}


class _NoPandas(MetaPathFinder):
    def find_spec(self, fullname: str, path: Any, target: Any = None) -> None:
        if fullname == "pandas":
            raise ModuleNotFoundError("not needed here", name=fullname)


def spare_pandas() -> None:
    """Makes pyarrow's first conversion of Python values, at which it imports pandas, fail to find it.

    A job that does not use pandas is spared a fifth of a second or more. A later `import pandas`, and
    `to_pandas`, work; pyarrow takes a Series for any sequence from then on.
    """
    if "pandas" not in sys.modules:
        sys.meta_path.insert(0, _NoPandas())
        try:
            pa.array([None])
        finally:
            del sys.meta_path[0]


if "factdrift.cli" in sys.modules:  # a command, and not a program that uses the package and may use pandas
    spare_pandas()


@contextlib.contextmanager
def parquet_writer(
    path: str | Path, schema: pa.Schema, steps: Sequence[str] = (), **changes: Any
) -> Iterator[pq.ParquetWriter]:
    """A Parquet writer whose file gets its name only if the block succeeds.

    `steps` names columns of numbers that are stored as differences, which for mostly ascending numbers takes
    a seventh of the space and a third of the time; the schema must then not be nested. `changes` to the
    shared settings are for tables that are read far more often than others, or only once.
    """
    options = _WRITER | changes
    if steps:
        options["use_dictionary"] = [name for name in schema.names if name not in steps]
        options["column_encoding"] = dict.fromkeys(steps, "DELTA_BINARY_PACKED")
    with atomic_path(path) as temporary, pq.ParquetWriter(temporary, schema, **options) as writer:
        yield writer


@contextlib.contextmanager
def growing(
    path: str | Path, schema: pa.Schema, steps: Sequence[str] = (), **changes: Any
) -> Iterator[Callable[[pa.RecordBatch], None]]:
    """A function that adds batches of rows to a table, whose file gets its name if the block succeeds.

    Row groups have ROW_GROUP rows however the rows are batched, so the bytes depend on the rows only.
    `steps`, `changes`: see `parquet_writer`.
    """
    rows = in_group = 0
    waiting: list[pa.RecordBatch] = []
    with parquet_writer(path, schema, steps, **changes) as writer:

        def add(batch: pa.RecordBatch) -> None:
            nonlocal rows, in_group
            rows += batch.num_rows
            while in_group + batch.num_rows >= ROW_GROUP:
                waiting.append(batch.slice(0, ROW_GROUP - in_group))
                batch = batch.slice(ROW_GROUP - in_group)
                writer.write_table(_whole(waiting, schema), row_group_size=ROW_GROUP)
                in_group = 0
            if batch.num_rows:
                waiting.append(batch)
                in_group += batch.num_rows

        yield add
        if in_group or not rows:
            writer.write_table(_whole(waiting, schema), row_group_size=ROW_GROUP)


def write_parquet(
    table: pa.Table | pa.RecordBatchReader, path: str | Path, steps: Sequence[str] = (), **changes: Any
) -> int:
    """Writes a table, or a stream of batches, atomically; returns the number of rows.

    `steps`, `changes`: see `parquet_writer`; for the rows see `growing`.
    """
    rows = 0
    progress = Progress(f"writing {Path(*Path(path).parts[-2:])}")
    with growing(path, table.schema, steps, **changes) as add:
        for batch in table.to_batches() if isinstance(table, pa.Table) else table:
            rows += batch.num_rows
            progress.advance(batch.num_rows)
            add(batch)
    progress.beside, progress.done_beside = "MB", Path(path).stat().st_size / 1e6
    if not Path(path).with_name(WRITER).exists():  # in a folder of `scratch`: nobody will see the table
        progress.say()
    return rows


def write_rows(rows: Iterable[Mapping[str, Any]], schema: pa.Schema, path: str | Path) -> int:
    """Writes rows, column -> value, as a table of a schema; returns their number."""
    return write_parquet(pa.Table.from_pylist(list(rows), schema=schema), path)


def _whole(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The batches as a table with one chunk per column; empties the list, which frees the batches early."""
    pieces = [[batch.column(position) for batch in batches] for position in range(len(schema))]
    batches.clear()
    columns: list[pa.Array] = []
    while pieces:
        parts = pieces.pop(0)
        columns.append(pa.concat_arrays(parts) if parts else pa.array([], schema.field(len(columns)).type))
    return pa.table(columns, schema=schema)


def table_of(rows: Sequence[Sequence[Any]], schema: pa.Schema) -> pa.Table:
    """Rows of values, each in the order of the schema, as a table."""
    columns = zip(*rows, strict=True) if rows else ([] for _ in schema)
    arrays = [pa.array([*column], field.type) for column, field in zip(columns, schema, strict=True)]
    return pa.table(arrays, schema=schema)


@contextlib.contextmanager
def database(memory_mb: int = 1000, threads: int = 1) -> Iterator[duckdb.DuckDBPyConnection]:
    """An in-memory DuckDB that spills to a folder of its own under TMPDIR above `memory_mb` megabytes.

    The process takes some 400 MB more: Python, the rows that are being written, what DuckDB does not count.
    """
    import duckdb  # which takes as long as many jobs that read and write tables without it

    with scratch() as spill:
        connection = duckdb.connect(
            config={"memory_limit": f"{memory_mb}MB", "threads": threads, "temp_directory": str(spill)}
        )
        try:
            # In a Jupyter kernel without ipywidgets the setting is off, and DuckDB refuses to set it at all.
            if connection.execute("SELECT current_setting('enable_progress_bar')").fetchall() != [(False,)]:
                connection.execute("SET enable_progress_bar = false")
            yield connection
        finally:
            connection.close()


def register_stream(db: duckdb.DuckDBPyConnection, name: str, rows: pa.RecordBatchReader) -> None:
    """Registers rows that can be read once, of which a batch at a time is in memory.

    From then on the right side of each join is held in memory, as it is written. DuckDB would choose the
    stream, whose length it does not know and takes for one row: all statements of a bucket.
    """
    db.execute("SET disabled_optimizers = 'join_order,build_side_probe_side'")
    db.register(name, rows)


def fetched(rows: duckdb.DuckDBPyConnection) -> Iterator[tuple[Any, ...]]:
    """Yields the rows of a query that has been executed, a part of them in memory at a time."""
    while part := rows.fetchmany(10_000):
        yield from part


def records(path: Path, columns: list[str] | None = None) -> Iterator[dict[str, Any]]:
    """Yields the rows of a Parquet file with these columns or all, a part of them in memory at a time."""
    with pq.ParquetFile(path) as file:
        for batch in file.iter_batches(1024, columns=columns):
            yield from batch.to_pylist()


def check_columns(path: Path, columns: Iterable[str], then: str) -> None:
    """Raises InputError if a file is no Parquet file or lacks a column; `then` ends its message."""
    try:
        names = pq.read_schema(path).names
    except pa.ArrowInvalid as error:
        raise InputError(f"{path}: no Parquet file: {error}{then}") from None
    if lacking := [column for column in columns if column not in names]:
        raise InputError(f"{path}: no column {', '.join(lacking)}{then}")


def write_query(connection: duckdb.DuckDBPyConnection, query: str, path: str | Path) -> int:
    """Writes the rows of a query in its order, atomically; returns their number."""
    return write_parquet(connection.sql(query).to_arrow_reader(ROW_GROUP), path)


def as_written(connection: duckdb.DuckDBPyConnection, schema: pa.Schema) -> pa.Schema:
    """The schema with DuckDB's names of the fields inside lists, as in the tables that it writes."""
    written: pa.Schema = connection.from_arrow(schema.empty_table()).to_arrow_reader().schema
    return written


def write_tables(
    connection: duckdb.DuckDBPyConnection,
    tables: Iterator[pa.Table],
    schema: pa.Schema,
    path: str | Path,
    steps: Sequence[str] = (),
    **changes: Any,
) -> int:
    """Writes the rows of the tables in their order, atomically, as `write_query` would; returns their number.

    `steps`, `changes`: see `parquet_writer`.
    """
    schema = as_written(connection, schema)
    batches = (batch for table in tables for batch in table.cast(schema).to_batches())
    return write_parquet(pa.RecordBatchReader.from_batches(schema, batches), path, steps, **changes)


def sql(value: str | Path | int | Sequence[str] | Sequence[Path] | Sequence[int]) -> str:
    """A value as an SQL literal: text and paths quoted, sequences as typed lists (empty ones work too).

    A path is as a function that reads files takes it.
    """
    if isinstance(value, int):
        return str(value)
    if isinstance(value, Path):
        value = only_file(value)
    if isinstance(value, str):
        return "'" + value.replace("'", "''") + "'"
    kind = "INTEGER[]" if all(isinstance(item, int) for item in value) else "VARCHAR[]"
    return "[" + ", ".join(sql(item) for item in value) + "]::" + kind


def only_file(path: Path) -> str:
    """The pattern by which DuckDB finds this file, and not others whose names the path fits as a pattern."""
    return re.sub(r"([*?[])", r"[\1]", str(path))


def rows_of(path: Path, header: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every row of a tab-separated UTF-8 file without quoting.

    Raises InputError if the file cannot be read, its first line is not `header`, or a row has too many or
    few fields.
    """
    try:
        lines = utf8_lines(path)
    except OSError as error:
        fault = "no such file" if isinstance(error, FileNotFoundError) else error.strerror
        raise InputError(f"{path}: {fault}; give the path of a table of {', '.join(header)}") from None
    if not lines or lines[0].split("\t") != list(header):
        raise InputError(f"{path}, line 1: the header must be {' '.join(header)}, separated by tabs")
    for number, line in enumerate(lines[1:], start=2):
        fields = line.split("\t")
        if len(fields) != len(header):
            raise InputError(
                f"{path}, line {number}: {len(fields)} fields instead of {len(header)};"
                f" separate {', '.join(header)} by tabs"
            )
        yield number, fields
