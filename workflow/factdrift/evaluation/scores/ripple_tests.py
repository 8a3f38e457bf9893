"""Probes judged as RippleEdits judges them: a name of each answer in the text, tests of several queries."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.evaluation.questions.ripples import condition_id
from factdrift.evaluation.scores.ripples import CRITERIA
from factdrift.words.reasoning import answer_of

Texts = Mapping[tuple[str, str, str], str]
"""(model, state, question) -> what was written."""


class Tests(NamedTuple):
    """The tests of a model, state and criterion: all, those whose conditions hold, and how many of these are
    passed."""

    model: str
    method: str
    criterion: str
    tests: int
    executed: int
    passed: int


def contains(text: str, answers: Sequence[Row]) -> bool:
    """Whether a text contains some name of each answer; names of one letter count for nothing."""
    return all(
        any(name in text for name in (each["label"], *each["aliases"]) if len(name) > 1 or name.isdigit())
        for each in answers
    )


def judged(probes: Path, answers: Sequence[Path]) -> list[Tests]:
    """The tests of each model and state that has written answers, by criterion.

    A test is executed if the unedited model gives all of its conditions right, and passed if any of its
    queries is right, or all of them where it says so (`every`). A row without `test` is a test of its own. A
    test of which something was not asked or answered is left out. Raises InputError if nothing was written.
    """
    said = _said(answers)
    states = sorted({key[:2] for key in said})
    if not states:
        raise InputError("--answers: no answer in writing; ask the benchmark `ripples` in the way `written`")
    tests: dict[str, list[Row]] = defaultdict(list)
    for row in pq.read_table(probes).to_pylist():
        tests[row.get("test") or row["probe_id"]].append(row)
    counts: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for model, method in states:
        for rows in tests.values():
            found = _test(said, model, method, rows)
            if found is not None:
                count = counts[model, method, rows[0]["criterion"]]
                count[0] += 1
                count[1] += found[0]
                count[2] += found[0] and found[1]
    order = {name: place for place, name in enumerate(CRITERIA)}
    return [Tests(*key, *counts[key]) for key in sorted(counts, key=lambda key: (*key[:2], order[key[2]]))]


def _test(said: Texts, model: str, method: str, rows: Sequence[Row]) -> tuple[bool, bool] | None:
    """Whether a test is executed, and passed; None if something of it has no answer."""
    texts = [said.get((model, method, row["probe_id"])) for row in rows]
    conditions = rows[0]["conditions"]
    before = [said.get((model, "none", condition_id(each))) for each in conditions]
    if None in texts or None in before:
        return None
    known = all(contains(text or "", each["answers"]) for text, each in zip(before, conditions, strict=True))
    right = [contains(text or "", row["answers"]) for text, row in zip(texts, rows, strict=True)]
    return known, all(right) if rows[0].get("every") else any(right)


def _said(answers: Sequence[Path]) -> dict[tuple[str, str, str], str]:
    found = {}
    for path in answers:
        columns = ["model", "method", "question", "output"]
        for row in pq.read_table(path, columns=columns, filters=[("way", "=", "written")]).to_pylist():
            if row["output"] is not None:
                found[row["model"], row["method"], row["question"]] = answer_of(row["output"])
    return found


def text_of(found: Sequence[Tests]) -> Iterator[str]:
    """The tests as lines of a table."""
    yield f"{'model':20}{'state':14}{'criterion':18}{'tests':>8}{'executed':>10}{'passed':>8}{'%':>7}"
    for each in found:
        share = f"{100 * each.passed / each.executed:.1f}" if each.executed else "-"
        yield (
            f"{each.model:20}{each.method:14}{each.criterion:18}"
            f"{each.tests:8,}{each.executed:10,}{each.passed:8,}{share:>7}"
        )
