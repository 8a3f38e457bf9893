"""An open index: searches as one types, names by id, and updates in the order of popularity."""

import difflib
import json
import sqlite3
import threading
import unicodedata
import zlib
from collections.abc import Iterable
from pathlib import Path
from typing import Any, NamedTuple, Self

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.text import folded

RELATION, CLASS, SUBJECT = range(3)
"""Kinds of names, in the order of their numbers."""

EXACT = 10
"""Names that are exactly what was typed, at most."""

ALIKE = 0.65
"""The least share of equal letters by which an unknown word is taken for one of the index."""


class Chosen(NamedTuple):
    """Which updates a list has; empty for all.

    `since`, `until`: days (2021-12-31) of the change; of a change that is dated to a year or a month, the
    whole year or month counts. `period`: the month (2021-12) or year to which the change is dated.
    """

    scenario: str = ""
    since: str = ""
    until: str = ""
    period: str = ""

    def of(self, scenario: str) -> Self:
        """The same dates, and another scenario."""
        return self._replace(scenario=scenario)

    def conditions(self) -> tuple[list[str], list[Any]]:
        """Conditions in SQL on a row `u` of updates, and their values."""
        values = {
            "u.scenario = ?": self.scenario,
            "u.day >= substr(?, 1, length(u.day))": self.since,
            "u.day <= substr(?, 1, length(u.day))": self.until,
            "u.day GLOB ? || '*'": self.period,
        }
        filters = {name: value for name, value in values.items() if value}
        return [*filters], [*filters.values()]


ALL = Chosen()


def spellings(label: str, aliases: str | None) -> list[str]:
    """The label and the aliases, which are on a line each."""
    return [label, *(aliases or "").splitlines()]


def folded_hash(text: str) -> int:
    """32 bits of a folded text, by which labels and aliases that are exactly what was typed are found."""
    return zlib.crc32(folded(text).encode(errors="replace"))


def opened(path: Path) -> sqlite3.Connection:
    """A file that nothing changes, to be read. Its use raises sqlite3.DatabaseError if it is no database."""
    address = f"{path.resolve().as_uri()}?mode=ro&immutable=1"
    return sqlite3.connect(address, uri=True, check_same_thread=False)


