"""The letter of the option that a model chooses. Imports torch."""

from collections.abc import Iterator, Sequence

from factdrift.evaluation.questions.prompts import filled, parsed
from factdrift.evaluation.session import Session
from factdrift.evaluation.ways.asked import Asked, Row, judged
from factdrift.models.deltas import Changes
from factdrift.models.writing import Begun


def ask(session: Session, asked: Sequence[Asked], changes: Changes) -> Iterator[Row]:
    """What the model writes greedily after the prompt; the first stand-alone letter is the answer."""
    tokens = session.settings.answer_tokens
    begun: list[Begun] = []
    too_long: set[int] = set()
    for place, each in enumerate(asked):
        prompt = filled(session.settings.answer_prompts_letter, each.question, each.before.strip())
        ids = session.turn(prompt) or session.sentence(prompt).ids
        if len(ids) + tokens > session.loaded.spec.positions:
            too_long.add(place)
        else:
            begun.append(Begun(ids, tokens, each.owner, session.ends))
    written = iter(session.written(begun, changes))
    for place, each in enumerate(asked):
        if place in too_long:
            yield judged(each, "letter", reason="too_long")
        else:
            output = session.text(next(written))
            yield judged(each, "letter", output=output, parsed=parsed(output, each.question.targets))
