"""The store of answers: STORE/answers.sqlite, with one row for each request that was answered or given up.

Each answer is a transaction of its own, written when it arrives. SQLite's log does not wait for the disk: a
killed process loses nothing that is stored, a power failure perhaps the last seconds, and neither damages the
rest. Only one process at a time can open the store for asking.

A second table keeps what each try costs. Before a try is sent, its row holds the most that it can cost; when
the answer arrives, what it has cost; if the server refuses, the row is removed. So a later run knows what was
spent on tries that timed out, whose answer had no `usage`, or that were under way when a run was killed.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import sqlite3
from collections.abc import Iterable, Iterator, Sequence, Set
from pathlib import Path
from typing import Literal

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.chat.replies import Reply, is_answer
from factdrift.chat.requests import Request, distinct_requests, key_of
from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.tables import parquet_writer

_SAID = "status content refusal finish_reason model: string"
_TOKENS = "prompt_tokens completion_tokens: int64, error: string"

ANSWERS = schema_of("request key: string", _SAID, _TOKENS)
"""One row per request, in the order of the requests: `key` is the SHA-256 of model and body; `status` is
`answered` or `failed`; `model` is the version that the server names. A row that failed has the `error` of the
last try, and null in all columns from `content` to `completion_tokens`."""

STORED = schema_of("key requested_model body: string", _SAID, "fingerprint: string", _TOKENS)
"""One row per request in the store, in the order of `key`, the SHA-256 of `requested_model` and `body`. Times
and numbers of tries are left out, so that equal answers make equal files. The other columns are as in
ANSWERS."""

ANSWERED, FAILED = "answered", "failed"
Source = Literal["live", "batch", "import"]

_ROW_GROUP = 4096
"""Rows in a row group; fewer than usual, because they are texts of thousands of characters."""
_AT_ONCE = 512

_COLUMNS = (*STORED.names, "response", "source", "asked", "tries")
"""The last four are not exported."""
_CREATE = f"""
CREATE TABLE IF NOT EXISTS answers ({", ".join(_COLUMNS)}, PRIMARY KEY (key)) WITHOUT ROWID
"""
# An answer is never replaced, a failure always, also one that was once taken for an answer.
_PUT = f"""
INSERT INTO answers ({", ".join(_COLUMNS)}) VALUES ({", ".join(f":{name}" for name in _COLUMNS)})
ON CONFLICT (key) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])}
WHERE answers.status = '{FAILED}' OR NOT is_answer(answers.finish_reason, answers.response)
"""
_CREATE_CHARGES = """
CREATE TABLE IF NOT EXISTS charges (
    key TEXT, attempt TEXT, source TEXT, prompt_tokens INTEGER, completion_tokens INTEGER,
    PRIMARY KEY (key, attempt)
) WITHOUT ROWID
"""


Charge = tuple[str, str, Source, int, int]
"""What a try to get an answer has cost, or may have cost at most: the request's key, a name that no two tries
of a request share, where the answer comes from, tokens of prompt and answer."""


class Store:
    """A context manager. `reading` opens an existing store, which others may read too, and writes nothing."""

    def __init__(self, folder: Path, reading: bool = False) -> None:
        """Raises InputError if there is no store, it cannot be read, or another process is asking with it."""
        self.folder, self.path = folder, folder / "answers.sqlite"
        if reading and not self.path.is_file():
            raise InputError(
                f"{folder}: there is no store of answers; import one, or ask with chat.mode live or batch"
            )
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise InputError(f"{folder}: cannot be the folder of a store: {error}") from error
        self.reading = reading
        with self._errors():
            uri = f"{self.path.resolve().as_uri()}{'?mode=ro' if reading else ''}"
            self._connection = sqlite3.connect(
                uri, uri=True, isolation_level="IMMEDIATE", timeout=30 if reading else 0
            )
            self._connection.row_factory = sqlite3.Row
            self._connection.create_function("is_answer", 2, is_answer, deterministic=True)
            try:
                if not reading:
                    self._open()
            except BaseException:
                self._connection.close()
                raise

    def _open(self) -> None:
        execute = self._connection.execute
        tables = {row["name"] for row in execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        columns = [row["name"] for row in execute("PRAGMA table_info(answers)")]
        if tables and (tables - {"answers", "charges"} or columns != [*_COLUMNS]):
            raise InputError(f"{self.path}: is not a store of answers; name another folder")
        execute("PRAGMA locking_mode = EXCLUSIVE")
        execute("PRAGMA journal_mode = WAL")
        execute("PRAGMA synchronous = NORMAL")
        execute("BEGIN IMMEDIATE")
        execute(_CREATE)
        execute(_CREATE_CHARGES)
        self._connection.commit()

    def __enter__(self) -> Store:
        return self

    def __exit__(self, *_: object) -> None:
        with contextlib.suppress(sqlite3.Error):
            if not self.reading:
                # Leaves one file without a log, which can be copied, and read from a read-only folder.
                self._connection.execute("PRAGMA journal_mode = DELETE")
        self._connection.close()

    def rows(self, keys: Iterable[str], columns: Sequence[str] = STORED.names) -> dict[str, Row]:
        """The stored rows of these keys, by key; keys without a row are left out."""
        wanted = list(dict.fromkeys(keys))
        marks = ", ".join("?" * len(wanted))
        with self._errors():
            rows = self._connection.execute(f"SELECT * FROM answers WHERE key IN ({marks})", wanted)
            return {row["key"]: _read(row, ("key", *columns)) for row in rows}

    def answered(self, keys: Iterable[str]) -> set[str]:
        """The keys that have an answer."""
        return {key for key, row in self.rows(keys, ["status"]).items() if row["status"] == ANSWERED}

    def pending(self, requests: Path, model: str) -> Iterator[Request]:
        """The requests of a table without an answer, in its order, each body once."""
        for batch in distinct_requests(requests, model):
            answered = self.answered(request.key for request in batch)
            yield from (request for request in batch if request.key not in answered)

    def put(
        self, request: Request, model: str, reply: Reply, source: Source, tries: int, *charges: Charge
    ) -> None:
        """Stores an answer and its cost; an answer that is there already is not replaced."""
        row = _row(request, model, source, tries) | {"status": ANSWERED} | reply._asdict()
        self.put_all([row], charges)

    def fail(self, request: Request, model: str, error: str, source: Source, tries: int) -> None:
        """Records that a request was given up, unless it has an answer."""
        self.put_all([_row(request, model, source, tries) | {"status": FAILED, "error": error}])

    def put_all(self, rows: Iterable[Row], charges: Iterable[Charge] = ()) -> None:
        """Stores rows, in which columns may be missing, and charges, in place of the same tries', at once."""
        empty: Row = dict.fromkeys(_COLUMNS)
        with self._errors(), self._connection:
            self._connection.executemany(_PUT, (empty | row for row in rows))
            self._connection.executemany("INSERT OR REPLACE INTO charges VALUES (?, ?, ?, ?, ?)", charges)

    def refund(self, request: Request, attempt: str) -> None:
        """Removes the cost of a try that was not charged."""
        with self._errors(), self._connection:
            self._connection.execute(
                "DELETE FROM charges WHERE key = ? AND attempt = ?", (request.key, attempt)
            )

    def charged(self, keys: Iterable[str]) -> list[tuple[str, int, int]]:
        """Tokens paid for these keys, answered or not: source, of prompts, of answers."""
        wanted = list(dict.fromkeys(keys))
        query = f"""
            SELECT source, sum(prompt_tokens), sum(completion_tokens) FROM charges
            WHERE key IN ({", ".join("?" * len(wanted))}) GROUP BY source
        """
        with self._errors():
            return [tuple(row) for row in self._connection.execute(query, wanted)]

    def usage(self, model: str) -> tuple[int, int, int, int]:
        """Totals of the answers of a model, as named in the requests, that have counts of tokens.

        Number of answers, bytes of the requests' bodies, tokens of prompts and of answers.
        """
        query = """
            SELECT count(*), coalesce(sum(length(CAST(body AS BLOB))), 0), coalesce(sum(prompt_tokens), 0),
                coalesce(sum(completion_tokens), 0)
            FROM answers WHERE requested_model = ? AND prompt_tokens > 0 AND completion_tokens IS NOT NULL
        """
        with self._errors():
            return tuple(self._connection.execute(query, [model]).fetchone())

    def exported(self) -> Iterator[Row]:
        """All rows in the order of their keys, with the columns of STORED."""
        with self._errors():
            for row in self._connection.execute("SELECT * FROM answers ORDER BY key"):
                yield _read(row, STORED.names)

    @contextlib.contextmanager
    def _errors(self) -> Iterator[None]:
        try:
            yield
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED):
                raise InputError(
                    f"{self.path}: another process is asking with this store; wait for it"
                ) from None
            raise InputError(f"{self.path}: {error}; what was stored before is kept") from error
        except sqlite3.DatabaseError as error:
            raise InputError(f"{self.path}: is not a store of answers, or damaged: {error}") from error


