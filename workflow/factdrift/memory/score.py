"""What a memory has answered: right, stale, wrong, both or refused, by kind of question."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import pyarrow as pa

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.files import json_lines
from factdrift.core.intervals import clustered_wilson
from factdrift.core.score_table import Column, Line, count, share, table
from factdrift.core.tables import write_parquet
from factdrift.verdict.judge import Case, judged
from factdrift.verdict.text import contains
from factdrift.words.reasoning import answer_of

OUTCOMES = ("right", "stale", "both", "wrong", "refused")
"""Of a question whose premise is over, `right` names the new value, and `stale` takes the premise."""

_OUTCOME = {"correct": "right", "stale": "stale", "both": "both", "refused": "refused", "empty": "refused"}
"""Verdict -> outcome; any other verdict is wrong."""
_EXAMPLE = '{"id": "...", "text": "..."}'

MEMORY_SCORES = schema_of(
    "kind: string, questions unanswered subjects: int32",
    *(f"{outcome} {outcome}_low {outcome}_high: float64" for outcome in OUTCOMES),
)
"""A row for every kind of question (docs/memory.md)."""


def outcome_of(row: Row, text: str) -> str:
    """The outcome of a text as the answer to a question, a row of KEY."""
    if row["kind"] == "premise":
        return _of_premise(row, text)
    accepted, stale, later = (tuple(row[name]) for name in ("answers", "stale_answers", "later_answers"))
    return _OUTCOME.get(judged(Case(text, accepted, stale, later, row["question"])).verdict, "wrong")


def _of_premise(row: Row, text: str) -> str:
    """`right`: the new value is named; `stale`: the old start is named without it."""
    accepted, start = tuple(row["answers"]), row["premise_start"]
    verdict = judged(Case(text, accepted, (start,), (), row["question"])).verdict
    answer = answer_of(text)
    if verdict == "correct" or (verdict != "denied" and contains(answer, accepted)):
        return "right"
    if start in answer:
        return "stale"
    return "refused" if verdict in ("refused", "empty", "denied") else "wrong"


def read_answers(path: Path, known: Mapping[str, Row]) -> dict[str, str]:
    """Question -> text of a file of answers. Raises InputError that names the line which is wrong."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; it has an answer a line, such as {_EXAMPLE}")
    answers: dict[str, str] = {}
    for where, row in json_lines(path, _EXAMPLE):
        if not row.keys() >= {"id", "text"}:
            raise InputError(f"{where}: not of the form {_EXAMPLE}")
        question, text = row["id"], row["text"]
        if not isinstance(text, str) or not isinstance(question, str) or question not in known:
            raise InputError(f"{where}: {question!r} is no question of the folder, or `text` is no text")
        if question in answers:
            raise InputError(f"{where}: {question} is answered twice; keep a single answer")
        answers[question] = text
    return answers


def scores(key: Sequence[Row], outcomes: Mapping[str, str]) -> Iterator[Row]:
    """MEMORY_SCORES; the kinds in alphabetical order, `all` last. `outcomes`: question -> outcome."""
    by_kind: dict[str, list[Row]] = defaultdict(list)
    for row in key:
        by_kind[row["kind"]].append(row)
    for kind, rows in [*sorted(by_kind.items()), ("all", list(key))]:
        answered = [row for row in rows if row["id"] in outcomes]
        subjects = [row["chain"].partition("-")[0] for row in answered]
        scored: Row = {"kind": kind, "questions": len(rows), "unanswered": len(rows) - len(answered)}
        scored["subjects"] = len(set(subjects))
        for outcome in OUTCOMES if answered else ():
            values = [outcomes[row["id"]] == outcome for row in answered]
            low, high = clustered_wilson(values, subjects)
            scored |= {outcome: sum(values) / len(values), f"{outcome}_low": low, f"{outcome}_high": high}
        yield scored


COLUMNS = (
    Column("n", count("questions")),
    Column("unanswered", count("unanswered")),
    *(Column(outcome, share(outcome, "", known="subjects", ends=True)) for outcome in OUTCOMES),
)

NOTE = (
    "% of what was answered, with 95 % intervals by subject. Where a question has a premise that is over "
    "(`premise`), right: refused, the new value named; stale: taken, the old start named."
)


def score(key: Sequence[Row], answers: Path, output: Path | None = None) -> str:
    """The scores of a file of answers as a table, which is also written as MEMORY_SCORES."""
    known = {row["id"]: row for row in key}
    texts = read_answers(answers, known)
    rows = list(scores(key, {name: outcome_of(known[name], text) for name, text in texts.items()}))
    if output:
        write_parquet(pa.Table.from_pylist(rows, schema=MEMORY_SCORES), output)
    lines = [Line(row["kind"], row) for row in rows]
    return "\n".join([*table("", COLUMNS, lines), "", NOTE])
