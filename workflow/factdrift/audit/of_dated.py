"""Checks of one question with a date against all statements of both dumps, those that have ended included."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from qwikidata.claim import WikidataClaim

from factdrift.audit.kinds import UNCHECKED
from factdrift.audit.lines import Entity
from factdrift.audit.of_updates import Finding, outcomes
from factdrift.audit.sentences import MONTHS
from factdrift.audit.values import END, START, entity_of, identity, is_unknown, plain, raw_of, spans
from factdrift.audit.world import packed

Row = Mapping[str, Any]


class Both(NamedTuple):
    """The lines of the subjects and options in the old and in the new dump; `supplied`: labels by users.
    `others`: the stream has more dumps than these two."""

    old: Mapping[str, Entity]
    new: Mapping[str, Entity]
    supplied: Mapping[str, str]
    others: bool


def check_question(row: Row, both: Both) -> Iterator[Finding]:
    """The findings of each kind about one question."""
    if both.others and row["holds"] != "now" and not any(_own(row, both)):
        yield "held", UNCHECKED, "neither dump states the answer; another one of the stream may"
    else:
        yield from outcomes("held", _held(row, both))
    yield from outcomes("asked", _asked(row, both))
    yield from outcomes("marks", _marks(row))
    if row["options"]:
        yield from outcomes("options", _options(row, both))


def _claims(row: Row, both: Both) -> Iterator[tuple[str, WikidataClaim]]:
    """The statements of subject and relation in both dumps that are not deprecated and have a value."""
    for side, dump in (("new", both.new), ("old", both.old)):
        line = dump.get(row["asked_s"])
        for claim in line.of(row["asked_p"]) if line else ():
            if claim.mainsnak.snaktype == "value":
                yield side, claim


def _label(claim: WikidataClaim, both: Both) -> str:
    name = entity_of(claim.mainsnak)
    if name is None:
        return plain(raw_of(claim.mainsnak))
    lines = (dump[name] for dump in (both.new, both.old) if name in dump)
    return plain(next((line.label for line in lines if line.label), both.supplied.get(name, name)))


def _is_answer(claim: WikidataClaim, row: Row, both: Both) -> bool:
    """Whether a statement has the answer as its value: by its id where options give it, else by its label."""
    name = entity_of(claim.mainsnak)
    if row["options"] and name and row["answer_index"] in range(len(row["options"])):
        return bool(name == row["option_ids"][row["answer_index"]])
    return _label(claim, both) == plain(row["answer_label"])


def _own(row: Row, both: Both) -> Iterator[tuple[str, WikidataClaim]]:
    return ((side, claim) for side, claim in _claims(row, both) if _is_answer(claim, row, both))


def _held(row: Row, both: Both) -> Iterator[str]:
    first, last = row["first_day"], row["last_day"]
    claims, own = list(_claims(row, both)), list(_own(row, both))
    if not own:
        yield f"neither dump states {row['answer_label']!r}"
        return
    newest = [claim for side, claim in own if side == "new"] or [claim for _, claim in own]
    if not any(_may_hold(claim, first, last) for claim in newest):
        said = "; ".join(sorted({_times(claim) for claim in newest}))
        yield f"{row['answer_label']!r} did not hold on all of {row['date']}: {said}"
    answers = {identity(claim.mainsnak) for _, claim in own}
    seen = set()
    for _, claim in claims:
        if identity(claim.mainsnak) in answers or identity(claim.mainsnak) in seen:
            continue
        if _surely_held(claim, first, last):
            seen.add(identity(claim.mainsnak))
            yield f"{_label(claim, both)!r} held on a day of {row['date']} too: {_times(claim)}"


def _may_hold(claim: WikidataClaim, first: int, last: int) -> bool:
    """Whether no date of a statement says that it did not hold on a day of a span."""
    starts, ends = spans(claim, START), spans(claim, END)
    began = not starts or min(packed(each.first) for each in starts) <= first
    return began and (not ends or max(packed(each.last) for each in ends) >= last)


def _surely_held(claim: WikidataClaim, first: int, last: int) -> bool:
    """Whether the start and the end of a statement say that it held on some day of a span."""
    starts, ends = spans(claim, START), spans(claim, END)
    if not starts or not ends or is_unknown(claim, END):
        return False
    begin, end = max(packed(each.last) for each in starts), min(packed(each.first) for each in ends)
    return begin < last and end > first and begin < end


def _times(claim: WikidataClaim) -> str:
    start, end = (" or ".join(each.text for each in spans(claim, name)) or "?" for name in (START, END))
    return f"{claim.claim_id} from {start} to {end}"


def _asked(row: Row, both: Both) -> Iterator[str]:
    lines = (dump.get(row["asked_s"]) for dump in (both.new, both.old))
    subject = next((plain(line.label) for line in lines if line and line.label), None)
    for name in ("question", "context"):
        if subject and row[name] and subject.casefold() not in plain(row[name]).casefold():
            yield f"the {name} {row[name]!r} does not name {subject!r}"
    year, month, day = (int(part) if part else None for part in _parts(row["date"]))
    said = plain(row["question"])
    if not re.search(rf"(?<!\d){year}(?!\d)", said):
        yield f"the question {said!r} does not name the year {year}"
    if month and MONTHS[month - 1] not in said:
        yield f"the question {said!r} does not name {MONTHS[month - 1]}"
    if day and not re.search(rf"(?<!\d){day}(?!\d)", said):
        yield f"the question {said!r} does not name the day {day}"


def _parts(date: str) -> tuple[str, str | None, str | None]:
    year, _, rest = date.partition("-")
    month, _, day = rest.partition("-")
    return year, month or None, day or None


def _marks(row: Row) -> Iterator[str]:
    year, month, day = (int(part) if part else None for part in _parts(row["date"]))
    assert year is not None
    precision = "day" if day else "month" if month else "year"
    if row["precision"] != precision:
        yield f"precision is {row['precision']}, the date {row['date']}"
    low = year * 10_000 + (month or 1) * 100 + (day or 1)
    high_month = month or 12
    if row["first_day"] != low or row["last_day"] // 100 != year * 100 + high_month or (
        day and row["last_day"] != low
    ):  # fmt: skip
        yield f"{row['first_day']} to {row['last_day']} is not {row['date']}"
    as_of = row["as_of"]
    if as_of.year * 10_000 + as_of.month * 100 + as_of.day != row["last_day"]:
        yield f"as_of is {as_of}, the date ends on {row['last_day']}"
    wanted = {
        "task": 1 if row["holds"] == "now" else 2,
        "hop": 0,
        "asked_s": row["s"],
        "asked_p": row["p"],
        "chain": f"{row['s']}-{row['p']}",
        "open_only": not row["options"],
        "rel_id": None,
    }
    for name, value in wanted.items():
        if row[name] != value:
            yield f"{name} is {row[name]}, by the row {value}"
    if row["holds"] not in ("now", "before", "then"):
        yield f"holds is {row['holds']}"


def _options(row: Row, both: Both) -> Iterator[str]:
    options, answer, verdicts = row["options"], row["answer_index"], row["option_verdicts"]
    if len({plain(each).casefold() for each in options}) < len(options):
        yield f"two options are equal: {options}"
    if answer not in range(len(options)) or options[answer] != row["answer_label"]:
        yield f"option {answer} is not the answer {row['answer_label']!r}"
    if [place for place, each in enumerate(verdicts or ()) if each == "correct"] != [answer]:
        yield f"the verdicts are {verdicts}, the answer is option {answer}"
    stated: dict[str, list[WikidataClaim]] = {}
    for _, claim in _claims(row, both):
        stated.setdefault(entity_of(claim.mainsnak) or _label(claim, both), []).append(claim)
    for name, label, verdict in zip(row["option_ids"], options, verdicts or (), strict=False):
        here = name in stated or label in stated
        if (verdict == "never") == here:
            yield f"{label!r} is called {verdict}, and the dumps {'state' if here else 'do not state'} it"
        line = both.new.get(name) or both.old.get(name)
        if line and line.label and plain(line.label) != plain(label):
            yield f"{name}: label {label!r} where the dumps have {line.label!r}"


def named_entities(row: Row) -> Iterator[tuple[str, frozenset[str] | None]]:
    """The entities whose lines the checks of a question need, with the relations of each."""
    yield row["asked_s"], frozenset([row["asked_p"]])
    for name in row["option_ids"] or ():
        if re.fullmatch(r"[QP]\d+", name):
            yield name, frozenset()
