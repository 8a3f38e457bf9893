"""The index of a build: names to search as one types, and the updates of every subject, relation and class.

One SQLite file with a full-text table (FTS5), made once for a build. It lies in the user's cache folder, since
results may be read-only. Names are numbered by kind and falling popularity, so a search that wants the most
popular names reads the first matches only, however short the text.
"""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import sqlite3
import sys
import unicodedata
import zlib
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import duckdb
import pyarrow as pa

from factdrift.browse.build import SIDES, Build, parquet_files
from factdrift.errors import InputError
from factdrift.nodes import file_lock
from factdrift.progress import Progress
from factdrift.tables import ROW_GROUP, atomic_path, database, sql

VERSION = 1
"""Of the tables below; an index of another version is made again."""

KEPT = 300
"""Characters of a label or a description that the index keeps; pages show fewer."""

RELATION, CLASS, SUBJECT = range(3)
"""Kinds of names, in the order of their numbers."""

_TABLES = """
CREATE TABLE meta (key TEXT PRIMARY KEY, value TEXT);
CREATE TABLE kinds (kind INTEGER PRIMARY KEY, first INTEGER, last INTEGER);
CREATE TABLE names (
    place INTEGER PRIMARY KEY, id INTEGER, label TEXT, description TEXT, symbol TEXT, whole INTEGER,
    popularity REAL, updates INTEGER, classes TEXT, folded INTEGER);
CREATE VIRTUAL TABLE words USING fts5(
    text, content='', detail=none, columnsize=0, prefix='1 2 3', tokenize='unicode61 remove_diacritics 2');
CREATE TABLE updates (
    place INTEGER PRIMARY KEY, subject INTEGER, relation INTEGER, scenario TEXT, record TEXT);
CREATE TABLE instances (class INTEGER, place INTEGER, PRIMARY KEY (class, place)) WITHOUT ROWID;
CREATE TABLE subclasses (class INTEGER, sub INTEGER, PRIMARY KEY (class, sub)) WITHOUT ROWID;
"""

_INDEXES = """
CREATE UNIQUE INDEX names_by_id ON names (id);
CREATE INDEX names_by_label ON names (folded);
CREATE INDEX updates_by_subject ON updates (subject, relation);
CREATE INDEX updates_by_relation ON updates (relation, place);
CREATE INDEX updates_by_scenario ON updates (scenario, place);
CREATE INDEX subclasses_by_sub ON subclasses (sub, class);
"""


def cache_folder() -> Path:
    """Where indexes lie: `$XDG_CACHE_HOME/factdrift`, else `~/.cache/factdrift`."""
    base = os.environ.get("XDG_CACHE_HOME")
    return (Path(base) if base else Path.home() / ".cache") / "factdrift"


def index_of(build: Build, path: Path | None = None, memory_mb: int = 2000) -> Path:
    """The index of a build, made if there is none or if the tables have changed since.

    `path`: its file; None is one in the cache folder, named by the build's folder.
    """
    name = hashlib.sha256(os.fsencode(build.pair)).hexdigest()[:16]
    path = path or cache_folder() / f"browse-{build.pair.name}-{name}.sqlite"
    state = build.state()

    def waiting() -> None:
        print(f"{path}: another command makes the index; waiting for it", file=sys.stderr)

    with file_lock(path.with_name(path.name + ".lock"), waiting):
        if _state(path) != state:
            make_index(build, path, state, memory_mb)
    return path


