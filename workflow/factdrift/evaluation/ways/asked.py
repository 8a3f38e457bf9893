"""The rows of answers. Imports torch."""

from typing import Any

from factdrift.core.columns import Row
from factdrift.evaluation.questions.question import Question, Way
from factdrift.models.alignment import NOT_FINITE
from factdrift.verdict import judge
from factdrift.verdict.text import contains, exact_match
from factdrift.words.reasoning import answer_of


def answer_row(question: Question, way: Way, **answer: Any) -> Row:
    """A row of ANSWERS, as far as a way knows it: `correct` by `parsed`, unless there is no answer.

    A model whose output is not finite was asked and gave no answer, which is wrong. In writing `correct` is
    the verdict's.
    """
    row: Row = {"question": question.id, "role": question.role, "way": way, **answer}
    has_right = question.answer is not None and way != "written"
    if has_right and row.get("reason") in (None, NOT_FINITE):
        row["correct"] = row.get("parsed") == question.answer
    return row


def verdict(question: Question, output: str, prompt: str) -> Row:
    """Verdict, the rule that decided, the candidates that are named, matches of others, whether it is right.

    Nothing if the question has no accepted answer. `prompt`: what was asked, which a model may repeat.
    """
    if not question.accepted:
        return {}
    judgement = judge.judged(
        judge.Case(
            output,
            question.accepted,
            question.stale,
            question.others,
            question=prompt,
            several=question.several,
        )
    )
    return {
        "verdict": judgement.verdict,
        "named": list(judgement.named),
        "rule": judgement.reason,
        "exact": [match(answer_of(output), question.accepted) for match in (exact_match, contains)],
        "correct": judgement.verdict == "correct",
    }
