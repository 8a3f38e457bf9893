"""Exports a store as one Parquet file, and imports such a file."""

from __future__ import annotations

import itertools
from collections.abc import Iterable, Iterator, Set
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.chat.requests import canonical, key_of
from factdrift.chat.store import ANSWERED, FAILED, Row, Store
from factdrift.chat.tables import STORED
from factdrift.core.errors import InputError
from factdrift.core.tables import parquet_writer

_ROW_GROUP = 4096
"""Rows in a row group; fewer than usual, because they are texts of thousands of characters."""
_AT_ONCE = 512


def write_rows(rows: Iterable[Row], schema: pa.Schema, path: Path) -> int:
    """Writes rows to a Parquet file that appears only when it is complete; returns their number."""
    count, left = 0, iter(rows)
    with parquet_writer(path, schema) as writer:
        for group in iter(lambda: list(itertools.islice(left, _ROW_GROUP)), []):
            count += len(group)
            writer.write_table(pa.Table.from_pylist(group, schema), row_group_size=_ROW_GROUP)
        if not count:
            writer.write_table(schema.empty_table())
    return count


def export_store(folder: Path, output: Path, keys: Set[str] | None = None) -> int:
    """Writes a store, or its rows of some keys, as a STORED table; returns the number of rows.

    Raises InputError if the store lacks one of the keys.
    """
    with Store(folder, reading=True) as store:
        rows = store.exported()
        if keys is None:
            return write_rows(rows, STORED, output)
        written = write_rows((row for row in rows if row["key"] in keys), STORED, output)
    if written < len(keys):
        raise InputError(
            f"{folder}: lacks {len(keys) - written:,} of {len(keys):,} answers; ask for them again"
        )
    return written


def import_store(table: Path, folder: Path) -> tuple[int, int]:
    """Adds the rows of a STORED table to a store; returns how many were read and how many were new.

    Raises InputError, and leaves the store as it was, if the file is not such a table, a key does not belong
    to its row, or an answer differs from the one in the store.
    """
    read = new = 0
    with Store(folder) as store:

        def fresh() -> Iterator[Row]:
            nonlocal read, new
            for rows in _read(table):
                kept = store.rows(row["key"] for row in rows)
                read += len(rows)
                for row in rows:
                    there = kept.get(row["key"])
                    if there is None or (there["status"] == FAILED and row["status"] == ANSWERED):
                        new += 1
                        yield row | {"source": "import"}
                    else:
                        _check_equal(table, folder, row, there)

        store.put_all(fresh())
    return read, new


def _check_equal(table: Path, folder: Path, row: Row, there: Row) -> None:
    """Raises InputError if a request has another answer in the store; a stored failure does not matter."""
    if row["status"] == there["status"] == ANSWERED:
        different = [name for name in STORED.names if row[name] != there[name]]
        if different:
            raise InputError(
                f"{table}: the answer {row['key']} differs from the one in {folder} "
                f"({', '.join(different)}); nothing was imported. Import into an empty store, or remove one"
            )


def _read(path: Path) -> Iterator[list[Row]]:
    try:
        file = pq.ParquetFile(path)
    except (OSError, pa.ArrowInvalid) as error:
        raise InputError(f"{path}: cannot be read as an exported store: {error}") from error
    with file:
        if not file.schema_arrow.equals(STORED):
            raise InputError(f"{path}: is not an exported store; its columns are {file.schema_arrow.names}")
        last = ""
        for batch in file.iter_batches(_AT_ONCE):
            rows = batch.to_pylist()
            for row in rows:
                _check(path, row)
                if row["key"] <= last:
                    raise InputError(f"{path}: the row {row['key']} occurs twice or is out of order")
                last = row["key"]
            yield rows


def _check(path: Path, row: Row) -> None:
    try:
        good = row["key"] == key_of(row["requested_model"], row["body"]) and row["status"] in (
            ANSWERED,
            FAILED,
        )
        good = good and canonical(row["requested_model"]) != "null"
    except (TypeError, ValueError):
        good = False
    if not good:
        raise InputError(
            f"{path}: the row {row['key']} is damaged: its key does not belong to its model and body"
        )
