"""What a candidate asks, and the values of the columns of probes: answers, steps of a path, conditions."""

from collections.abc import Sequence
from typing import NamedTuple

from factdrift.core.columns import Row
from factdrift.ripples.words import Sentence
from factdrift.ripples.world import Fact, Name


class ProbeQuestion(NamedTuple):
    """What a candidate asks, before it is checked. `subject`: the item whose fact is asked for."""

    subject: int
    relation: int
    sentence: Sentence | None
    answers: Sequence[Row]
    path: Sequence[Row]
    kind: str = ""
    stale: Sequence[Row] = ()
    conditions: Sequence[Row] = ()
    was_other: bool = False
    """The old dump states another answer."""
    date: str | None = None
    popularity: int = 0


Candidate = ProbeQuestion | str
"""What is asked, or the reason why it cannot be (a key of REASONS)."""


def answer(item: int | None, name: Name) -> Row:
    """A value of ANSWER."""
    return {"id": None if item is None else f"Q{item}", "label": name.label, "aliases": list(name.aliases)}


def step(subject: int, relation: int, item: str | None, statement: str | None, dump: str) -> Row:
    """A value of STEP."""
    fact = {"subject": f"Q{subject}", "relation": f"P{relation}", "object": item}
    return {**fact, "statement": statement, "dump": dump}


def step_of(fact: Fact, dump: str) -> Row:
    statement = fact.old_statement if dump == "old" else fact.new_statement
    return step(fact.subject, fact.property, fact.item, statement, dump)


def condition_of(sentence: Sentence, answers: Sequence[Row], path: Row) -> Row:
    return {"prompt": sentence.prompt, "answers": list(answers), "step": path}
