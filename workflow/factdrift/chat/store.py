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
import sqlite3
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, Literal, NamedTuple

from factdrift.chat.replies import Reply
from factdrift.chat.requests import Request
from factdrift.chat.tables import STORED
from factdrift.core.errors import InputError

ANSWERED, FAILED = "answered", "failed"
Source = Literal["live", "batch", "import"]
Row = dict[str, Any]

_FORM = 2
_OWN = ("response", "source", "asked", "tries")
"""Columns that are not exported."""
_COLUMNS = (*STORED.names, *_OWN)
_CREATE = f"""
CREATE TABLE IF NOT EXISTS answers (
    {
    ", ".join(
        f"{name} {'INTEGER' if name in ('prompt_tokens', 'completion_tokens', 'tries') else 'TEXT'}"
        for name in _COLUMNS
    )
},
    PRIMARY KEY (key)
) WITHOUT ROWID
"""
# An answer is never replaced, a failure always.
_PUT = f"""
INSERT INTO answers ({", ".join(_COLUMNS)}) VALUES ({", ".join(f":{name}" for name in _COLUMNS)})
ON CONFLICT (key) DO UPDATE SET {", ".join(f"{name} = excluded.{name}" for name in _COLUMNS[1:])}
WHERE answers.status = '{FAILED}'
"""


_CREATE_CHARGES = """
CREATE TABLE IF NOT EXISTS charges (
    key TEXT, attempt TEXT, source TEXT, prompt_tokens INTEGER, completion_tokens INTEGER,
    PRIMARY KEY (key, attempt)
) WITHOUT ROWID
"""
_CHARGE = "INSERT OR REPLACE INTO charges VALUES (?, ?, ?, ?, ?)"


class Charge(NamedTuple):
    """What one try to get an answer has cost, or may have cost at most, in tokens."""

    key: str
    attempt: str
    """A name that no two tries of a request share."""
    source: Source
    prompt_tokens: int
    completion_tokens: int


class Usage(NamedTuple):
    """Totals of the answers of one model: their number, bytes of the requests' bodies, tokens."""

    answers: int
    size: int
    prompt_tokens: int
    completion_tokens: int


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
                uri, uri=True, isolation_level=None, timeout=30 if reading else 0
            )
            self._connection.row_factory = sqlite3.Row
            try:
                self._open()
            except BaseException:
                self._connection.close()
                raise

    def _open(self) -> None:
        execute = self._connection.execute
        if not self.reading:
            execute("PRAGMA locking_mode = EXCLUSIVE")
            execute("PRAGMA journal_mode = WAL")
            execute("PRAGMA synchronous = NORMAL")
        form = execute("PRAGMA user_version").fetchone()[0]
        if form not in (0, _FORM):
            raise InputError(
                f"{self.path}: is a store of form {form}, and this version of factdrift reads form {_FORM}"
            )
        if not self.reading:
            with self._transaction():
                execute(_CREATE)
                execute(_CREATE_CHARGES)
                execute(f"PRAGMA user_version = {_FORM}")

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
        query = f"SELECT {', '.join(('key', *columns))} FROM answers WHERE key IN ({marks})"
        with self._errors():
            return {row["key"]: dict(row) for row in self._connection.execute(query, wanted)}

    def answered(self, keys: Iterable[str]) -> set[str]:
        """The keys that have an answer."""
        return {key for key, row in self.rows(keys, ["status"]).items() if row["status"] == ANSWERED}

    def put(
        self,
        request: Request,
        model: str,
        reply: Reply,
        source: Source,
        tries: int,
        charge: Charge | None = None,
    ) -> None:
        """Stores an answer and its cost; an answer that is there already is not replaced."""
        charges = [] if charge is None else [charge]
        self.put_all([answer_row(request, model, reply, source, tries)], charges)

    def fail(self, request: Request, model: str, error: str, source: Source, tries: int) -> None:
        """Records that a request was given up, unless it has an answer."""
        row: Row = dict.fromkeys(_COLUMNS)
        row.update(key=request.key, requested_model=model, body=request.text, status=FAILED, error=error)
        self.put_all([row | {"source": source, "asked": _now(), "tries": tries}])

    def put_all(self, rows: Iterable[Row], charges: Iterable[Charge] = ()) -> None:
        """Stores rows and charges in one transaction; columns may be missing."""
        empty: Row = dict.fromkeys(_COLUMNS)
        with self._errors(), self._transaction():
            self._connection.executemany(_PUT, (empty | row for row in rows))
            self._connection.executemany(_CHARGE, charges)

    def charge(self, charge: Charge) -> None:
        """Stores the cost of a try, in place of what was stored for the same try."""
        self.put_all([], [charge])

    def refund(self, charge: Charge) -> None:
        """Removes the cost of a try that was not charged."""
        with self._errors():
            self._connection.execute(
                "DELETE FROM charges WHERE key = ? AND attempt = ?", (charge.key, charge.attempt)
            )

    def charged(self, keys: Iterable[str]) -> dict[str, tuple[int, int]]:
        """Tokens paid for these keys, answered or not: source -> (of prompts, of answers)."""
        wanted = list(dict.fromkeys(keys))
        query = f"""
            SELECT source, sum(prompt_tokens), sum(completion_tokens) FROM charges
            WHERE key IN ({", ".join("?" * len(wanted))}) GROUP BY source
        """
        with self._errors():
            return {
                source: (prompts, answers)
                for source, prompts, answers in self._connection.execute(query, wanted)
            }

    def usage(self, model: str) -> Usage:
        """Totals of the answers of a model, as named in the requests, that have counts of tokens."""
        query = """
            SELECT count(*), coalesce(sum(length(CAST(body AS BLOB))), 0), coalesce(sum(prompt_tokens), 0),
                coalesce(sum(completion_tokens), 0)
            FROM answers WHERE requested_model = ? AND prompt_tokens > 0 AND completion_tokens IS NOT NULL
        """
        with self._errors():
            return Usage(*self._connection.execute(query, [model]).fetchone())

    def exported(self) -> Iterator[Row]:
        """All rows in the order of their keys, with the columns of STORED."""
        with self._errors():
            for row in self._connection.execute(
                f"SELECT {', '.join(STORED.names)} FROM answers ORDER BY key"
            ):
                yield dict(row)

    @contextlib.contextmanager
    def _transaction(self) -> Iterator[None]:
        self._connection.execute("BEGIN IMMEDIATE")
        try:
            yield
            self._connection.execute("COMMIT")
        except BaseException:
            with contextlib.suppress(sqlite3.Error):
                self._connection.execute("ROLLBACK")
            raise

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


def answer_row(request: Request, model: str, reply: Reply, source: Source, tries: int) -> Row:
    """An answer as a row of the store."""
    return {
        "key": request.key,
        "requested_model": model,
        "body": request.text,
        "status": ANSWERED,
        **reply._asdict(),
        "source": source,
        "asked": _now(),
        "tries": tries,
    }


def _now() -> str:
    return datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")
