"""Checks of a document of the corpus: what its sentences state, against the statements of the dumps."""

from collections.abc import Iterator

from factdrift.audit.dates import packed
from factdrift.audit.kinds import UNCHECKED
from factdrift.audit.of_updates import Dumps, Finding, outcomes
from factdrift.audit.values import entity_of, may_hold, plain
from factdrift.core.columns import Row


def check_document(row: Row, dumps: Dumps) -> Iterator[Finding]:
    """The findings about a document: of the facts whose dump is of the two, and of its sentences."""
    faults, unread = [], 0
    for fact in row["facts"]:
        side = _side(row, fact, dumps)
        if side is None:
            unread += 1
        elif reason := _not_stated(fact, side, dumps):
            faults.append(reason)
    if faults or unread < len(row["facts"]):
        yield from outcomes("stated", faults)
    else:
        yield "stated", UNCHECKED, "the document was of other dumps of the stream"
    yield from outcomes("sentences", _sentences(row, dumps))


def _side(row: Row, fact: Row, dumps: Dumps) -> str | None:
    """The dump by which a fact is stated, `new` or `old`; None if neither."""
    sides = {"new": dumps.t_new, "old": dumps.t_old}
    for side, day in sides.items():
        text = "-".join(f"{part:02}" for part in day)
        if fact["tense"] == "cited":
            if fact["first_day"] == packed(day):
                return side
        elif row["known_from"] <= text and (row["known_until"] is None or text < row["known_until"]):
            return side
    return None


def _not_stated(fact: Row, side: str, dumps: Dumps) -> str:
    """Why the dump does not say that a fact was true on its days; empty if it may have been."""
    line = dumps.side(side).get(fact["subject"])
    claims = [
        claim
        for claim in (line.of(fact["relation"]) if line else ())
        if claim.mainsnak.snaktype == "value" and claim.rank != "deprecated"
        if entity_of(claim.mainsnak) == fact["object"]
    ]
    if not claims:
        return f"the {side} dump does not state {fact['subject']} {fact['relation']} {fact['object']}"
    day = packed(dumps.t_new if side == "new" else dumps.t_old)
    days = (day, day) if fact["tense"] == "now" else (fact["first_day"], fact["last_day"])
    if not any(may_hold(claim, *days) for claim in claims):
        return f"{fact['object']} did not hold from {days[0]} to {days[1]}: {claims[0].claim_id}"
    return ""


def _sentences(row: Row, dumps: Dumps) -> Iterator[str]:
    """Sentences are those of facts, from the first letter to the last, and name subject and object."""
    spans = sorted({(fact["start"], fact["end"]) for fact in row["facts"]})
    if " ".join(row["text"][start:end] for start, end in spans) != row["text"]:
        yield "a sentence is that of no fact, or sentences overlap"
    for fact in row["facts"]:
        sentence = plain(row["text"][fact["start"] : fact["end"]])
        for name in (fact["subject"], fact["object"]):
            label, _ = dumps.name_of(name)
            if label.rstrip(".") not in sentence:
                yield f"{sentence!r} does not name {label!r}"
        if sentence.startswith("According to a profile of ") != (fact["tense"] == "cited"):
            yield f"{sentence!r} is {fact['tense']}"


def subjects(row: Row) -> set[str]:
    """The entities whose statements a document's sentences are compared with."""
    return {row["subject"], *(fact["subject"] for fact in row["facts"])}
