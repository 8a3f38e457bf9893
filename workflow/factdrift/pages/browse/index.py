"""The index of a build: names to search as one types, and the updates of every subject, relation and class.

One SQLite file with a full-text table (FTS5), made once for a build. It is in the user's cache folder, since
results may be read-only. Names are numbered by kind and falling popularity, so a search that wants the most
popular names reads the first matches only, however short the text.
"""

import contextlib
import errno
import hashlib
import itertools
import os
import sqlite3
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path, file_lock
from factdrift.core.paths import cache_folder
from factdrift.core.progress import Progress
from factdrift.core.tables import ROW_GROUP, database, sql
from factdrift.pages import DAY
from factdrift.pages.browse.build import CLASSES, PROPERTIES, SIDES, Build, parquet_files
from factdrift.pages.browse.search import CLASS, RELATION, SUBJECT, folded_hash, opened, spellings

VERSION = 6
"""Of the tables below; an index of another version is made again."""

KEPT = 300
"""Characters of a label or a description that the index keeps; pages show fewer."""

OFFICIAL = (1448, 1705, 1813)
"""Official name, native label and short name: names of a subject, by which it is found as by its aliases."""

_TABLES = """
CREATE TABLE explorer_index (state TEXT);
CREATE TABLE kinds (kind INTEGER PRIMARY KEY, first INTEGER, last INTEGER);
CREATE TABLE names (
    place INTEGER PRIMARY KEY, id INTEGER, label TEXT, description TEXT, symbol TEXT, popularity REAL,
    updates INTEGER, classes TEXT, kind INTEGER, aliases TEXT);
CREATE TABLE spellings (folded INTEGER, place INTEGER, PRIMARY KEY (folded, place)) WITHOUT ROWID;
CREATE VIRTUAL TABLE words USING fts5(
    text, content='', detail=none, columnsize=0, prefix='1 2 3', tokenize='unicode61 remove_diacritics 2');
CREATE TABLE updates (
    place INTEGER PRIMARY KEY, subject INTEGER, relation INTEGER, scenario TEXT, day TEXT,
    record TEXT);
CREATE TABLE instances (class INTEGER, place INTEGER, PRIMARY KEY (class, place)) WITHOUT ROWID;
CREATE TABLE objects (object INTEGER, place INTEGER, PRIMARY KEY (object, place)) WITHOUT ROWID;
"""

_INDEXES = """
CREATE UNIQUE INDEX names_by_id ON names (id);
CREATE INDEX updates_by_subject ON updates (subject, relation);
CREATE INDEX updates_by_relation ON updates (relation, place);
CREATE INDEX updates_by_scenario ON updates (scenario, place);
"""


def index_of(build: Build, path: Path | None = None) -> Path:
    """The index of a build, made if there is none or if the tables have changed since.

    `path`: its file; None is one in the user's cache folder, named by the build's folder. Raises InputError
    if the file at `path` is no index.
    """
    if path is not None and _state(path) is None:
        raise InputError(
            f"--index {path}: is not an index of the explorer, so it is not replaced; name another file"
        )
    name = hashlib.sha256(os.fsencode(build.pair)).hexdigest()[:16]
    path = path or cache_folder() / f"browse-{build.pair.name}-{name}.sqlite"
    state = f"{VERSION} {build.version()}"

    def waiting() -> None:
        print(f"{path}: another command makes the index; waiting for it", file=sys.stderr)

    with file_lock(path.with_name(path.name + ".lock"), waiting):
        if _state(path) != state:
            make_index(build, path, state)
    return path


def _state(path: Path) -> str | None:
    """Of what version, and from which state of a build, an index was made.

    Empty if there is none, or an empty file; None if the file is something else.
    """
    if not os.path.lexists(path) or (path.is_file() and not path.stat().st_size):
        return ""
    with contextlib.suppress(sqlite3.DatabaseError), contextlib.closing(opened(path)) as db:
        return str(db.execute("SELECT state FROM explorer_index").fetchone()[0])
    return None


def make_index(build: Build, path: Path, state: str) -> None:
    """Writes the index; its progress goes to standard error."""
    with (
        atomic_path(path) as temporary,
        database(2000) as tables,
        contextlib.closing(sqlite3.connect(temporary)) as db,
    ):
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000;")
        db.executescript(_TABLES)
        try:
            _add_updates(build, tables, db)
            _add_names(build, tables, db)
            _add_instances(db)
            print("index: sorting", file=sys.stderr)
            db.executescript(_INDEXES)
            db.execute("INSERT INTO words(words) VALUES ('optimize')")
            db.execute("INSERT INTO explorer_index VALUES (?)", (state,))
            db.commit()
        except sqlite3.OperationalError as error:
            # SQLite's error of a full disk names no file.
            if error.sqlite_errorcode != sqlite3.SQLITE_FULL:
                raise
            raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path)) from error