class Index:
    """An open index, which threads can share. Raises InputError if the file is none."""

    def __init__(self, path: Path):
        self._db, self._lock = opened(path), threading.Lock()
        self._db.row_factory = sqlite3.Row
        try:
            self._db.execute("PRAGMA mmap_size = 4000000000")
            kinds = self._all("SELECT kind, first, last FROM kinds")
        except sqlite3.DatabaseError as error:
            raise InputError(f"{path}: is no index; remove it and run the command again") from error
        self._kinds = {row["kind"]: (row["first"], row["last"]) for row in kinds}
        self._db.execute("CREATE VIRTUAL TABLE temp.terms USING fts5vocab(main, words, row)")

    def _all(self, query: str, *values: object) -> list[Row]:
        """The rows of a query; threads take turns, because one prepared query is not for two at once."""
        with self._lock:
            return [dict(row) for row in self._db.execute(query, values)]

    def close(self) -> None:
        self._db.close()

    def search(self, text: str, most: tuple[int, int, int] = (6, 6, 12)) -> dict[str, list[Row]]:
        """Names in the groups `exact`, `relations`, `subjects` and `classes`; none is in two of them.

        `exact` are those whose id (Q30, P6), label or alias is what was typed. The others hold every typed
        word, the last one as a beginning, and come by falling popularity; if no name holds all words, those
        of a relation and of something else, as in `head of government germany`. `most`: how many of each
        kind.
        """
        words = _words(text)
        exact = self._exact(text) if words else []
        known = {row["place"] for row in exact}
        by_kind: list[list[Row]] = []
        for kind, limit in enumerate(most):
            rows = self._matching(words, kind, limit + len(exact)) if words else []
            by_kind.append([row for row in rows if row["place"] not in known][:limit])
        if not exact and not any(by_kind):
            by_kind[RELATION], by_kind[SUBJECT] = self._relation_and_subject(words, most[SUBJECT])
        return {
            "exact": exact,
            "relations": by_kind[RELATION],
            "subjects": by_kind[SUBJECT],
            "classes": by_kind[CLASS],
        }

    def corrected(self, text: str) -> str | None:
        """The text with words of the index in the place of unknown ones; None if there is nothing similar."""
        query, end = "SELECT term FROM terms WHERE term >= ? AND term < ?", chr(0x10FFFF)
        terms: list[str] = []
        for word in map(folded, _words(text)):
            meant: str | None = word
            # None of the index begins so: the most similar one with the same first letter.
            if not self._all(f"{query} LIMIT 1", word, word + end):
                similar, lengths = f"{query} AND length(term) BETWEEN ? AND ?", (len(word) - 2, len(word) + 2)
                rows = self._all(similar, word[0], word[0] + end, *lengths)
                alike = difflib.get_close_matches(word, [row["term"] for row in rows], 1, ALIKE)
                meant = alike[0] if alike else None
            if meant is None:
                return None
            terms.append(meant)
        return " ".join(terms) or None

    def _relation_and_subject(self, words: list[str], most: int) -> tuple[list[Row], list[Row]]:
        """The names of the relation that the first or the last words are, and of what the others are."""
        for cut in range(len(words) - 1, 0, -1):
            for relation, rest in ((words[:cut], words[cut:]), (words[-cut:], words[:-cut])):
                relations = [row for row in self._exact(" ".join(relation)) if row["id"] < 0]
                others = [row for row in self._exact(" ".join(rest)) if row["id"] > 0]
                others = others or self._matching(rest, SUBJECT, most)
                if relations and others:
                    return relations, others
        return [], []

    def _matching(self, words: list[str], kind: int, limit: int) -> list[Row]:
        query = " ".join(f'"{word}"' for word in words) + "*"
        first, last = self._kinds.get(kind, (1, 0))
        try:
            return self._all(
                "SELECT n.* FROM words JOIN names n ON n.place = words.rowid WHERE words MATCH ? "
                "AND words.rowid BETWEEN ? AND ? ORDER BY words.rowid LIMIT ?",
                *(query, first, last, limit),
            )
        except sqlite3.OperationalError as error:
            # SQLite divides a word at a letter that is newer than its tables of Unicode; it then finds none.
            if "phrase queries are not supported" not in str(error):
                raise
            return []

    def _exact(self, text: str) -> list[Row]:
        """Names with this id, label or alias; labels first, relations and items before classes."""
        asked = text.strip()
        number = asked[1:]
        by_id: list[Row] = []
        if asked[:1] in "QqPp" and number.isascii() and number.isdigit() and len(number) < 10:
            entity = int(number) if asked[0] in "Qq" else -int(number)
            by_id = self._all("SELECT * FROM names WHERE id = ?", entity)
        query = (
            "SELECT n.* FROM spellings s JOIN names n USING (place) WHERE folded = ? ORDER BY place LIMIT 50"
        )
        ranked = []
        for row in self._all(query, folded_hash(asked)):
            same = [folded(name) == folded(asked) for name in spellings(row["label"], row["aliases"])]
            if any(same) and row not in by_id:
                ranked.append((not same[0], row["kind"] == CLASS, row["place"], row))
        ranked.sort(key=lambda row: row[:3])
        return [*by_id, *(row for *_, row in ranked)][:EXACT]

    def names(self, ids: Iterable[int]) -> dict[int, Row]:
        """Id (properties negative) -> its row of names; ids without a label are left out."""
        query = "SELECT * FROM names WHERE id IN (SELECT value FROM json_each(?))"
        return {row["id"]: row for row in self._all(query, json.dumps([*ids]))}

    def updates_of(self, subject: int) -> dict[int, Row]:
        """Relation -> update of a subject."""
        rows = self._all("SELECT * FROM updates WHERE subject = ? ORDER BY relation", subject)
        return {row["relation"]: _update(row) for row in rows}

    def updates(self, first: int, number: int, chosen: Chosen = ALL, **of: int) -> list[Row]:
        """Updates from number `first` on, by popularity: all, those of a `relation`, those of the direct
        instances `of` a class, or those with an `object`."""
        source, values = _source(chosen, **of)
        query = f"SELECT u.* {source} ORDER BY place LIMIT ? OFFSET ?"
        return [_update(row) for row in self._all(query, *values, number, first)]

    def scenarios(self, chosen: Chosen = ALL, **of: int) -> dict[str, int]:
        """Scenario -> number of updates between the chosen days, most first; of which ones see `updates`."""
        source, values = _source(chosen.of(""), **of)
        query = f"SELECT u.scenario, count(*) AS updates {source} GROUP BY 1 ORDER BY 2 DESC, 1"
        return {row["scenario"]: row["updates"] for row in self._all(query, *values)}

    def periods(self, length: int) -> dict[str, int]:
        """The first letters of days, such as 7 for the month -> number of updates."""
        query = f"SELECT substr(day, 1, {length}) AS period, count(*) AS updates FROM updates GROUP BY 1"
        return {row["period"] or "": row["updates"] for row in self._all(query)}

    def top_relations(self, most: int) -> list[Row]:
        """The relations with most updates."""
        first, _ = self._kinds.get(RELATION, (1, 0))
        query = "SELECT * FROM names WHERE place >= ? AND id < 0 AND updates > 0 ORDER BY place LIMIT ?"
        return self._all(query, first, most)

    def with_updates(self, kind: str) -> list[int]:
        """The `subject`s or `relation`s of all updates, or the `class`es of which subjects are instances."""
        table = "instances" if kind == "class" else "updates"
        return [row[kind] for row in self._all(f"SELECT DISTINCT {kind} FROM {table} ORDER BY 1")]


def _words(text: str) -> list[str]:
    """The words of a search, divided as the index divides texts: by all that is no letter or digit."""
    plain = unicodedata.normalize("NFC", text[:200])
    kept = (char for char in plain if not "\u0300" <= char <= "\u036f")
    return "".join(char if unicodedata.category(char)[0] in "LN" else " " for char in kept).split()


def _source(
    chosen: Chosen, relation: int | None = None, of: int | None = None, object: int | None = None
) -> tuple[str, list[Any]]:
    """FROM and WHERE of updates (see `Index.updates`), and their values."""
    conditions, values = chosen.conditions()
    source = "FROM updates u"
    table = "instances WHERE class" if of is not None else "objects WHERE object"
    if of is not None or object is not None:
        source = f"FROM (SELECT * FROM {table} = ?) JOIN updates u USING (place)"
        values = [object if of is None else of, *values]
    elif relation is not None:
        conditions, values = ["u.relation = ?", *conditions], [relation, *values]
    return f"{source} WHERE {' AND '.join(conditions or ['true'])}", values


def _update(row: Row) -> Row:
    record: Row = json.loads(row["record"])
    return record | {name: row[name] for name in ("subject", "relation", "scenario", "place")}
