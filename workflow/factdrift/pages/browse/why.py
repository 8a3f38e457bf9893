"""Why a subject and relation is an update, or none: both dumps and what decided, in words."""

from __future__ import annotations

import difflib
import textwrap
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import duckdb

from factdrift.core.columns import Row
from factdrift.core.commands import program
from factdrift.core.errors import InputError
from factdrift.core.products import no_file
from factdrift.core.tables import sql
from factdrift.core.text import folded, printable
from factdrift.pages import meanings
from factdrift.pages.browse.build import SIDES, Build, Subject, Tables, parquet_files
from factdrift.pages.browse.search import Index
from factdrift.pages.browse.summary import decided, deciding, listed, of_value, sentences
from factdrift.pages.browse.view import Pair, Relation, Statement, Value, indexed, named
from factdrift.wikidata.ids import entity_id, is_made_up, page, property_id
from factdrift.wikifactdiff.accounts import by_stage
from factdrift.wikifactdiff.show import SIGNS

WIDTH = 100
"""Columns of a line at most; shorter where the terminal is."""

USES = 8
"""Subjects and relations of which an item is an object that are listed at most."""


class Reasons:
    """Answers about one build."""

    def __init__(self, build: Build, index: Index, db: duckdb.DuckDBPyConnection, width: int = WIDTH):
        self._build, self._index, self._db = build, index, db
        self._tables = Tables(build, db)
        self._meanings = meanings()
        self._width = min(width, WIDTH)

    def lines(
        self, subject: str, relation: str | None, value: str | None = None, whole: bool = False
    ) -> Iterator[str]:
        """Yields the answer about a subject and relation, an object of these, or all relations of a subject.

        All are ids or names. `whole`: with the statements that decided nothing. Raises InputError if nothing
        is called so, or several things are.
        """
        number = self._number(subject, "subject")
        known = self._tables.read([number])[number]
        if relation is None:
            yield from self._overview(known, whole)
            return
        yield from self._answer(known, -self._number(relation, "relation"), value, whole)

    def _number(self, text: str, what: str) -> int:
        """The number of the item or relation of this id or name; of a relation it is negative."""
        sign = 1 if what == "subject" else -1

        def exact(asked: str) -> list[Row]:
            return [row for row in self._index.search(asked)["exact"] if sign * row["id"] > 0]

        matches = exact(text)
        by_id = [row for row in matches if entity_id(row["id"]) == text.strip().upper()]
        by_label = [row for row in matches if folded(row["label"]) == folded(text.strip())]
        chosen = by_id or by_label or matches
        if len(chosen) == 1:
            return int(chosen[0]["id"])
        if chosen:
            named_so = "; ".join(_described(row) for row in chosen)
            raise InputError(f"{text} is the name of {len(chosen)} entities; give the id of one: {named_so}")
        meant = self._index.corrected(text)
        similar = exact(meant) if meant else []
        group = "subjects" if sign > 0 else "relations"
        similar = similar or [row for row in self._index.search(text)[group] if sign * row["id"] > 0][:3]
        hint = "; ".join(_described(row) for row in similar)
        advice = (
            f"did you mean {hint}?" if hint else "snapshots hold what the key `scope` says, with its labels"
        )
        raise InputError(f"{self._build.pair.name}: no {what} is called {text} in either dump; {advice}")

    def statements(self, subject: str, relation: str) -> list[Pair]:
        """The statements of a subject and relation in both dumps, what changed first; none if there are none.

        Raises InputError as `lines`.
        """
        number, wanted = self._number(subject, "subject"), -self._number(relation, "relation")
        relations = self._relations(self._tables.read([number])[number])
        return next((candidate.pairs for candidate in relations if candidate.number == wanted), [])

    def _relations(self, subject: Subject) -> list[Relation]:
        return indexed(subject, self._index, self._tables.untouched)[0]

    def _name(self, number: int) -> str:
        label = named(number, self._index.names([number])).text
        return printable(f"{label} ({entity_id(number)})")

    def _overview(self, subject: Subject, whole: bool) -> Iterator[str]:
        """Yields a line for each relation with an update, the others by what became of them, and the uses."""
        relations = self._relations(subject)
        uses = self._uses(subject.id)
        if not relations and not uses:
            raise InputError(
                f"{self._build.pair.name}: neither dump has a statement about {self._name(subject.id)}"
            )
        yield self._name(subject.id)
        groups: dict[str, list[str]] = defaultdict(list)
        for relation in relations:
            name = f"{relation.name.text} ({relation.id})"
            verdict = sentences(relation, self._build, self._meanings)[0]
            if relation.update or whole:
                yield from self._wrapped(f"{name}: {verdict}", "  ", "    ")
            else:
                groups[verdict.partition(":")[2].partition(":")[0].strip(" .")].append(name)
        for verdict, names in groups.items():
            yield from self._wrapped(f"no update of {', '.join(names)}: {verdict}", "  ", "    ")
        yield from uses

    def _uses(self, number: int) -> list[str]:
        """Of which subjects and relations an item is an object, in either dump, in lines."""
        folders = [path for side in SIDES for path in parquet_files(self._build.filtered(side))]
        pairs = self._db.sql(
            f"""SELECT subject, property, count(*) OVER () FROM read_parquet({sql(folders)})
            WHERE object = {number} GROUP BY 1, 2 ORDER BY 1, 2 LIMIT {USES}"""
        ).fetchall()
        if not pairs:
            return []
        lines = [f"An object of {pairs[0][2]:,} subjects and relations:"]
        for subject, relation, _ in pairs:
            lines += self._wrapped(f"{self._name(subject)}, {self._name(-relation)}", "  ", "    ")
        if pairs[0][2] > USES:
            lines.append(f"  and {pairs[0][2] - USES:,} more")
        subject, relation, _ = pairs[0]
        words = f"{entity_id(subject)} {property_id(relation)} {entity_id(number)}"
        return [*lines, f"`{program('factdrift')} why {words}` says what became of the first one."]

    def _answer(self, subject: Subject, number: int, value: str | None, whole: bool) -> Iterator[str]:
        relation = next((row for row in self._relations(subject) if row.number == number), None)
        yield f"{self._name(subject.id)}, {self._name(-number)}"
        if relation is None:
            yield from self._wrapped("Neither dump has a statement of this relation about this subject.", "")
            return
        if value is None:
            shown = relation.pairs if whole else deciding(relation, self._build)
            texts = sentences(relation, self._build, self._meanings)
            if relation.update is not None:
                group = f"subject = {subject.id} AND property = {number}"
                texts += self._selected(relation.update["scenario"], group)
        else:
            shown = self._called(relation, value)
            texts = [of_value(pair, self._build, self._meanings) for pair in shown]
        for sentence in texts:
            yield from self._wrapped(sentence, "")
        if not is_made_up(entity_id(subject.id)):
            yield page(entity_id(subject.id), f"P{number}")
        for pair in shown:
            yield ""
            yield from self._pair(pair)
        if left := len(relation.pairs) - len(shown):
            yield ""
            yield f"{left:,} more; `--all` shows every row." if value is None else f"{left:,} other rows."

    def _called(self, relation: Relation, text: str) -> list[Pair]:
        """The rows of the object with this id or name. Raises InputError if there is none."""
        by_name = {folded(text.strip()), text.strip().upper()}
        pairs = [
            pair
            for pair in relation.pairs
            if {folded(pair.latest.value.text), pair.latest.value.id} & by_name
        ]
        if not pairs:  # by another name
            ids = {entity_id(row["id"]) for row in self._index.search(text)["exact"]}
            pairs = [pair for pair in relation.pairs if pair.latest.value.id in ids]
        if pairs:
            return pairs
        names = list(dict.fromkeys(pair.latest.value.text for pair in relation.pairs))
        alike = difflib.get_close_matches(text, names, 1)
        hint = f"did you mean {alike[0]}?" if alike else f"they state {listed(names)}"
        raise InputError(
            f"{self._build.pair.name}: no object of this subject and relation is called {text} in "
            f"either dump; {printable(hint)}"
        )

    def _selected(self, scenario: str, group: str) -> Iterator[str]:
        if scenario != "ReplaceObject":
            yield "Not in wfd_repl, which has only what replaces one object by one other."
            return
        if (path := self._build.table("replacements.parquet")) is None:
            return
        rows = f"read_parquet({sql(path)})"
        if self._db.sql(f"SELECT 1 FROM {rows} WHERE {group}").fetchall():
            yield "In wfd_repl."
        else:
            yield (
                "Not in wfd_repl: its relation would otherwise prevail there, so that chance keeps only "
                "some of its replacements (key `undersample`)."
            )

    def _pair(self, pair: Pair) -> Iterator[str]:
        name = _text(pair.latest.value)
        yield from self._wrapped(f"{SIGNS.get(pair.tone, ' ')} {name}", "", "  ")
        for side, statement in zip(SIDES, (pair.old, pair.new), strict=True):
            line = "not stated" if statement is None else _stated(statement)
            if statement is not None and pair.old and _text(statement.value) != name:
                line = f"{_text(statement.value)}; {line}"
            yield from self._wrapped(f"{self._build.date(side)}: {line}", "    ", "      ")
        for decision in pair.decisions:
            yield from self._wrapped(decided(decision, self._build, self._meanings), "    ", "      ")

    def _wrapped(self, text: str, first: str, later: str = "") -> list[str]:
        return textwrap.wrap(
            printable(text),
            self._width,
            initial_indent=first,
            subsequent_indent=later,
            break_on_hyphens=False,
        )


