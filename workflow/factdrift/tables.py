"""Tables on disk: the schemas that several stages share, atomic writing, and the DuckDB connection.

A file appears under its final name only when it is complete. Its bytes depend on the rows alone: no
timestamps, no random order of rows, the same writer settings for all tables.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.errors import InputError
from factdrift.owned import atomic_path as atomic_path
from factdrift.owned import scratch
from factdrift.progress import Progress
from factdrift.text_files import utf8_lines
from factdrift.wikidata.ids import entity_number
from factdrift.wikidata.text import one_line
from factdrift.wikidata.time import YEAR

TIME = pa.struct(
    [
        ("year", pa.int64()),
        ("month", pa.int8()),
        ("day", pa.int8()),
        ("precision", pa.int8()),
        ("julian", pa.bool_()),
        ("written", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
    ]
)
"""`factdrift.wikidata.time.Time` as a column."""

ENTITIES = pa.schema(
    [
        ("id", pa.int32()),
        ("label", pa.string()),
        ("description", pa.string()),
        ("aliases", pa.list_(pa.string())),
        ("title", pa.string()),
        ("sitelinks", pa.int32()),
        ("revision", pa.int64()),
        ("modified", pa.string()),
        ("classes", pa.list_(pa.int32())),
        ("superclasses", pa.list_(pa.int32())),
        ("symbol", pa.string()),
        ("whole", pa.bool_()),
    ]
)
"""One row per item of a snapshot: `classes` are its P31, `superclasses` its P279, `title` its English
article; `whole`: its statements are in the statements table (configuration key `scope`)."""

TRANSLATIONS = pa.schema(
    [
        ("id", pa.int32()),
        ("language", pa.string()),
        ("label", pa.string()),
        ("description", pa.string()),
        ("aliases", pa.list_(pa.string())),
    ]
)
"""One row per entity of a snapshot and language other than English (configuration key `languages`) in which
it has any of the three terms; properties have negative ids. A missing term is filled from those for all
languages (`mul`)."""

PROPERTIES = pa.schema(
    [
        ("id", pa.int32()),
        ("label", pa.string()),
        ("description", pa.string()),
        ("aliases", pa.list_(pa.string())),
        ("datatype", pa.string()),
        ("revision", pa.int64()),
        ("classes", pa.list_(pa.int32())),
        ("single_value", pa.bool_()),
        ("separators", pa.list_(pa.int32())),
        ("examples", pa.list_(pa.struct([("subject", pa.int32()), ("value", pa.string())]))),
        ("inverses", pa.list_(pa.int32())),
    ]
)
"""One row per property of a snapshot; `id` is positive. `single_value`: it has a single-value or
single-best-value constraint; `separators`: their P4155, united. `examples`: its P1855, `value` the JSON of
the snak for the property itself. `inverses`: its P1696, positive."""

STATEMENTS = pa.schema(
    [
        ("subject", pa.int32()),
        ("property", pa.int32()),
        ("statement", pa.string()),
        ("position", pa.int32()),
        ("rank", pa.string()),
        ("snak", pa.string()),
        ("datatype", pa.string()),
        ("object", pa.int32()),
        ("key", pa.string()),
        ("json", pa.string()),
        ("time", TIME),
        ("start", TIME),
        ("start_unknown", pa.bool_()),
        ("end", TIME),
        ("end_unknown", pa.bool_()),
        ("pit", TIME),
        ("qualifiers", pa.list_(pa.int32())),
        ("revision", pa.int64()),
        ("starts", pa.list_(TIME)),
        ("ends", pa.list_(TIME)),
        ("pits", pa.list_(TIME)),
    ]
)
"""One row per statement of an item, of every rank and snak type. `object` is the entity number of an
entity value, else null; `key` the canonical value (identity in variants `paper` and `revised`), `json` the
datavalue's value as canonical JSON (identity in `reference`, source of what is shown; null for entities);
`time` the value itself where it is a date; `start`, `end`, `pit` from P580, P582, P585; `*_unknown` for
`somevalue`; `qualifiers` the distinct qualifier property ids, ascending; `revision` that of the subject;
`starts`, `ends`, `pits` all dates of P580, P582, P585 where there are several, else null."""

ROW_GROUP = 131_072
_WRITER = {"compression": "zstd", "compression_level": 3, "version": "2.6", "use_dictionary": True}


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
    rows = held = 0
    waiting: list[pa.RecordBatch] = []
    with parquet_writer(path, schema, steps, **changes) as writer:

        def add(batch: pa.RecordBatch) -> None:
            nonlocal rows, held
            rows += batch.num_rows
            while held + batch.num_rows >= ROW_GROUP:
                waiting.append(batch.slice(0, ROW_GROUP - held))
                batch = batch.slice(ROW_GROUP - held)
                writer.write_table(_whole(waiting, schema), row_group_size=ROW_GROUP)
                held = 0
            if batch.num_rows:
                waiting.append(batch)
                held += batch.num_rows

        yield add
        if held or not rows:
            writer.write_table(_whole(waiting, schema), row_group_size=ROW_GROUP)


def write_parquet(
    table: pa.Table | pa.RecordBatchReader, path: str | Path, steps: Sequence[str] = (), **changes: Any
) -> int:
    """Writes a table, or a stream of batches, atomically; returns the number of rows.

    `steps`, `changes`: see `parquet_writer`; for the rows see `growing`.
    """
    rows = 0
    progress = Progress(f"writing {Path(path).parent.name}/{Path(path).name}")
    with growing(path, table.schema, steps, **changes) as add:
        for batch in table.to_batches() if isinstance(table, pa.Table) else table:
            rows += batch.num_rows
            progress.advance(batch.num_rows)
            add(batch)
    progress.beside, progress.done_beside = "MB", Path(path).stat().st_size / 1e6
    progress.say()
    return rows


def _whole(batches: list[pa.RecordBatch], schema: pa.Schema) -> pa.Table:
    """The batches as a table with one chunk per column; empties the list, which frees the batches early."""
    pieces = [[batch.column(place) for batch in batches] for place in range(len(schema))]
    batches.clear()
    columns: list[pa.Array] = []
    while pieces:
        parts = pieces.pop(0)
        columns.append(pa.concat_arrays(parts) if parts else pa.array([], schema.field(len(columns)).type))
    return pa.table(columns, schema=schema)


@contextlib.contextmanager
def database(memory_mb: int = 1000, threads: int = 1) -> Iterator[duckdb.DuckDBPyConnection]:
    """An in-memory DuckDB that spills to a folder of its own under TMPDIR above `memory_mb` megabytes.

    The process takes some 400 MB more: Python, the rows that are being written, what DuckDB does not count.
    """
    with scratch() as spill:
        connection = duckdb.connect(
            config={"memory_limit": f"{memory_mb}MB", "threads": threads, "temp_directory": str(spill)}
        )
        try:
            connection.execute("SET enable_progress_bar = false")
            yield connection
        finally:
            connection.close()


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
    """A value as an SQL literal: text and paths quoted, sequences as typed lists (empty ones work too)."""
    if isinstance(value, int):
        return str(value)
    if isinstance(value, str | Path):
        return "'" + str(value).replace("'", "''") + "'"
    kind = "INTEGER[]" if all(isinstance(item, int) for item in value) else "VARCHAR[]"
    return "[" + ", ".join(sql(item) for item in value) + "]::" + kind


def time_bound(time: str, bound: str, variant: str, dates: str) -> str:
    """SQL: the `first` or `last` packed day (`bound`) of the TIME expression `time`, as BIGINT; null for
    null.

    The two differ only if `dates` is `interval`; else a date counts as its first day, in `reference` with all
    fields as written.
    """
    if dates == "interval":
        return f"{time}.{bound}"
    if variant == "reference":
        return f"{time}.written"
    # Below year precision the written year counts, and 1 January of it.
    return f"CASE WHEN {time}.precision >= {YEAR} THEN {time}.first ELSE {time}.year * 10000 + 101 END"


def supplied_labels(paths: Sequence[Path]) -> pa.Table:
    """The user's labels of entities that the dumps lack: columns `id` (properties negative) and `label`.

    `paths` are tab-separated UTF-8 tables with these columns and any others; the first label of an id counts,
    a blank one not.
    Raises InputError that names file and line.
    """
    labels: dict[int, str] = {}
    for path in paths:
        lines = utf8_lines(path)
        header = lines[0].split("\t") if lines else []
        if not {"id", "label"} <= set(header):
            raise InputError(f"{path}, line 1: columns id and label, separated by tabs, are needed")
        for number, line in enumerate(lines[1:], start=2):
            if not line:
                continue
            row = dict(zip(header, line.split("\t"), strict=False))
            entity = entity_number(row.get("id", ""))
            if entity is None:
                raise InputError(f"{path}, line {number}: {row.get('id', '')!r} is no id such as Q30 or P6")
            if (label := one_line(row.get("label", ""))).strip():
                labels.setdefault(entity, label)
    columns = {"id": list(labels), "label": list(labels.values())}
    return pa.table(columns, schema=pa.schema([("id", pa.int32()), ("label", pa.string())]))


def rows_of(path: Path, header: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every row of a tab-separated UTF-8 file without quoting.

    Raises InputError if the file is missing, its first line is not `header`, or a row has too many or few
    fields.
    """
    try:
        lines = utf8_lines(path)
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give the path of a table of {', '.join(header)}") from None
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
