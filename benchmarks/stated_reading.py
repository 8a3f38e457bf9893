"""Agreement of the rules with a reader on answers that were given under a stated date or result of a search.

    .venv/bin/python benchmarks/stated_reading.py

The answers are in tests/evaluation/cutoff/stated_read.jsonl, each with outcome and remarks by a reader, and
by the rules at first sight (`first`). Sets: `real`, of SmolLM2 (`stated smollm2 --state tool --way
written --date 2013-06-04 --limit 60`), 130 drawn of 231; `scripted`, written in the manner of chat models;
`denial`, which deny a result before they answer. The other 101 real answers and the second denials (`later`)
were compared after the rules had been corrected by the sets before them. The reader saw the outcomes of the
real answers. Prints shares with Wilson intervals, and Cohen's kappa with a jackknife over chains.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from factdrift.core.intervals import wilson
from factdrift.core.screen import grid
from factdrift.evaluation.scores.stated import outcome
from factdrift.verdict.agreement import agreement

Row = dict[str, Any]
ANSWERS = Path(__file__).parents[1] / "tests" / "evaluation" / "cutoff" / "stated_read.jsonl"
REMARKS = ("doubted", "denied", "fictional")


def rows_of(path: Path = ANSWERS) -> list[Row]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def by_rule(row: Row) -> tuple[str, list[str]]:
    """Outcome and remarks of an answer by the rules as they are."""
    holders = [{"label": label, "aliases": aliases} for label, *aliases in row["names"]]
    answer = {"holders": holders, "subject_label": row["subject"], "output": row["text"], "choice": None}
    taken = None if row["taken"] == row["kept"] else row["taken"]
    result, marks = outcome(answer, row["prompts"], taken, row["kept"], row["about"], row["language"])
    return result, [mark for mark in marks if mark in REMARKS]


def share(count: int, of: int) -> str:
    low, high = wilson(count, of)
    return f"{count} of {of} ({count / of:.1%} [{low:.1%}, {high:.1%}])"


def lines(rows: list[Row]) -> Iterator[str]:
    sets = list(dict.fromkeys(row["set"] for row in rows))
    cells = []
    for name, own in [(each, [row for row in rows if row["set"] == each]) for each in sets]:
        first = sum(row["first"][0] == row["reader"][0] for row in own)
        now = [by_rule(row) for row in own]
        marks = [sum(row["first"][1] == row["reader"][1] for row in own)]
        marks.append(sum(each[1] == row["reader"][1] for each, row in zip(now, own, strict=True)))
        equal = sum(each[0] == row["reader"][0] for each, row in zip(now, own, strict=True))
        kappa = agreement([(row["first"][0], row["reader"][0], row["chain"]) for row in own])
        varied = len({row["reader"][0] for row in own}) > 1
        shown = "-" if not varied else f"{kappa.kappa:.2f} [{kappa.low:.2f}, {kappa.high:.2f}]"
        cells.append([name, share(first, len(own)), shown, str(equal), f"{marks[0]}, {marks[1]}"])
    yield from grid(["answers", "same outcome at first sight", "kappa", "now", "same remarks, now"], cells)


if __name__ == "__main__":
    print("\n".join(lines(rows_of())))