def _described(row: Row) -> str:
    about = f", {row['description'][:60]}" if row["description"] else ""
    return printable(f"{entity_id(row['id'])} ({row['label'][:80]}{about})")


def _text(value: Value) -> str:
    return f"{value.text} ({value.id})" if value.id else value.text


def _stated(statement: Statement) -> str:
    """Rank, dates and qualifiers of a statement."""
    parts = [f"{statement.rank} rank"] + [f"{word} {date}" for word, date in statement.dates]
    if statement.qualifiers:
        parts.append(f"qualified by {', '.join(qualifier.text for qualifier in statement.qualifiers)}")
    return ", ".join(parts)


def funnel(build: Build, db: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """Yields how the statements of both dumps became the rows of WFD_repl, step by step.

    Raises InputError if the build has no funnel.
    """
    if (path := build.table("funnel.parquet")) is None:
        raise no_file(build.pair / "funnel.parquet")
    stages = by_stage(db, path)
    texts = meanings()
    yield f"From the dumps of {build.old} and {build.new} to wfd_repl"
    for side in SIDES:
        yield from _losses(stages[f"preprocess_{side}"], f"statements of the {side} dump", "filter", texts)
    yield from _losses(stages["groups"], "triples that either dump has left", "step", texts)
    dataset = build.dataset
    query = f"SELECT scenario, count(*) FROM read_parquet({sql(dataset)}) GROUP BY 1 ORDER BY 2 DESC, 1"
    scenarios = dict(db.sql(query).fetchall())
    yield ""
    listed = ", ".join(f"{number:,} {name}" for name, number in scenarios.items())
    yield f"{sum(scenarios.values()):,} updates in wikifactdiff ({listed})"
    if (replacements := build.table("replacements.parquet")) is not None:
        yield from _left_out(dataset, replacements, scenarios.get("ReplaceObject", 0), db)


def _losses(counts: Mapping[str, int], what: str, kind: str, texts: Mapping[str, str]) -> Iterator[str]:
    yield ""
    yield f"{sum(counts.values()):,} {what}"
    for name, number in sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])):
        if name != "kept":
            yield f"  - {number:9,}  {name}: {texts.get(f'{kind} {name}', '')}"
    yield f"  = {counts.get('kept', 0):9,}  are left"


def _left_out(dataset: Path, chosen: Path, whole: int, db: duckdb.DuckDBPyConnection) -> Iterator[str]:
    """The replacements that WFD_repl leaves out, by relation."""
    rows: Sequence[tuple[str, int, int]] = db.sql(
        f"""SELECT relation.label || ' (' || relation.id || ')' AS name, count(*) AS replacements,
            count(*) FILTER ((subject.id, relation.id) IN (
                SELECT ('Q' || subject, 'P' || property) FROM read_parquet({sql(chosen)}))) AS kept
        FROM read_parquet({sql(dataset)}) WHERE scenario = 'ReplaceObject' GROUP BY 1
        HAVING kept < replacements ORDER BY 2 DESC, 1"""
    ).fetchall()
    left = sum(number - kept for _, number, kept in rows)
    yield f"{whole - left:,} of the {whole:,} replacements in wfd_repl"
    for name, number, kept in rows:
        yield printable(
            f"  - {number - kept:9,}  of {number:,} in {name}, left out by chance: it would otherwise prevail"
        )
