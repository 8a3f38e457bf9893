"""The kinds of check: what each asks of a row, and of which dataset."""

from __future__ import annotations

from typing import NamedTuple

UPDATES, QUESTIONS = "wikifactdiff", "tempripple"


class Kind(NamedTuple):
    """`datasets`: those whose rows are checked; `role`: whether a failure means that the fact is wrong."""

    datasets: tuple[str, ...]
    role: bool
    description: str


_BOTH = (UPDATES, QUESTIONS)

KINDS = {
    "statement": Kind(
        _BOTH, True, "the statements that the row names are in the dump, of that subject and relation"
    ),
    "main_snak": Kind(
        _BOTH, True, "the value is the main snak of its statement, not a qualifier or a reference"
    ),
    "rank": Kind(_BOTH, True, "no statement has the rank `deprecated`; a hop uses statements of best rank"),
    "dates": Kind(_BOTH, True, "start, end and point in time are those of the statement's qualifiers"),
    "labels": Kind(
        _BOTH, True, "labels and descriptions are those of the dumps, numbers and years those of the value"
    ),
    "gone": Kind((UPDATES,), True, "what is called obsolete has ended, or the new dump does not state it"),
    "new": Kind((UPDATES,), True, "what is called new became true between the dates and was not so before"),
    "static": Kind((UPDATES,), True, "what is called static held before T_old and still holds at T_new"),
    "order": Kind((QUESTIONS,), True, "the holder has the place in the timeline that the question asks for"),
    "single": Kind((UPDATES,), False, "a replacement's relation has no second value that holds at T_new"),
    "leak": Kind(_BOTH, False, "the prompt, or the context of another question, does not contain the answer"),
    "template": Kind((UPDATES,), False, "no other relation has the same sentence template"),
    "neighbour": Kind(
        (UPDATES,),
        False,
        "nearest facts have the update's relation, their subjects are neither its subject nor its objects",
    ),
    "neighbour_fact": Kind((UPDATES,), False, "neighbour facts are statements that hold at T_old"),
    "neighbour_answer": Kind((UPDATES,), False, "no nearest fact has the update's new object as its answer"),
    "unique": Kind(_BOTH, False, "no other row asks the same question about something else"),
    "options": Kind((QUESTIONS,), False, "wrong options differ, and none is a value of what is asked"),
    "key": Kind((QUESTIONS,), False, "the option that is marked as the answer is the answer"),
    "surface": Kind(_BOTH, False, "the answer cannot be guessed from the form of the options"),
}

PASSED, FAILED, DECLARED, UNCHECKED = "passed", "failed", "declared", "unchecked"
"""Outcomes: `declared` is a failure that the row itself reports, in a field such as `leaks`."""
