"""Rows of answers about who holds, of every way of asking. No model."""

from collections.abc import Mapping
from typing import Any

from factdrift.core.columns import Row
from factdrift.evaluation.questions.cutoff import ANSWERS
from factdrift.verdict.judge import Case, judged

_ABOUT = ("chain", "subject", "relation", "subject_label", "relation_label", "popularity", "died", "holders")
"""Columns of CHAINS that ANSWERS repeats."""

NAMED = ("correct", "both")
"""Verdicts on an answer that asserts a holder: alone or first, or beside another one."""


def about(row: Mapping[str, Any], model: str, way: str) -> Row:
    """The row of ANSWERS of a chain before there is an answer."""
    return {
        **dict.fromkeys(ANSWERS.names),
        "model": model,
        "way": way,
        **{name: row[name] for name in _ABOUT},
    }


def written(row: Mapping[str, Any], model: str, output: str) -> Row:
    """The row of what a model has written, with the first holder that it asserts, or the reason `unnamed`."""
    place = holder_named(row, output)
    reason = "unnamed" if place is None else None
    return {**about(row, model, "written"), "output": output, "choice": place, "reason": reason}


def holder_named(row: Mapping[str, Any], output: str) -> int | None:
    """The place of the holder that a text gives as its answer, by the rules of `verdict`; None without any.

    Each holder in turn is the accepted answer, and all others are wrong ones. Of two that are asserted side
    by side it is the one that is named first.
    """
    names = [(holder["label"], *holder["aliases"]) for holder in row["holders"]]
    first: dict[int, int] = {}
    for place, own in enumerate(names):
        others = tuple(name for other in names if other is not own for name in other)
        found = judged(Case(output, own, others=others, question=row["prompts"][0]))
        if found.verdict in NAMED:
            first[place] = min(found.named.index(name) for name in own if name in found.named)
    return min(first, key=lambda place: first[place]) if first else None
