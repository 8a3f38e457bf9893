"""When the values of a subject and relation held, as far as the dumps of a sequence prove it. Pure functions.

Days are packed (YYYYMMDD). A statement holds *certainly* from the last day that its start may be to the first
day that its end may be, and *possibly* from the first day of its start to the last day of its end.
"""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Iterator, Sequence
from typing import Literal, NamedTuple

from factdrift.streams.changes import Dated, Span, day_number

EVER, NEVER_ENDS = -(10**15), 10**15
"""Before all days and after them."""

Verdict = Literal["correct", "wrong", "unclear"]
Precision = Literal["day", "month", "year"]
PRECISIONS: tuple[Precision, ...] = ("day", "month", "year")


class Told(NamedTuple):
    """What the last dump that has a statement tells of it."""

    value: int
    start: Span | None
    end: Span | None
    start_unknown: bool
    end_unknown: bool
    measured: bool
    """It has a point in time and no start: it was true then, and nothing is known of other days."""
    first_dump: int
    """Place of the first dump that has it."""
    last_dump: int
    """Place of the last dump that has it."""
    removed: bool
    """The next dump does not have it."""
    ended: Dated | None
    """When it changed, if an update says that it is obsolete."""


class Held(NamedTuple):
    """Days on which a value held. `certain` is None where nothing proves any."""

    value: int
    certain: tuple[int, int] | None
    possible: tuple[int, int]


class Asked(NamedTuple):
    """A date at a precision: its first and last day, and the date as 2018, 2018-03 or 2018-03-05."""

    precision: Precision
    first: int
    last: int
    text: str


def held(told: Told, days: Sequence[int]) -> Held:
    """When the value of one statement held; `days` are those of the dumps."""
    seen = days[told.last_dump]
    possible_first = told.start.first if told.start else EVER
    if told.measured:
        return Held(told.value, None, (EVER, NEVER_ENDS))
    certain_first = told.start.last if told.start and not told.start_unknown else days[told.first_dump]
    certain_last: int | None
    if told.end:
        certain_last, possible_last = told.end.first, told.end.last
    elif told.end_unknown:
        certain_last, possible_last = None, seen
    elif told.removed and told.ended:
        certain_last, possible_last = told.ended.first, told.ended.last
    else:
        # Removed without an update, or still stated: nothing tells of an end.
        certain_last, possible_last = seen, NEVER_ENDS
    certain = None if certain_last is None or certain_last < certain_first else (certain_first, certain_last)
    return Held(told.value, certain, (possible_first, possible_last))


def verdict(timeline: Iterable[Held], value: int, first: int, last: int) -> Verdict:
    """Whether a value held on all days of a date, on none, or the timeline does not prove either."""
    own = [each for each in timeline if each.value == value]
    if any(each.certain and each.certain[0] <= first and last <= each.certain[1] for each in own):
        return "correct"
    if all(each.possible[1] < first or last < each.possible[0] for each in own):
        return "wrong"
    return "unclear"


def dates_within(certain: tuple[int, int]) -> Iterator[Asked]:
    """A date of each precision that lies wholly in an interval, as near to its middle as there is one."""
    begin, end = (day_number(day) for day in certain)
    middle = datetime.date.fromordinal((begin + end) // 2)
    yield Asked("day", _packed(middle), _packed(middle), middle.isoformat())
    for span_of in (_month, _year):
        own = span_of(middle)
        neighbours = (span_of(day) for day in _beside(own) if begin <= day.toordinal() <= end)
        for span in (own, *neighbours):
            if begin <= day_number(span.first) and day_number(span.last) <= end:
                yield span
                break


def _beside(span: Asked) -> tuple[datetime.date, datetime.date]:
    """The day before a date and the day after it."""
    return (
        datetime.date.fromordinal(day_number(span.first) - 1),
        datetime.date.fromordinal(day_number(span.last) + 1),
    )


def _month(day: datetime.date) -> Asked:
    first = day.replace(day=1)
    last = (first + datetime.timedelta(days=31)).replace(day=1) - datetime.timedelta(days=1)
    return Asked("month", _packed(first), _packed(last), f"{day:%Y-%m}")


def _year(day: datetime.date) -> Asked:
    return Asked("year", day.year * 10_000 + 101, day.year * 10_000 + 1231, f"{day.year:04d}")


def _packed(day: datetime.date) -> int:
    return day.year * 10_000 + day.month * 100 + day.day
