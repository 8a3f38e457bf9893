"""The store of answers: STORE/answers.sqlite, with a row for each request that was answered or given up.

Each answer is a transaction of its own, written when it arrives. SQLite's log does not wait for the disk: a
killed process loses nothing that is stored, a power failure perhaps the last seconds, and neither damages the
rest. Only one process at a time can open the store for asking.

A second table keeps what a try costs. Before a try is sent, its row holds the most that it can cost; when
the answer arrives, what it has cost; if the server refuses, the row is removed. So a later run knows what was
spent on tries that timed out, whose answer had no `usage`, or that were under way when a run was killed.
"""

from __future__ import annotations

import contextlib
import datetime
import itertools
import sqlite3
from collections.abc import Collection, Iterable, Iterator, Sequence
from pathlib import Path

import pyarrow as pa

from factdrift.chat.replies import Reply
from factdrift.chat.requests import Request, distinct_requests
from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.tables import parquet_writer

ANSWERS = schema_of(
    "request key status content refusal finish_reason model: string",
    "prompt_tokens completion_tokens: int64, error: string",
)
"""One row per request, in the order of the requests: `key` is the SHA-256 of model and body; `status` is
`answered` or `failed`; `model` is the version that the server names. A row that failed has the `error` of the
last try, and null in all columns from `content` to `completion_tokens`."""

ANSWERED, FAILED = "answered", "failed"

_ROW_GROUP = 4096
"""Rows in a row group; fewer than usual, because they are texts of thousands of characters."""
_AT_ONCE = 512

_COPIED = ("key", "requested_model", "body", "fingerprint", *ANSWERS.names[2:])
"""The columns that a published copy has; times and numbers of tries are left out of it."""
_COLUMNS = (*_COPIED, "response", "asked", "tries")
_CREATE = f"""
CREATE TABLE IF NOT EXISTS answers ({", ".join(_COLUMNS)}, PRIMARY KEY (key)) WITHOUT ROWID
"""
# An answer is never replaced, a failure always.
_KEEP = f"""
INSERT INTO answers ({", ".join(_COLUMNS)}) VALUES ({", ".join(f":{name}" for name in _COLUMNS)})
ON CONFLICT (key) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])}
WHERE answers.status = '{FAILED}'
"""
_CREATE_CHARGES = """
CREATE TABLE IF NOT EXISTS charges (
    key TEXT, attempt TEXT, prompt_tokens INTEGER, completion_tokens INTEGER, PRIMARY KEY (key, attempt)
) WITHOUT ROWID
"""
_CHARGE = """
INSERT OR REPLACE INTO charges (key, attempt, prompt_tokens, completion_tokens) VALUES (?, ?, ?, ?)
"""


Charge = tuple[str, str, int, int]
"""What a try to get an answer has cost, or may have cost at most: the request's key, a name that no two tries
of a request share, tokens of prompt and answer."""


class Store:
    """A context manager. `reading` opens an existing store, which others may read too, and writes nothing."""

    def __init__(self, folder: Path, reading: bool = False) -> None:
        """Raises InputError if there is no store, it cannot be read, or another process is asking with it."""
        self.folder, self.path = folder, folder / "answers.sqlite"
        if reading and not self.path.is_file():
            raise InputError(
                f"{folder}: there is no store of answers; copy one to it, or ask with chat.mode live"
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
            try:
                if not reading:
                    self._open()
            except BaseException:
                self._connection.close()
                raise

    def _open(self) -> None:
        execute = self._connection.execute
        tables = {row["name"] for row in execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        columns = {row["name"] for row in execute("PRAGMA table_info(answers)")}
        if tables and (tables - {"answers", "charges"} or not columns.issuperset(_COLUMNS)):
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

    def rows(self, keys: Iterable[str], columns: Sequence[str] = _COPIED) -> dict[str, Row]:
        """The stored rows of these keys, by key; keys without a row are left out."""
        wanted = list(dict.fromkeys(keys))
        marks = ", ".join("?" * len(wanted))
        with self._errors():
            rows = self._connection.execute(f"SELECT * FROM answers WHERE key IN ({marks})", wanted)
            return {row["key"]: {name: row[name] for name in ("key", *columns)} for row in rows}

    def answered(self, keys: Iterable[str]) -> set[str]:
        """The keys that have an answer."""
        return {key for key, row in self.rows(keys, ["status"]).items() if row["status"] == ANSWERED}

    def pending(self, requests: Path, model: str) -> Iterator[Request]:
        """The requests of a table without an answer, in its order, equal bodies once."""
        for batch in distinct_requests(requests, model):
            answered = self.answered(request.key for request in batch)
            yield from (request for request in batch if request.key not in answered)

    def keep(self, request: Request, model: str, reply: Reply, tries: int, *charges: Charge) -> None:
        """Stores an answer and its cost; an answer that is there already is not replaced."""
        row = _row(request, model, tries) | {"status": ANSWERED} | reply._asdict()
        self.keep_all([row], charges)

    def fail(self, request: Request, model: str, error: str, tries: int) -> None:
        """Records that a request was given up, unless it has an answer."""
        self.keep_all([_row(request, model, tries) | {"status": FAILED, "error": error}])

    def keep_all(self, rows: Iterable[Row], charges: Iterable[Charge] = ()) -> None:
        """Stores rows, in which columns may be missing, and charges, in place of the same tries', at once."""
        empty: Row = dict.fromkeys(_COLUMNS)
        with self._errors(), self._connection:
            self._connection.executemany(_KEEP, (empty | row for row in rows))
            self._connection.executemany(_CHARGE, charges)

    def refund(self, request: Request, attempt: str) -> None:
        """Removes the cost of a try that was not charged."""
        query = "DELETE FROM charges WHERE key = ? AND attempt = ?"
        with self._errors(), self._connection:
            self._connection.execute(query, (request.key, attempt))

    def charged(self, keys: Iterable[str]) -> tuple[int, int]:
        """Tokens of prompts and of answers that were paid for these keys, answered or not."""
        wanted = list(dict.fromkeys(keys))
        query = f"""
            SELECT coalesce(sum(prompt_tokens), 0), coalesce(sum(completion_tokens), 0) FROM charges
            WHERE key IN ({", ".join("?" * len(wanted))})
        """
        with self._errors():
            return tuple(self._connection.execute(query, wanted).fetchone())

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


def copy_store(folder: Path, keys: Collection[str], output: Path) -> None:
    """Makes a store of the rows of some keys in the folder `output`, as it is published.

    Equal answers make equal files. Raises InputError if the store in `folder` lacks a key.
    """
    wanted, copied = sorted(keys), 0
    with Store(folder, reading=True) as store, Store(output) as copy:
        for start in range(0, len(wanted), _AT_ONCE):
            rows = store.rows(wanted[start : start + _AT_ONCE])
            copy.keep_all(rows.values())
            copied += len(rows)
    if copied < len(wanted):
        raise InputError(
            f"{folder}: lacks {len(wanted) - copied:,} of {len(wanted):,} answers; ask for them again"
        )


def _row(request: Request, model: str, tries: int) -> Row:
    """What rows of answers and of failures have in common."""
    asked = datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
    row: Row = {"key": request.key, "requested_model": model, "body": request.text}
    return row | {"asked": asked, "tries": tries}