def _state(path: Path) -> str | None:
    """The state of the build from which an index was made; None for none, or of another version."""
    if not path.is_file():
        return None
    try:
        with contextlib.closing(sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro", uri=True)) as db:
            held = dict(db.execute("SELECT key, value FROM meta"))
    except sqlite3.DatabaseError:
        return None
    return held.get("state") if held.get("version") == str(VERSION) else None


def make_index(build: Build, path: Path, state: str, memory_mb: int) -> None:
    """Writes the index; its progress goes to standard error."""
    with (
        atomic_path(path) as temporary,
        database(memory_mb) as tables,
        contextlib.closing(sqlite3.connect(temporary)) as db,
    ):
        db.executescript("PRAGMA journal_mode = OFF; PRAGMA synchronous = OFF; PRAGMA cache_size = -200000;")
        db.executescript(_TABLES)
        _add_updates(build, tables, db)
        _add_names(build, tables, db)
        _add_classes(build, tables, db)
        print("index: sorting", file=sys.stderr)
        db.executescript(_INDEXES)
        db.execute("INSERT INTO words(words) VALUES ('optimize')")
        db.executemany("INSERT INTO meta VALUES (?, ?)", [("version", str(VERSION)), ("state", state)])
        db.commit()


def _add_updates(build: Build, tables: duckdb.DuckDBPyConnection, db: sqlite3.Connection) -> None:
    """Every update without its neighbours, numbered in the order of the dataset; an object's texts are cut."""
    progress = Progress("index: updates", _count(tables, [build.dataset]), "updates")
    found = tables.sql(
        f"""SELECT file_row_number, substr(subject.id, 2)::INTEGER, substr(relation.id, 2)::INTEGER, scenario,
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
    for batch in _batches(found):
        db.executemany("INSERT INTO updates VALUES (?, ?, ?, ?, ?)", batch)
        progress.advance(len(batch))
    progress.say()
    tables.execute("CREATE TEMP TABLE counts (id INTEGER, updates INTEGER)")
    counted = db.execute(
        "SELECT subject, count(*) FROM updates GROUP BY 1 UNION ALL SELECT -relation, count(*) FROM updates GROUP BY 1"
    ).fetchall()
    columns = {"id": [row[0] for row in counted], "updates": [row[1] for row in counted]}
    tables.register(
        "counted", pa.table(columns, schema=pa.schema([("id", pa.int32()), ("updates", pa.int32())]))
    )
    tables.execute("INSERT INTO counts FROM counted")


def _add_names(build: Build, tables: duckdb.DuckDBPyConnection, db: sqlite3.Connection) -> None:
    """Every entity of either dump that has a label, the new dump's label first; properties are negative."""
    tables.execute(f"CREATE TEMP TABLE class_ids AS {_union(build, 'id')}")
    popularity = build.table("popularity.parquet")
    views = (
        f"SELECT id, popularity FROM read_parquet({sql(popularity)})"
        if popularity
        else "SELECT NULL::INTEGER AS id, NULL::DOUBLE AS popularity WHERE false"
    )
    sides = [
        f"""(SELECT id, label, description, aliases, symbol, whole, classes, sitelinks
            FROM read_parquet({sql(parquet_files(build.entities(side)))})
        UNION ALL SELECT -id, label, description, aliases, NULL, true, NULL, 0
            FROM read_parquet({sql(build.properties(side))}))"""
        for side in ("new", "old")
    ]
    total = _count(tables, parquet_files(build.entities("new")) + [build.properties("new")])
    progress = Progress("index: names", total, "names")
    progress.say("reading and sorting the entities")
    found = tables.sql(
        f"""SELECT row_number() OVER ordered, id, label, description, symbol, whole, popularity, updates,
            to_json(classes[:50])::VARCHAR, kind, aliases
        FROM (SELECT id, coalesce(n.label, o.label)[:{KEPT}] AS label,
                coalesce(n.description, o.description)[:{KEPT}] AS description,
                coalesce(n.symbol, o.symbol) AS symbol,
                coalesce(n.whole, false) OR coalesce(o.whole, false) AS whole,
                coalesce(n.classes, o.classes) AS classes,
                coalesce(p.popularity, ln(1 + coalesce(n.sitelinks, o.sitelinks))) AS popularity,
                coalesce(c.updates, 0) AS updates,
                CASE WHEN id < 0 THEN {RELATION} WHEN k.id IS NULL THEN {SUBJECT} ELSE {CLASS} END AS kind,
                array_to_string(coalesce(n.aliases, o.aliases)[:8], ' ')[:{KEPT}] AS aliases
            FROM {sides[0]} n FULL JOIN {sides[1]} o USING (id) LEFT JOIN class_ids k USING (id)
                LEFT JOIN ({views}) p USING (id) LEFT JOIN counts c USING (id)
            WHERE coalesce(n.label, o.label) IS NOT NULL)
        WINDOW ordered AS (ORDER BY kind, CASE WHEN kind = {RELATION} THEN -updates ELSE -popularity END,
            abs(id))
        ORDER BY 1"""
    )
    kinds: dict[int, list[int]] = {}
    for batch in _batches(found):
        for place, *_, kind, _ in batch:
            kinds.setdefault(kind, [place, place])[1] = place
        db.executemany(
            "INSERT INTO names VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?)",
            ((*row[:9], folded_hash(row[2])) for row in batch),
        )
        db.executemany(
            "INSERT INTO words(rowid, text) VALUES (?, ?)",
            ((row[0], f"{row[2]} {row[-1]}" if row[-1] else row[2]) for row in batch),
        )
        progress.advance(len(batch))
    progress.say()
    db.executemany("INSERT INTO kinds VALUES (?, ?, ?)", [(kind, *ends) for kind, ends in kinds.items()])


def _add_classes(build: Build, tables: duckdb.DuckDBPyConnection, db: sqlite3.Connection) -> None:
    """Which updates are of direct instances of a class, and which classes are below a class."""
    db.execute("CREATE TEMP TABLE of_subject (id INTEGER PRIMARY KEY, classes TEXT)")
    db.execute("INSERT INTO of_subject SELECT id, classes FROM names WHERE updates > 0 AND id > 0")
    db.execute(
        """INSERT OR IGNORE INTO instances SELECT c.value, u.place
        FROM updates u JOIN of_subject s ON s.id = u.subject, json_each(s.classes) c"""
    )
    progress = Progress("index: classes", None, "subclasses")
    found = tables.sql(f"SELECT DISTINCT unnest(superclasses), id FROM ({_union(build, 'id, superclasses')})")
    for batch in _batches(found):
        db.executemany("INSERT OR IGNORE INTO subclasses VALUES (?, ?)", batch)
        progress.advance(len(batch))
    progress.say()


def _union(build: Build, columns: str) -> str:
    """SQL: rows of the classes of both dumps, each once; none where the tables have not been built."""
    paths = [build.classes(side) for side in SIDES if build.classes(side).is_file()]
    if not paths:
        return "SELECT NULL::INTEGER AS id, NULL::INTEGER[] AS superclasses WHERE false"
    return f"SELECT DISTINCT {columns} FROM read_parquet({sql(paths)})"


def _count(tables: duckdb.DuckDBPyConnection, paths: list[Path]) -> int:
    (number,) = tables.sql(
        f"SELECT sum(num_rows)::BIGINT FROM parquet_file_metadata({sql(paths)})"
    ).fetchall()[0]
    return int(number or 0)


def _batches(found: duckdb.DuckDBPyRelation) -> Iterator[list[tuple[Any, ...]]]:
    """The rows of a query as tuples, a batch at a time."""
    for batch in found.to_arrow_reader(ROW_GROUP // 4):
        yield list(zip(*(column.to_pylist() for column in batch.columns), strict=True))


def folded(text: str) -> str:
    """A label without case and accents, as the search compares it."""
    if text.isascii():
        return text.casefold()
    plain = unicodedata.normalize("NFKD", text.casefold())
    return "".join(char for char in plain if not unicodedata.combining(char))


def folded_hash(text: str) -> int:
    """32 bits of a folded label, by which the index finds labels that are exactly what was typed."""
    return zlib.crc32(folded(text).encode(errors="replace"))


class Index:
    """An open index; each thread needs one of its own."""

    def __init__(self, path: Path):
        self._db = sqlite3.connect(f"{path.resolve().as_uri()}?mode=ro&immutable=1", uri=True)
        self._db.row_factory = sqlite3.Row
        self._db.execute("PRAGMA mmap_size = 4000000000")
        self._kinds = {
            row["kind"]: (row["first"], row["last"]) for row in self._db.execute("SELECT * FROM kinds")
        }

    def close(self) -> None:
        self._db.close()

    def search(self, text: str, most: tuple[int, int, int] = (6, 6, 12)) -> dict[str, list[dict[str, Any]]]:
        """Names that hold every typed word, the last one as a beginning: `relations`, `classes`, `subjects`.

        An id (Q30, P6) is found as such, and a label that is exactly what was typed comes first; the others
        come by falling popularity. `most`: how many of each kind.
        """
        words = _words(text)
        found: dict[int, list[sqlite3.Row]] = {RELATION: [], CLASS: [], SUBJECT: []}
        if not words:
            return {name: [] for name in ("relations", "classes", "subjects")}
        exact = [row for row in self._exact(text)]
        query = " ".join(f'"{word}"' for word in words) + "*"
        for kind, limit in enumerate(most):
            first, last = self._kinds.get(kind, (1, 0))
            same = [row for row in exact if first <= row["place"] <= last]
            by_place = {row["place"]: row for row in (*same, *self._matching(query, first, last, limit))}
            found[kind] = list(by_place.values())[:limit]
        return {
            name: [dict(row) for row in found[kind]]
            for name, kind in (("relations", RELATION), ("classes", CLASS), ("subjects", SUBJECT))
        }

    def _matching(self, query: str, first: int, last: int, limit: int) -> list[sqlite3.Row]:
        try:
            return self._db.execute(
                "SELECT n.* FROM words JOIN names n ON n.place = words.rowid WHERE words MATCH ? "
                "AND words.rowid BETWEEN ? AND ? ORDER BY words.rowid LIMIT ?",
                (query, first, last, limit),
            ).fetchall()
        except sqlite3.OperationalError as error:
            # SQLite divides a word at a letter that is newer than its tables of Unicode; it then finds none.
            if "phrase queries are not supported" not in str(error):
                raise
            return []

    def _exact(self, text: str) -> Iterable[sqlite3.Row]:
        asked = text.strip()
        number = asked[1:]
        if asked[:1] in "QqPp" and number.isascii() and number.isdigit() and len(number) < 10:
            entity = int(number) if asked[0] in "Qq" else -int(number)
            yield from self._db.execute("SELECT * FROM names WHERE id = ?", (entity,))
        rows = self._db.execute(
            "SELECT * FROM names WHERE folded = ? ORDER BY place LIMIT 10", (folded_hash(asked),)
        )
        yield from (row for row in rows if folded(row["label"]) == folded(asked))

    def names(self, ids: Iterable[int]) -> dict[int, dict[str, Any]]:
        """Id (properties negative) -> its row of names; ids without a label are left out."""
        asked = list(dict.fromkeys(ids))
        found: dict[int, dict[str, Any]] = {}
        for start in range(0, len(asked), 500):
            some = asked[start : start + 500]
            marks = ",".join("?" * len(some))
            for row in self._db.execute(f"SELECT * FROM names WHERE id IN ({marks})", some):
                found[row["id"]] = dict(row)
        return found

    def updates_of(self, subjects: Iterable[int]) -> dict[int, dict[int, dict[str, Any]]]:
        """Subject -> relation -> update."""
        found: dict[int, dict[int, dict[str, Any]]] = {}
        for subject in subjects:
            for row in self._db.execute(
                "SELECT * FROM updates WHERE subject = ? ORDER BY relation", (subject,)
            ):
                found.setdefault(subject, {})[row["relation"]] = _update(row)
        return found

    def updates(
        self, first: int, number: int, relation: int | None = None, of: int | None = None, scenario: str = ""
    ) -> list[dict[str, Any]]:
        """Updates by falling popularity from number `first` on: all, of a relation, of the instances of a class."""
        joined, conditions, values = "", ["true"], []
        if of is not None:
            joined, values = "JOIN instances i ON i.place = u.place AND i.class = ?", [of]
        if relation is not None:
            conditions.append("relation = ?")
            values.append(relation)
        order = "i.place" if joined else "u.place"
        parts: list[Any] = list(values)
        if scenario:
            conditions.append("scenario = ?")
            parts.append(scenario)
        rows = self._db.execute(
            f"SELECT u.* FROM updates u {joined} WHERE {' AND '.join(conditions)} ORDER BY {order} LIMIT ? OFFSET ?",
            (*parts, number, first),
        )
        return [_update(row) for row in rows]

    def scenarios(self, relation: int | None = None, of: int | None = None) -> dict[str, int]:
        """Scenario -> number of updates, most first: of all, of a relation, or of the instances of a class."""
        query, values = "FROM updates", []
        if of is not None:
            query, values = "FROM instances i JOIN updates u ON u.place = i.place WHERE i.class = ?", [of]
        elif relation is not None:
            query, values = "FROM updates WHERE relation = ?", [relation]
        return dict(
            map(
                tuple,
                self._db.execute(f"SELECT scenario, count(*) {query} GROUP BY 1 ORDER BY 2 DESC, 1", values),
            )
        )

    def top_relations(self, most: int) -> list[dict[str, Any]]:
        """The relations with most updates."""
        first, _ = self._kinds.get(RELATION, (1, 0))
        rows = self._db.execute(
            "SELECT * FROM names WHERE place >= ? AND id < 0 AND updates > 0 ORDER BY place LIMIT ?",
            (first, most),
        )
        return [dict(row) for row in rows]

    def subclasses(self, of: int, most: int = 100) -> list[int]:
        """Some classes that are directly below a class, by id."""
        rows = self._db.execute("SELECT sub FROM subclasses WHERE class = ? ORDER BY sub LIMIT ?", (of, most))
        return [row["sub"] for row in rows]

    def superclasses(self, of: int, most: int = 100) -> list[int]:
        """Some classes that are directly above a class, by id."""
        rows = self._db.execute(
            "SELECT class FROM subclasses WHERE sub = ? ORDER BY class LIMIT ?", (of, most)
        )
        return [row["class"] for row in rows]

    def with_updates(self, kind: str) -> list[int]:
        """The `subject`s or `relation`s of all updates, or the `class`es of which subjects are instances."""
        table = "instances" if kind == "class" else "updates"
        return [row[0] for row in self._db.execute(f"SELECT DISTINCT {kind} FROM {table} ORDER BY 1")]


def _words(text: str) -> list[str]:
    """The words of a search, divided as the index divides texts: by all that is no letter or digit."""
    plain = unicodedata.normalize("NFC", text[:200])
    kept = (char for char in plain if not "\u0300" <= char <= "\u036f")
    return "".join(char if unicodedata.category(char)[0] in "LN" else " " for char in kept).split()


def _update(row: sqlite3.Row) -> dict[str, Any]:
    return {**json.loads(row["record"]), "subject": row["subject"], "relation": row["relation"]} | {
        "scenario": row["scenario"],
        "place": row["place"],
    }


def open_index(path: Path) -> Index:
    """Raises InputError if the file is no index."""
    try:
        return Index(path)
    except sqlite3.DatabaseError as error:
        raise InputError(f"{path}: is no index; remove it and run the command again") from error