def _add_updates(build: Build, tables: duckdb.DuckDBPyConnection, db: sqlite3.Connection) -> None:
    """Every update without its neighbours, numbered in the order of the dataset; long texts are cut."""
    progress = Progress("index: updates", pq.read_metadata(build.dataset).num_rows, "updates")
    rows = tables.sql(
        f"""SELECT file_row_number, substr(subject.id, 2)::INTEGER, substr(relation.id, 2)::INTEGER, scenario,
            {DAY},
            to_json({{'prompt': update_prompt[:{KEPT}],
                'others': list_transform(generalization_prompts, lambda text: text[:{KEPT}]),
                'split': split, 'source': template_source,
                'objects': list_transform(objects, lambda o: {{'id': o.id, 'label': o.label[:{KEPT}],
                    'decision': o.decision, 'rule': o.rule, 'announced': o.announced,
                    'start': o.start, 'end': o."end", 'point_in_time': o.point_in_time,
                    'old_statement': o.old_statement, 'new_statement': o.new_statement,
                    'old_revision': o.old_revision, 'new_revision': o.new_revision}})}})
        FROM read_parquet({sql(build.dataset)}, file_row_number = true)"""
    )
    for batch in _batches(rows):
        db.executemany("INSERT INTO updates VALUES (?, ?, ?, ?, ?, ?)", batch)
        progress.advance(len(batch))
    progress.say()
    db.execute(
        """INSERT OR IGNORE INTO objects SELECT substr(json_extract(o.value, '$.id'), 2), u.place
        FROM updates u, json_each(u.record, '$.objects') o WHERE json_extract(o.value, '$.id') LIKE 'Q%'"""
    )
    tables.execute(
        f"""CREATE TEMP TABLE counts AS SELECT id, count(*)::INTEGER AS updates FROM (
            SELECT unnest([substr(subject.id, 2)::INTEGER, -substr(relation.id, 2)::INTEGER]) AS id
            FROM read_parquet({sql(build.dataset)})) GROUP BY id"""
    )


def _add_names(build: Build, tables: duckdb.DuckDBPyConnection, db: sqlite3.Connection) -> None:
    """Every entity of either dump that has a label, the new dump's label first; properties are negative."""
    classes = [build.snapshot(side, CLASSES) for side in SIDES]
    tables.execute(f"CREATE TEMP TABLE class_ids AS SELECT DISTINCT id FROM read_parquet({sql(classes)})")
    popularity = build.table("popularity.parquet")
    views = (
        f"SELECT id, popularity FROM read_parquet({sql(popularity)})"
        if popularity
        else "SELECT NULL::INTEGER AS id, NULL::DOUBLE AS popularity WHERE false"
    )
    columns = "id, label, description, aliases, symbol, classes, sitelinks"
    new, old = (
        f"""(SELECT {columns} FROM read_parquet({sql(parquet_files(build.snapshot(side, "entities")))})
            WHERE label IS NOT NULL
        UNION ALL SELECT -id, label, description, aliases, NULL, NULL, 0
            FROM read_parquet({sql(build.snapshot(side, PROPERTIES))}) WHERE label IS NOT NULL)"""
        for side in ("new", "old")
    )
    # `zxx` is no language: flags and other signs.
    statements = [path for side in SIDES for path in parquet_files(build.filtered(side))]
    official = f"""(SELECT subject AS id,
            list_sort(list(DISTINCT json_extract_string(json, '$.text'))) AS names
        FROM read_parquet({sql(statements)})
        WHERE property IN {OFFICIAL} AND datatype = 'monolingualtext' AND snak = 'value'
            AND NOT starts_with(key, 'zxx:')
        GROUP BY subject)"""
    files = [*parquet_files(build.snapshot("new", "entities")), build.snapshot("new", PROPERTIES)]
    total = sum(pq.read_metadata(path).num_rows for path in files)
    progress = Progress("index: names", total, "names")
    progress.say("reading and sorting the entities")
    # Sorted without a window function, which would hold all labels in memory.
    ordered = tables.sql(
        f"""SELECT id, label[:{KEPT}], description[:{KEPT}], symbol,
            coalesce(popularity, ln(1 + sitelinks)) AS weight, coalesce(updates, 0) AS updates,
            to_json(classes[:50])::VARCHAR,
            CASE WHEN id < 0 THEN {RELATION} WHEN k.id IS NULL THEN {SUBJECT} ELSE {CLASS} END AS kind,
            array_to_string(list_concat(aliases[:8], o.names[:8]), '\n')[:{KEPT}]
        FROM ({new} UNION ALL SELECT * FROM {old} ANTI JOIN {new} AS known USING (id)) AS held
            LEFT JOIN class_ids k USING (id) LEFT JOIN ({views}) p USING (id) LEFT JOIN counts c USING (id)
            LEFT JOIN {official} o USING (id)
        ORDER BY kind, CASE WHEN kind = {RELATION} THEN -updates ELSE -weight END, abs(id)"""
    )
    numbers = itertools.count(1)
    for batch in _batches(ordered):
        numbered = list(zip(numbers, batch, strict=False))
        db.executemany(
            "INSERT INTO names VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((number, *row) for number, row in numbered),
        )
        db.executemany(
            "INSERT OR IGNORE INTO spellings VALUES (?, ?)",
            ((folded_hash(text), number) for number, row in numbered for text in spellings(row[1], row[8])),
        )
        db.executemany(
            "INSERT INTO words(rowid, text) VALUES (?, ?)",
            ((number, f"{row[1]} {row[8]}" if row[8] else row[1]) for number, row in numbered),
        )
        progress.advance(len(batch))
    progress.say()
    db.execute("INSERT INTO kinds SELECT kind, min(place), max(place) FROM names GROUP BY kind")


def _add_instances(db: sqlite3.Connection) -> None:
    """Which updates are of direct instances of a class."""
    db.execute("CREATE TEMP TABLE of_subject (id INTEGER PRIMARY KEY, classes TEXT)")
    db.execute("INSERT INTO of_subject SELECT id, classes FROM names WHERE updates > 0 AND id > 0")
    db.execute(
        """INSERT OR IGNORE INTO instances SELECT c.value, u.place
        FROM updates u JOIN of_subject s ON s.id = u.subject, json_each(s.classes) c"""
    )


def _batches(relation: duckdb.DuckDBPyRelation) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a query as tuples, a batch at a time."""
    for batch in relation.to_arrow_reader(ROW_GROUP // 4):
        yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))
