"""Chains up to a later day, from former chains and what Wikidata says now. Days are packed (YYYYMMDD).

The former part of a chain stays as it is unless Wikidata now says otherwise; then its present word counts.
"""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.evaluation.questions.cutoff import REASONS, Left, row_of, row_with
from factdrift.evaluation.questions.tenures import Chain, Name, Several, Tenure, names_of, tenures
from factdrift.streams.timelines import EVER, NEVER_ENDS, UNNAMED, day_number, verdict
from factdrift.streams.timelines import Tenure as StatementTenure
from factdrift.tempripple.phrases import normal
from factdrift.wikidata.ids import entity_id, entity_number, is_made_up
from factdrift.wikidata.time import pack_date

Timeline = Sequence[StatementTenure]
Days = Mapping[int, Sequence[Tenure]]


class Dates(NamedTuple):
    """The first day of the chains, and the last day of the former and of the new chains."""

    first: int
    former: int
    last: int


class Refreshed(NamedTuple):
    """A chain up to the new day, or why it is left out; whether Wikidata has changed its former part."""

    row: Row | Left
    changed: bool = False


def refreshed(row: Row, timeline: Timeline, names: Mapping[int, Name], dates: Dates) -> Refreshed:
    """A row of CHAINS continued by a timeline of its subject and relation; `names`: of the values in it."""
    if not any(span.certain and not span.doubted and span.certain[1] > dates.former for span in timeline):
        return Refreshed(Left("unsaid"))
    holders = dict(zip(_values(row, names), row["holders"], strict=True))
    if not holders.keys() & names.keys():
        return Refreshed(Left("strange"))
    known = {value: _name(holder, value, names.get(value)) for value, holder in holders.items()}
    asked = {name: row[name] for name in Chain._fields if name in row}
    now = Chain(**asked, timeline=timeline, names={**names, **known})
    former = [span for value, holder in holders.items() for span in _spans(holder, value)]
    both = now._replace(timeline=[*former, *timeline])
    try:
        whole = tenures(both.timeline, dates.first, dates.last)
    except Several:
        whole = None
    if whole is None or any(_excluded(span, timeline) for span in former):
        return Refreshed(row_of(now, dates.first, dates.last), changed=True)
    before = _days(holders)
    if _on(before, dates.former) != _on(whole, dates.former):
        return Refreshed(row_of(both, dates.first, dates.last), changed=True)
    return Refreshed(row_with(both, _spliced(before, whole, dates.former)))


def extended(row: Row, written: Chain, dates: Dates) -> Row:
    """A row of CHAINS with the later holders of a written succession; holders that the row lacks have no id.

    The first one written is the holder at the end of the former chain. Raises InputError if that is another
    one, or if the row cannot be continued.
    """
    holders = dict(enumerate(row["holders"], 1))
    known = {normal(name): value for value, holder in holders.items() for name in names_of(holder)}
    names = {value: _name(own, 0, None) for value, own in holders.items()}
    values = {UNNAMED: UNNAMED}
    for value, name in written.names.items():
        values[value] = known.get(normal(name.label or ""), len(names) + 1)
        names.setdefault(values[value], name)
    at_end, *later = (span._replace(value=values[span.value]) for span in written.timeline)
    before = _days(holders)
    if _on(before, dates.former) != {at_end.value} - {UNNAMED}:
        raise InputError(f"{written.chain}: its first row has another holder than the chain; correct it")
    if not all(span.possible[0] > dates.former for span in later):
        raise InputError(f"{written.chain}: a start lies in the time of the chain; leave the row out")
    timeline = [span for value, holder in holders.items() for span in _spans(holder, value)]
    certain = dates.former, max(dates.former, (at_end.certain or (0, 0))[1])
    timeline += [at_end._replace(certain=certain, possible=(EVER, at_end.possible[1])), *later]
    asked = {name: row[name] for name in Chain._fields if name in row}
    whole = tenures(timeline, dates.first, dates.last)
    made = row_with(Chain(**asked, timeline=(), names=names), _spliced(before, whole, dates.former))
    if isinstance(made, Left) or len(made["holders"]) < len(names):
        reason = REASONS[made.reason if isinstance(made, Left) else "in_prompt"]
        raise InputError(f"{written.chain}: {reason}; leave its rows out")
    return made


def _days(holders: Mapping[int, Row]) -> Days:
    """The tenures of holders as the former chain has them."""
    return {value: [Tenure(**own) for own in holder["tenures"]] for value, holder in holders.items()}


def _values(row: Row, names: Mapping[int, Name]) -> list[int]:
    """The values of the holders: an item of the timeline by its id or else a name; without any their id.

    A holder whose id is made up or not known has a number below 0.
    """
    known = ((name, value) for value, own in names.items() for name in (own.label, *own.aliases))
    items = {normal(name): value for name, value in known if name}
    values: list[int] = []
    for number, holder in enumerate(row["holders"], 1):
        made_up = holder["id"] is None or is_made_up(holder["id"])
        own = -number if made_up else entity_number(holder["id"]) or -number
        by_name = (items.get(normal(name)) for name in names_of(holder))
        others = [value for value in by_name if value and value not in values]
        values.append(own if own in names or not others else others[0])
    return values


def _name(holder: Row, value: int, now: Name | None) -> Name:
    """The name that a holder has in the former chain, with what Wikidata now calls it as aliases."""
    others = [*holder["aliases"], *((now.label, *now.aliases) if now else ())]
    aliases = dict.fromkeys(alias for alias in others if alias and alias != holder["label"])
    return Name(entity_id(value) if value > 0 else holder["id"], holder["label"], list(aliases))


def _spans(holder: Row, value: int) -> Iterator[StatementTenure]:
    """The tenures of a holder that are certain by the former chain.

    Of a tenure that is open at an end only the day at its other end is certain: a holder that the chain lacks
    may be there.
    """
    for own in holder["tenures"]:
        first, last = own["first"] or own["last"], own["last"] or own["first"]
        if own["share"] == 1 and first is not None:
            earliest, latest = own["first"] or EVER, own["last"] or NEVER_ENDS
            yield StatementTenure(value, (first, last), (earliest, latest))


def _excluded(span: StatementTenure, timeline: Timeline) -> bool:
    """Whether the statements of the same value exclude the first or the last day of a former span."""
    own = [other for other in timeline if other.value == span.value]
    return bool(own) and any(verdict(own, span.value, day, day) == "wrong" for day in span.certain or ())


def _on(days: Days, day: int) -> set[int]:
    """The values that count on a day."""
    spans = ((value, own.first or day, own.last or day) for value, parts in days.items() for own in parts)
    return {value for value, first, last in spans if first <= day <= last and value != UNNAMED}


def _spliced(before: Days, whole: Days, last: int) -> dict[int, list[Tenure]]:
    """The days of `before` up to the last former day, and those of `whole` behind it."""
    after = pack_date(datetime.date.fromordinal(day_number(last) + 1))
    days: dict[int, list[Tenure]] = {}
    for value in dict.fromkeys((*before, *whole)):
        former = (own for own in before.get(value, ()) if (own.first or last) <= last)
        early = [own._replace(last=min(own.last or last, last)) for own in former]
        newer = (own for own in whole.get(value, ()) if (own.last or after) >= after)
        late = [own._replace(first=max(own.first or after, after)) for own in newer]
        meets = early and late and (early[-1].last, late[0].first) == (last, after)
        if meets and early[-1].share == late[0].share:
            late[0] = early.pop()._replace(last=late[0].last)
        if early or late:
            days[value] = [*early, *late]
    return days