def write_rows(rows: Iterable[Row], schema: pa.Schema, path: Path) -> int:
    """Writes rows to a Parquet file that appears only when it is complete; returns their number."""
    count, left = 0, iter(rows)
    with parquet_writer(path, schema) as writer:
        while group := list(itertools.islice(left, _ROW_GROUP)):
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
        rows = (row for row in store.exported() if keys is None or row["key"] in keys)
        written = write_rows(rows, STORED, output)
    if keys is not None and written < len(keys):
        raise InputError(
            f"{folder}: lacks {len(keys) - written:,} of {len(keys):,} answers; ask for them again"
        )
    return written


def import_store(table: Path, folder: Path) -> tuple[int, int]:
    """Adds the rows of a STORED table to a store; returns how many were read and how many were new.

    Raises InputError, and leaves the store as it was, if the file is not such a table, a key does not belong
    to its row, or an answer differs from the one in the store. A stored failure is replaced by an answer.
    """
    read = new = 0
    with Store(folder) as store:

        def fresh() -> Iterator[Row]:
            nonlocal read, new
            for rows in _exported(table):
                kept = store.rows(row["key"] for row in rows)
                read += len(rows)
                for row in rows:
                    there = kept.get(row["key"])
                    if there is None or (there["status"] == FAILED and row["status"] == ANSWERED):
                        new += 1
                        yield row | {"source": "import"}
                    elif row["status"] == ANSWERED and row != there:
                        different = ", ".join(name for name in STORED.names if row[name] != there[name])
                        raise InputError(
                            f"{table}: the answer {row['key']} differs from the one in {folder} "
                            f"({different}); nothing was imported. Import into an empty store, or remove one"
                        )

        store.put_all(fresh())
    return read, new


