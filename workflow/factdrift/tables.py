"""Tables on disk: the schemas that several stages share, atomic writing, and the DuckDB connection.

Everything that is written appears under its final name only when it is complete. What is written is a
function of the rows alone: no timestamps, no row order left to chance, one writer setting for all.
"""

from __future__ import annotations

import contextlib
import csv
import errno
import os
import shutil
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.progress import Progress
from factdrift.runs.disk import is_full
from factdrift.settings import InputError
from factdrift.wikidata.ids import entity_number
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
"""One row an item of a snapshot: `classes` are its P31, `superclasses` its P279, `title` its English
article; `whole` tells that its statements are in the statements table (config key `scope`)."""

TRANSLATIONS = pa.schema(
    [
        ("id", pa.int32()),
        ("language", pa.string()),
        ("label", pa.string()),
        ("description", pa.string()),
        ("aliases", pa.list_(pa.string())),
    ]
)
"""One row an entity of a snapshot and language other than English (config key `languages`) in which it has
any of the three; properties have negative ids. What is lacking is taken from the terms for all languages."""

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
"""One row a property of a snapshot; `id` positive. `single_value`: it has a single-value or
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
    ]
)
"""One row a statement of an item, every rank and snak kind included. `object` is the entity number of an
entity value, else null; `key` the canonical value (identity in variants `paper` and `revised`), `json` the
datavalue's value as canonical JSON (identity in `reference`, source of what is shown; null for entities);
`time` the value itself where it is a date; `start`, `end`, `pit` from P580, P582, P585; `*_unknown` for
`somevalue`; `qualifiers` the distinct qualifier property ids, ascending; `revision` that of the subject;
`starts`, `ends` all dates of P580, P582 where there are several, else null."""

ROW_GROUP = 131_072
_WRITER = {"compression": "zstd", "compression_level": 3, "version": "2.6", "use_dictionary": True}


@contextlib.contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`, renamed to it when the block ends well, removed when it does not."""
    path = Path(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = path.with_name(f".{path.name}.{os.getpid()}.part")
    try:
        yield temporary
        temporary.replace(path)
    except OSError as error:
        if is_full(error) and not error.filename:  # files that are open do not name themselves
            raise OSError(errno.ENOSPC, "No space left on device", str(path)) from error
        raise
    finally:
        if temporary.is_dir():
            shutil.rmtree(temporary)
        else:
            temporary.unlink(missing_ok=True)


@contextlib.contextmanager
def parquet_writer(
    path: str | Path, schema: pa.Schema, steps: Sequence[str] = (), **changes: Any
) -> Iterator[pq.ParquetWriter]:
    """A Parquet writer whose file takes its name only when the block ends well.

    `steps` names columns of numbers that are stored as differences: for those that mostly ascend this takes
    a seventh of the space and a third of the time. The schema must not be nested then. `changes` to the
    settings that all tables share are for tables that are read far more often than others, or for a moment.
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
    """A function that adds rows to a table, which takes its name when the block ends well.

    Row groups hold ROW_GROUP rows however the rows were cut, so that the bytes depend on the rows only.
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
    """The batches as a table of one chunk a column; empties the list, to hold the rows twice only shortly."""
    pieces = [[batch.column(place) for batch in batches] for place in range(len(schema))]
    batches.clear()
    columns: list[pa.Array] = []
    while pieces:
        parts = pieces.pop(0)
        columns.append(pa.concat_arrays(parts) if parts else pa.array([], schema.field(len(columns)).type))
    return pa.table(columns, schema=schema)


@contextlib.contextmanager
def database(memory_mb: int = 1000, threads: int = 1) -> Iterator[duckdb.DuckDBPyConnection]:
    """An in-memory DuckDB that spills above `memory_mb` megabytes, to a folder of its own under TMPDIR.

    The process takes some 400 MB more: what is not counted, Python, and the rows on their way to a file.
    """
    with tempfile.TemporaryDirectory(prefix=f"factdrift-{os.getpid()}-") as spill:
        connection = duckdb.connect(
            config={"memory_limit": f"{memory_mb}MB", "threads": threads, "temp_directory": spill}
        )
        try:
            connection.execute("SET enable_progress_bar = false")
            yield connection
        finally:
            connection.close()


def write_query(connection: duckdb.DuckDBPyConnection, query: str, path: str | Path) -> int:
    """Writes the rows of a query, in the order that it states, atomically; returns their number."""
    return write_parquet(connection.sql(query).to_arrow_reader(ROW_GROUP), path)


def as_written(connection: duckdb.DuckDBPyConnection, schema: pa.Schema) -> pa.Schema:
    """The schema with the names inside of lists that DuckDB gives them, as in the tables that it writes."""
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
    """Writes the rows of tables, in turn and atomically, as `write_query` would; returns their number.

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
    """SQL: the `bound` (`first` or `last`) packed day of what the TIME expression `time` may mean, as BIGINT.

    Only where `dates` is `interval` the two differ; else a date is its first day, in `reference` with all
    fields as they are written. Null if `time` is null.
    """
    if dates == "interval":
        return f"{time}.{bound}"
    if variant == "reference":
        return f"{time}.written"
    # Below year precision the year stands as it was written; only its month and day are finer than stated.
    return f"CASE WHEN {time}.precision >= {YEAR} THEN {time}.first ELSE {time}.year * 10000 + 101 END"


def supplied_labels(paths: Sequence[Path]) -> pa.Table:
    """`id`, `label` of the user's tab-separated tables for entities that the dumps lack; properties negative.

    Any other column is passed over; of several labels the first file's first one counts. Raises InputError
    that names file and line.
    """
    labels: dict[int, str] = {}
    for path in paths:
        with path.open(encoding="utf-8", newline="") as file:
            rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
            if not {"id", "label"} <= set(rows.fieldnames or ()):
                raise InputError(f"{path}, line 1: columns id and label, separated by tabs, are needed")
            for line, row in enumerate(rows, start=2):
                number = entity_number(row["id"])
                if number is None:
                    raise InputError(f"{path}, line {line}: {row['id']!r} is no id such as Q30 or P6")
                if row["label"]:
                    labels.setdefault(number, row["label"])
    columns = {"id": list(labels), "label": list(labels.values())}
    return pa.table(columns, schema=pa.schema([("id", pa.int32()), ("label", pa.string())]))


def rows_of(path: Path, header: Sequence[str]) -> Iterator[tuple[int, list[str]]]:
    """Line number and fields of every row of a tab-separated UTF-8 file without quoting.

    Raises InputError if the file is missing, its first line is not `header`, or a row has too many or few
    fields.
    """
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise InputError(f"{path}: no such file; give the path of a table of {', '.join(header)}") from None
    except UnicodeDecodeError as error:
        raise InputError(f"{path}: not UTF-8 ({error}); convert it") from None
    lines = [line.removesuffix("\r") for line in lines]
    if lines[0].split("\t") != list(header):
        raise InputError(f"{path}, line 1: the header must be {' '.join(header)}, separated by tabs")
    for number, line in enumerate(lines[1:], start=2):
        if not line and number == len(lines):
            return
        fields = line.split("\t")
        if len(fields) != len(header):
            raise InputError(
                f"{path}, line {number}: {len(fields)} fields instead of {len(header)};"
                f" separate {', '.join(header)} by tabs"
            )
        yield number, fields
