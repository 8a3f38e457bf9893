"""The verdict on what a model has written, as columns of ANSWERS."""

from __future__ import annotations

from factdrift.evaluation.questions.question import Question
from factdrift.evaluation.ways.asked import Row
from factdrift.verdict.judge import Case, judged
from factdrift.verdict.matching import exact_match


def verdict(question: Question, output: str, prompt: str) -> Row:
    """Verdict, the rule that decided, the candidates that are named, exact match, and whether it is right.

    Nothing if the question has no accepted answer. `prompt`: what was asked, which a model may repeat.
    """
    if not question.accepted:
        return {}
    found = judged(
        Case(
            output,
            question.accepted,
            question.stale,
            question.others,
            question=prompt,
            several=question.several,
        )
    )
    return {
        "verdict": found.verdict,
        "named": list(found.named),
        "rule": found.reason,
        "exact": [exact_match(output, question.accepted)],
        "correct": found.verdict == "correct",
    }
