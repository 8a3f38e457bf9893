"""Candidates of probes, and the parts of their rows."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

from factdrift.ripples.tables import Relations
from factdrift.ripples.words import Sentence, Words
from factdrift.ripples.world import Fact, Name

Row = dict[str, Any]


class Means(NamedTuple):
    """What probes are made with."""

    words: Words
    relations: Relations
    t_old: int
    t_new: int
    seed: int


class Asked(NamedTuple):
    """What a candidate asks, before it is checked. `subject`: the item whose fact is asked for."""

    subject: int
    relation: int
    sentence: Sentence | None
    answers: Sequence[Row]
    path: Sequence[Row]
    kind: str = ""
    stale: Sequence[Row] = ()
    conditions: Sequence[Row] = ()
    date: str | None = None
    popularity: int = 0


def answer(item: int | None, name: Name) -> Row:
    """A value of ANSWER."""
    return {"id": None if item is None else f"Q{item}", "label": name.label, "aliases": list(name.aliases)}


def step(subject: int, relation: int, item: str | None, statement: str | None, dump: str) -> Row:
    """A value of STEP."""
    return {
        "subject": f"Q{subject}",
        "relation": f"P{relation}",
        "object": item,
        "statement": statement,
        "dump": dump,
    }


def step_of(fact: Fact, dump: str) -> Row:
    statement = fact.old_statement if dump == "old" else fact.new_statement
    item = None if fact.object is None else f"Q{fact.object}"
    return step(fact.subject, fact.property, item, statement, dump)


def number_of(each: Row | None) -> int | None:
    """The number of an object of the dataset; None for a literal."""
    identifier = (each or {}).get("id") or ""
    return int(identifier[1:]) if identifier.startswith("Q") else None


def condition_of(sentence: Sentence, answers: Sequence[Row], path: Row) -> Row:
    return {"prompt": sentence.prompt, "answers": list(answers), "step": path}
