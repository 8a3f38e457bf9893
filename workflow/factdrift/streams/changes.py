"""When an object of an update changed, and how long after that Wikidata had it. Pure functions.

The dates of the dumps are D_0 < D_1 < ...; interval i lies between D_(i-1) and D_i. Days are packed
(YYYYMMDD).
"""

from __future__ import annotations

import calendar
import datetime
from collections.abc import Sequence
from typing import NamedTuple

from factdrift.tempripple.claims import day_number as ordinal_of
from factdrift.wikidata.time import YEAR, pack_date, unpack


class Span(NamedTuple):
    """A date as it is written, and the first and the last day that it covers."""

    text: str
    precision: int
    first: int
    last: int


class Seen(NamedTuple):
    """A triple of one interval's `updates` table. Dates are those that the rules saw."""

    interval: int
    kept: bool
    """It reaches the dataset."""
    change: str
    value: tuple[str, str]
    """Datatype and canonical value."""
    label: str
    functional: bool
    """The relation has one value at a time."""
    old_statement: str | None
    new_statement: str | None
    start: Span | None
    end: Span | None
    pit: Span | None
    value_date: Span | None
    """The value itself, of a relation whose value is the day of the change."""
    created: Span | None
    """When a new subject came into being."""
    old_end: Span | None
    """The end that the old dump gave."""
    dropped_end: Span | None
    """The end that the new dump gives with the same statement, which the filters drop there."""


class Dated(NamedTuple):
    """When an object changed: as written (null if undated), the days on which it may have been, and what says
    so."""

    date: str | None
    first: int
    last: int
    by: str


def day_number(packed: int) -> int:
    """The ordinal of a packed day, 0 or less before the year 1.

    A day that the month lacks counts as the month's last.
    """
    year, month, day = unpack(packed)
    year = year + 1 if year < 0 else year  # there is no year 0: before it, arithmetic needs one
    month = min(max(month, 1), 12)
    last = calendar.monthrange(year % 400 + 400, month)[1]
    return ordinal_of(year, month, min(max(day, 1), last))


def dated(triples: Sequence[Seen], days: Sequence[int]) -> list[Dated | None]:
    """When each object of one update changed; None for static ones.

    `days`: the dates of all dumps. An object that ended without a date inside the interval ended when the
    first dated new object of the same update began.
    """
    began = {place: _began(triple, days) for place, triple in enumerate(triples) if triple.label == "new"}
    known = sorted((date for date in began.values() if date.by != "interval"), key=lambda date: date[1:3])
    dates: list[Dated | None] = []
    for place, triple in enumerate(triples):
        if triple.label == "new":
            dates.append(began[place])
        elif triple.label != "obsolete":
            dates.append(None)
        elif end := _ended(triple, days):
            dates.append(Dated(end.text, end.first, end.last, "end"))
        elif known:
            dates.append(known[0]._replace(by="replacement"))
        else:
            dates.append(_undated(triple.interval, days))
    return dates


def _ended(triple: Seen, days: Sequence[int]) -> Span | None:
    """The end that is given for an obsolete object: by the new dump, if it does not lie after that, else by
    the old one, if it may lie in the interval."""
    later = triple.dropped_end
    if later is not None and later.precision >= YEAR and later.first <= days[triple.interval]:
        return later
    end = triple.end
    return end if end is not None and _inside(end, triple.interval, days) else None


def _began(triple: Seen, days: Sequence[int]) -> Dated:
    candidates = (
        ("value", triple.value_date),
        ("start", triple.start),
        ("point_in_time", triple.pit),
        ("created", triple.created),
    )
    for by, span in candidates:
        if span is not None and _inside(span, triple.interval, days):
            return Dated(span.text, span.first, span.last, by)
    return _undated(triple.interval, days)


def _inside(span: Span, interval: int, days: Sequence[int]) -> bool:
    """Whether a date of a year or finer may lie in the interval."""
    return span.precision >= YEAR and span.first <= days[interval] and span.last > days[interval - 1]


def _undated(interval: int, days: Sequence[int]) -> Dated:
    after = datetime.date.fromordinal(day_number(days[interval - 1]) + 1)
    return Dated(None, pack_date(after), days[interval], "interval")


def lag(
    triple: Seen, change: Dated | None, before: Sequence[Seen], days: Sequence[int]
) -> tuple[int, int] | None:
    """The fewest and the most days from a change to its appearance in Wikidata; None if unknown.

    `before`: the triples of the same subject and relation in earlier intervals, dropped ones too. A fact
    appeared after the last dump without its statement, and not after the first dump with it.
    """
    if change is None or change.by == "interval":
        return None
    interval = _appeared(triple, change, before)
    if interval is None:
        return None
    earliest = day_number(days[interval - 1]) + 1
    return earliest - day_number(change.last), day_number(days[interval]) - day_number(change.first)


def _appeared(triple: Seen, change: Dated, before: Sequence[Seen]) -> int | None:
    """The interval in which Wikidata first had the change; None if the first dump had it, or if unknown."""
    if triple.label == "obsolete":
        announced = change.by == "end" and triple.old_end is not None and triple.old_end[2:] == change[1:3]
        # By a replacement without an end of its own, a fact that both dumps still state has no appearance.
        unsaid = change.by == "replacement" and triple.change != "F-"
        return None if announced or unsaid else triple.interval
    if triple.change == "F+":
        return triple.interval
    statement = triple.old_statement
    for earlier in sorted(before, key=lambda each: -each.interval):
        if earlier.new_statement == statement and earlier.change == "F0":
            statement = earlier.old_statement
        elif earlier.new_statement == statement and earlier.change == "F+":
            return earlier.interval
    return None
