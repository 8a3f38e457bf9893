"""Probes judged as RippleEdits judges them: a name of each answer in the text, tests of several queries."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from operator import itemgetter
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from factdrift.core.columns import Row
from factdrift.core.score_table import Cell, share
from factdrift.evaluation.questions.ripples import condition_id
from factdrift.evaluation.scores.groups import by_columns, by_state
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
        any(name in text for name in (answer["label"], *answer["aliases"]) if len(name) > 1 or name.isdigit())
        for answer in answers
    )


def judged(probes: Path, answers: Sequence[Path]) -> list[Tests]:
    """The tests of each model and state that has written answers, by criterion.

    A test is executed if the unedited model gives all of its conditions right, and passed if any of its
    queries is right, or all of them where it says so (`every`). A row without `test` is a test of its own. A
    test of which something was not asked or answered is left out.
    """
    texts = _texts(answers)
    states = sorted({key[:2] for key in texts})
    tests: dict[str, list[Row]] = defaultdict(list)
    for row in pq.read_table(probes).to_pylist():
        tests[row.get("test") or row["probe_id"]].append(row)
    counts: dict[tuple[str, str, str], list[int]] = defaultdict(lambda: [0, 0, 0])
    for model, method in states:
        for rows in tests.values():
            result = _test(texts, model, method, rows)
            if result is not None:
                numbers = counts[model, method, rows[0]["criterion"]]
                numbers[0] += 1
                numbers[1] += result[0]
                numbers[2] += all(result)
    order = {name: number for number, name in enumerate(CRITERIA)}
    return [
        Tests(*key, *counts[key]) for key in sorted(counts, key=lambda key: (key[0], order[key[2]], key[1]))
    ]


def _test(texts: Texts, model: str, method: str, rows: Sequence[Row]) -> tuple[bool, bool] | None:
    """Whether a test is executed, and passed; None if something of it has no answer."""
    conditions = rows[0]["conditions"]
    after = [texts.get((model, method, row["probe_id"])) for row in rows]
    before = [texts.get((model, "none", condition_id(condition))) for condition in conditions]
    if None in after or None in before:
        return None
    known, right = (
        [contains(text or "", row["answers"]) for text, row in zip(written, asked, strict=True)]
        for written, asked in ((before, conditions), (after, rows))
    )
    return all(known), all(right) if rows[0].get("every") else any(right)


def _texts(answers: Sequence[Path]) -> dict[tuple[str, str, str], str]:
    texts = {}
    for path in answers:
        columns = ["model", "method", "question", "output"]
        for row in pq.read_table(path, columns=columns, filters=[("way", "=", "written")]).to_pylist():
            if row["output"] is not None:
                texts[row["model"], row["method"], row["question"]] = answer_of(row["output"])
    return texts


def lines(tests: Sequence[Tests]) -> Iterator[str]:
    """A table for each model: the tests passed of those executed; nothing without answers in writing."""
    for (model,), own in by_columns((row._asdict() for row in tests), "model").items():
        yield f"{model}, as RippleEdits judges: % passed (of tests executed, of all)"
        yield from (*by_state(own, itemgetter("criterion"), _cell), "")


def _cell(row: Row) -> Cell:
    passed = share("passed", "executed")(row)
    return passed._replace(spread=f"({row['executed']:,}, {row['tests']:,})")
