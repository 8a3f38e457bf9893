"""The letter of the option that a model chooses. Imports torch."""

from collections.abc import Iterator, Sequence

from factdrift.evaluation.questions.prompts import filled, parsed
from factdrift.evaluation.session import Session
from factdrift.evaluation.ways.asked import Asked, Row, judged
from factdrift.models.deltas import Changes
from factdrift.models.templated import untemplated
from factdrift.models.writing import Begun


def ask(session: Session, asked: Sequence[Asked], changes: Changes) -> Iterator[Row]:
    """What the model writes greedily after the prompt; the first stand-alone letter is the answer."""
    tokens = session.settings.answer_tokens
    begun: list[Begun] = []
    too_long: set[int] = set()
    for place, each in enumerate(asked):
        ids = _encoded(
            session, filled(session.settings.answer_prompts_letter, each.question, each.before.strip())
        )
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


def _encoded(session: Session, prompt: str) -> list[int]:
    """The tokens of a prompt, as the turn of a user if the tokenizer has a chat template (`auto`)."""
    tokenizer = untemplated(session.loaded.tokenizer)
    if session.settings.answer_chat_template == "auto" and tokenizer.chat_template is not None:
        turn = [{"role": "user", "content": prompt}]
        text = tokenizer.apply_chat_template(turn, tokenize=False, add_generation_prompt=True)
        # The template has the tokens that begin a text.
        return list(tokenizer(text, add_special_tokens=False)["input_ids"])
    return list(session.sentence(prompt).ids)
