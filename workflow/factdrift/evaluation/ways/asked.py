"""Questions as one state puts them, and the rows of their answers. Imports torch."""

from __future__ import annotations

from typing import Any, NamedTuple

from factdrift.evaluation.questions.question import Question, Way
from factdrift.models.alignment import NOT_FINITE

Row = dict[str, Any]


class Asked(NamedTuple):
    """A question with what stands before it, and the change that is applied while it is asked."""

    question: Question
    before: str = ""
    """The text before the prompt."""
    owner: int = -1
    """The index of the change; -1 for none."""


def judged(asked: Asked, way: Way, **answer: Any) -> Row:
    """A row of ANSWERS, as far as a way knows it: `correct` by `parsed`, unless there is no answer.

    A model whose output is not finite was asked and gave no answer, which is wrong.
    """
    row: Row = {"question": asked.question.id, "role": asked.question.role, "way": way, **answer}
    if asked.question.answer is not None and row.get("reason") in (None, NOT_FINITE):
        row["correct"] = row.get("parsed") == asked.question.answer
    return row