def _exported(path: Path) -> Iterator[list[Row]]:
    """The rows of a STORED table, some hundreds at a time; raises InputError if it is none, or damaged."""
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
                whole = row["requested_model"] is not None and row["body"] is not None
                if (
                    not whole
                    or row["key"] != key_of(row["requested_model"], row["body"])
                    or row["status"] not in (ANSWERED, FAILED)
                ):
                    raise InputError(
                        f"{path}: the row {row['key']} is damaged: its key does not belong to its model "
                        "and body"
                    )
                if row["key"] <= last:
                    raise InputError(f"{path}: the row {row['key']} occurs twice or is out of order")
                last = row["key"]
            yield rows


def _read(row: sqlite3.Row, columns: Sequence[str]) -> Row:
    """Columns of a stored row, of which one that was stored as an answer and is a failure has failed."""
    failed = row["status"] == ANSWERED and not is_answer(row["finish_reason"], row["response"])
    whole: Row = dict(row)
    if failed:
        error = f"the server failed over this answer, which ended with {row['finish_reason']!r}"
        kept = ("key", "requested_model", "body")
        whole = {name: row[name] if name in kept else None for name in whole}
        whole |= {"status": FAILED, "error": error}
    return {name: whole[name] for name in columns}


def _row(request: Request, model: str, source: Source, tries: int) -> Row:
    """What rows of answers and of failures have in common."""
    asked = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    row: Row = {"key": request.key, "requested_model": model, "body": request.text}
    return row | {"source": source, "asked": asked, "tries": tries}
