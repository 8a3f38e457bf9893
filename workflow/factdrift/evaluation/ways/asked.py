"""The rows of answers. Imports torch."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

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


def likelihood_row(
    question: Question,
    logprobs: Sequence[float],
    tokens: Sequence[int],
    exact: Sequence[bool] | None,
    normalise: str,
) -> Row:
    """A row of ANSWERS with the mean log-probabilities of all targets, of which the likeliest is the answer.

    Of equally likely targets it is the first. `tokens`: numbers of tokens of the targets;
    `exact`: whether the model itself would write a target; `normalise`: `sum` compares totals.
    """
    row: Row = {"logprobs": logprobs, "tokens": tokens, "exact": exact}
    if not all(map(math.isfinite, logprobs)):
        # Such a model gives the objects no probability, and writes none of them.
        row |= {"logprobs": None, "exact": [False] * len(tokens)}
        return answer_row(question, "loglik", **row, reason=NOT_FINITE)
    whole = np.array(logprobs)
    if normalise == "sum":
        whole = whole * tokens
    likeliest = int(whole.argmax()) if question.answer is not None else None
    return answer_row(question, "loglik", **row, parsed=likeliest)


def verdict(question: Question, output: str, prompt: str) -> Row:
    """Verdict, the rule that decided, the candidates that are named, matches of others, whether it is right.

    Nothing if the question has no accepted answer. `prompt`: what was asked, which a model may repeat.
    """
    if not question.accepted:
        return {}
    answers = question.accepted, question.stale, question.others
    judgement = judge.judged(judge.Case(output, *answers, question=prompt, several=question.several))
    return {
        "verdict": judgement.verdict,
        "named": list(judgement.named),
        "rule": judgement.reason,
        "exact": [match(answer_of(output), question.accepted) for match in (exact_match, contains)],
        "correct": judgement.verdict == "correct",
    }
