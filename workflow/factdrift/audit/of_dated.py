"""Checks of one question with a date against all statements of both dumps, those that have ended included."""

import itertools
import re
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple

from qwikidata.claim import WikidataClaim

from factdrift.audit.dates import Day
from factdrift.audit.kinds import UNCHECKED
from factdrift.audit.lines import Entity
from factdrift.audit.of_updates import Finding, differing, outcomes
from factdrift.audit.phrases import date_text
from factdrift.audit.sentences import BLANK, Templates
from factdrift.audit.values import END, START, entity_of, identity, is_unknown, plain, raw_of, spans
from factdrift.audit.world import packed

Row = Mapping[str, Any]


class Both(NamedTuple):
    """The lines of the subjects and options in the old and in the new dump; `supplied`: labels by users.
    `others`: the stream has more dumps than these two. `day`: that of the new dump."""

    old: Mapping[str, Entity]
    new: Mapping[str, Entity]
    supplied: Mapping[str, str]
    others: bool
    day: Day
    templates: Templates


def check_question(row: Row, both: Both) -> Iterator[Finding]:
    """The findings of each kind about one question."""
    if both.others and row["holds"] != "now" and not any(_own(row, both)):
        yield "held", UNCHECKED, "neither dump states the answer; another one of the stream may"
    else:
        yield from outcomes("held", _held(row, both))
    yield from outcomes("asked", itertools.chain(_asked(row, both), _aliases(row, both)))
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
        times = "; ".join(sorted({_times(claim) for claim in newest}))
        yield f"{row['answer_label']!r} did not hold on all of {row['date']}: {times}"
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
    began = not starts or min(packed(span.first) for span in starts) <= first
    return began and (not ends or max(packed(span.last) for span in ends) >= last)


def _surely_held(claim: WikidataClaim, first: int, last: int) -> bool:
    """Whether the start and the end of a statement say that it held on some day of a span."""
    starts, ends = spans(claim, START), spans(claim, END)
    if not starts or not ends or is_unknown(claim, END):
        return False
    begin, end = max(packed(span.last) for span in starts), min(packed(span.first) for span in ends)
    return begin < last and end > first and begin < end


def _times(claim: WikidataClaim) -> str:
    start, end = (" or ".join(span.text for span in spans(claim, name)) or "?" for name in (START, END))
    return f"{claim.claim_id} from {start} to {end}"


def _asked(row: Row, both: Both) -> Iterator[str]:
    lines = (dump.get(row["asked_s"]) for dump in (both.new, both.old))
    subject = next((line for line in lines if line and line.label), None)
    first, stem = _dated(row["question"].partition(BLANK)[0])
    due = _written(row["date"])
    if first != due or not row["question"].endswith(BLANK):
        yield f"the question {row['question']!r} is not one about {due}"
    last, clause = _dated(row["context"] or "")
    is_present = last == _written("-".join(f"{part:02d}" for part in both.day))
    if last.isdigit() or not last:
        yield f"the context {row['context']!r} is of no day"
    words, others = stem.split(), clause.split()
    sentence, newest = " ".join(others[: len(words)]), " ".join(others[len(words) :])
    if not newest or sum(one != two for one, two in zip(words, others, strict=False)) > 1:
        yield f"question and context {row['context']!r} are not the same sentence but for the verb"
        return
    if is_present and subject is not None and both.templates.source(row["asked_p"]) == "bundled":
        if plain(subject.label) not in plain(sentence):
            sentence = sentence[:1].upper() + sentence[1:]
        named = {"label": subject.label, "description": subject.description}
        reason = both.templates.misfit(f"{sentence} {BLANK}", {"id": row["asked_p"], "label": None}, named)
        if reason:
            yield f"the context: {reason}"
    names = {entity_of(claim.mainsnak) for _, claim in _own(row, both)}
    is_newest = plain(newest).rstrip(".") == plain(row["answer_label"]).rstrip(".")
    if len(names) < 2 and row["discriminates"] == is_newest:
        yield f"discriminates is {row['discriminates']}, the context says {newest!r}"


def _dated(text: str) -> tuple[str, str]:
    """`As of 5 March 2018, the mayor of X is ` -> `5 March 2018` and the rest."""
    match = re.match(r"As of ([^,]+), (.*)", text, re.DOTALL)
    return (match[1], match[2]) if match else ("", text)


def _written(date: str) -> str:
    return date_text(_parts(date), 9 + date.count("-"))


def _parts(date: str) -> tuple[int, int, int]:
    """Year, month and day; 0 for what a date does not say."""
    year, month, day, *_ = (int(part) for part in f"{date}-0-0".split("-"))
    return year, month, day


def _aliases(row: Row, both: Both) -> Iterator[str]:
    names = {entity_of(claim.mainsnak) for _, claim in _own(row, both)}
    lines = [dump[name] for name in names if name for dump in (both.new, both.old) if name in dump]
    if len(names) == 1 and lines and (lines[0].id in both.new or not both.others):
        due = sorted({*map(plain, lines[0].aliases)} - {""})
        if [plain(alias) for alias in row["answer_aliases"] or ()] != due:
            yield f"the aliases are {row['answer_aliases']}, in the dump {due}"


def _marks(row: Row) -> Iterator[str]:
    year, month, day = _parts(row["date"])
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
    yield from differing(row, wanted, "row")
    for flag in sorted(set(row["flags"]) - {"other_kind"}):
        yield f"flag {flag} is unknown"
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
    """The entities whose lines the checks of a question need beside the subject's."""
    for name in row["option_ids"] or ():
        if re.fullmatch(r"[QP]\d+", name):
            yield name, frozenset()
