"""Everything that a build says of subjects, read for many of them at once: one query a table and bucket."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import duckdb

from factdrift.core.tables import sql
from factdrift.pages.browse.build import SIDES, Build, parquet_files, rows

Row = dict[str, Any]

_STATEMENT = (
    "subject, property, statement, position, rank, snak, datatype, object, key, json, start, start_unknown, "
    '"end", end_unknown, pit, qualifiers, revision, dropped_by'
)
_TRIPLE = (
    "subject, property, old_statement, new_statement, label, rule, announced, leaks, dropped_by, scenario, "
    "is_replace"
)
_FACT = "subject, property, rank_no, neighbor, similarity, relation, statement, object, datatype, json"
_SCORE = (
    "subject, relation, edit, model, method, kind, failed, p_new_before, p_obsolete_before, p_new, "
    "p_obsolete, efficacy_d, exact, said"
)
_ANSWER = "model, method, edit, number, role, object, prompt, target, logprob_before, logprob, exact, reason"
_PROBE = "subject, relation, criterion, kind, prompt, answers, stale, conditions"
_ASKED = ("update", "generalization")
"""Roles of the probes that are shown; those of neighbours are summed up in the scores."""

_IN_ORDER = " ORDER BY file_row_number"
"""SQL: rows as the table has them; several threads return those of a join in any order."""


@dataclass
class Subject:
    """What the tables say of one subject; rows are dicts of the tables' columns.

    `answers`: rows of `edit_scores`, each with its probes under `probes`.
    """

    id: int
    old: list[Row] = field(default_factory=list)
    new: list[Row] = field(default_factory=list)
    triples: list[Row] = field(default_factory=list)
    nearest: dict[int, list[Row]] = field(default_factory=lambda: defaultdict(list))
    random: dict[int, list[Row]] = field(default_factory=lambda: defaultdict(list))
    answers: dict[int, list[Row]] = field(default_factory=lambda: defaultdict(list))
    ripples: dict[int, list[Row]] = field(default_factory=lambda: defaultdict(list))


class Tables:
    """The tables of a build over one DuckDB connection."""

    def __init__(self, build: Build, db: duckdb.DuckDBPyConnection):
        self.build, self.db = build, db
        db.execute("SET parquet_metadata_cache = true")
        self.untouched = _untouched(build, db)
        """Property -> the rows of `untouched`: what was decided about groups without a change or a date."""

    def read(self, subjects: Sequence[int]) -> dict[int, Subject]:
        """The subjects of one bucket, with all of their statements."""
        found = {subject: Subject(subject) for subject in subjects}
        chosen = _among("subject", subjects) + _IN_ORDER

        def each(table: Iterable[Row], add: Callable[[Subject, Row], None]) -> None:
            for row in table:
                add(found[row["subject"]], row)

        db, build, first = self.db.cursor(), self.build, subjects[0]
        for side in SIDES:
            path = build.bucket(build.pair / "filtered" / side, first)
            each(rows(db, path, _STATEMENT, chosen), lambda s, row, side=side: getattr(s, side).append(row))  # type: ignore[misc]
        decided = build.bucket(build.pair / "updates", first)
        each(rows(db, decided, _TRIPLE, chosen), lambda s, row: s.triples.append(row))
        if nearest := build.table("neighbors.parquet"):
            each(rows(db, nearest, _FACT, chosen), lambda s, row: s.nearest[row["property"]].append(row))
        if drawn := build.table("random_neighbors.parquet"):
            each(rows(db, drawn, _FACT, chosen), lambda s, row: s.random[row["property"]].append(row))
        named = _among("subject", [f"Q{number}" for number in found]) + _IN_ORDER
        if probes := build.table("ripples.parquet"):
            for row in rows(db, probes, _PROBE, named):
                found[int(row["subject"][1:])].ripples[int(row["relation"][1:])].append(row)
        self._answers(db, found, named)
        return found

    def _answers(self, db: duckdb.DuckDBPyConnection, found: dict[int, Subject], named: str) -> None:
        scores, probes = self.build.table("edit_scores.parquet"), self.build.table("edit", "probes.parquet")
        if scores is None:
            return
        made: dict[tuple[str, str, str], Row] = {}
        for row in rows(db, scores, _SCORE, named):
            row["probes"] = []
            made[row["model"], row["method"], row["edit"]] = row
            found[int(row["subject"][1:])].answers[int(row["relation"][1:])].append(row)
        if made and probes is not None:
            edits = _among("edit", list(dict.fromkeys(edit for _, _, edit in made)))
            for row in rows(db, probes, _ANSWER, f"{edits} AND {_among('role', _ASKED)}{_IN_ORDER}"):
                if score := made.get((row["model"], row["method"], row["edit"])):
                    score["probes"].append(row)


def _among(column: str, values: Sequence[int] | Sequence[str]) -> str:
    """SQL: the column is one of the values, so put that DuckDB can skip row groups by their statistics."""
    if len(values) == 1:
        return f"{column} = {sql(values[0])}"
    low, high = min(values), max(values)
    within = f"{column} BETWEEN {sql(low)} AND {sql(high)}"
    return f"{within} AND {column} IN (SELECT unnest({sql(values)}))"


def _untouched(build: Build, db: duckdb.DuckDBPyConnection) -> dict[int, list[Row]]:
    folder = build.pair / "untouched"
    found: dict[int, list[Row]] = defaultdict(list)
    if folder.is_dir():
        columns = "property, rule, label, dropped_by, sum(triples) AS triples"
        for row in rows(db, parquet_files(folder), columns, "true GROUP BY ALL ORDER BY ALL"):
            found[row["property"]].append(row)
    return found
