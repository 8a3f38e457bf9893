"""What a model writes. Imports torch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from factdrift.evaluation.questions.prompts import filled
from factdrift.evaluation.session import SHOWN, Session
from factdrift.evaluation.ways.asked import Asked, Row, judged
from factdrift.evaluation.ways.fluency import fluency
from factdrift.evaluation.ways.verdict import begins
from factdrift.models.alignment import AlignmentError
from factdrift.models.deltas import Changes


def ask(session: Session, asked: Sequence[Asked], changes: Changes) -> Iterator[Row]:
    """Greedy continuations of cloze tests: long enough for the longest target about the same edit.

    Long ones have the entropy of their text; all keep their opening. `correct`: whether it is an accepted
    object with which it begins.
    """
    clozes = [_cloze(session, each) for each in asked]
    longest: dict[str, int] = {}
    for each, (cloze, _) in zip(asked, clozes, strict=True):
        about = each.question.edit or each.question.id
        longest[about] = max(longest.get(about, 0), _longest(session, each, cloze))
    ids, counts, openings = [], [], []
    for each, (cloze, before) in zip(asked, clozes, strict=True):
        opening = longest[each.question.edit or each.question.id]
        ids.append(session.sentence(cloze, context=before).ids)
        counts.append(max(session.room(cloze) if each.question.long else 0, opening + SHOWN))
        openings.append(opening + SHOWN)
    written = session.continued(ids, counts, changes, [each.owner for each in asked])
    for each, tokens, prompt, opening, count in zip(asked, written, ids, openings, counts, strict=True):
        if not tokens and count and len(prompt) >= session.loaded.spec.positions:
            yield judged(each, "written", reason="too_long")
            continue
        output = session.opening(tokens, opening)
        row = judged(each, "written", output=output)
        if each.question.long:
            row["entropy"] = fluency([session.text(tokens)]).full
        if each.question.accepted:
            row["correct"] = begins(output, each.question.accepted)
        yield row


def _cloze(session: Session, asked: Asked) -> tuple[str, str]:
    """The text that the model continues, and what stands before it as it is."""
    question = asked.question
    if question.prompt:
        return question.prompt, asked.before
    return filled(session.settings.answer_prompts_loglik, question, asked.before.strip()), ""


def _longest(session: Session, asked: Asked, cloze: str) -> int:
    """Number of tokens of the longest object that is asked about; 0 if none can be aligned."""
    lengths = [0]
    for target in asked.question.targets or asked.question.accepted:
        try:
            sentence = session.sentence(cloze, target)
        except AlignmentError:
            continue
        lengths.append(len(sentence.ids) - sentence.target)
    return max(lengths)
