"""Dates as intervals of the days that they may mean, and days as numbers."""

import datetime
from functools import lru_cache
from typing import NamedTuple

from factdrift.wikidata.time import DAY, MONTH, YEAR, unpack

NEVER, ALWAYS = 1 << 40, -(1 << 40)
"""Day numbers after and before all others: the end of what is ongoing, the start of what has none."""

EPOCH = datetime.date(1970, 1, 1).toordinal()
"""The day number of 1970-01-01, from which Arrow counts days."""

_WIDTH = {8: 9, 7: 99, 6: 999}
"""Precision -> years on either side of the written one: 8 decade, 7 century, 6 millennium.

The interval covers both conventions, in which a century begins with the year 0 or 1."""

_CYCLE_YEARS, _CYCLE_DAYS = 400, 146_097


class Span(NamedTuple):
    """The day numbers of the first and the last day that a date may mean."""

    lo: int
    hi: int


UNSTARTED = Span(ALWAYS, ALWAYS)
ONGOING = Span(NEVER, NEVER)


class Date(NamedTuple):
    """A date as in `factdrift.tempripple.sources.DATE`, no finer than a day."""

    day: int
    precision: int


@lru_cache(maxsize=1 << 16)
def covered(date: Date) -> Span | None:
    """The interval of days that a date may mean; None if its precision is coarser than a millennium."""
    year, month, day = unpack(date.day)
    year = year + 1 if year < 0 else year  # there is no year 0: before it, arithmetic needs one
    if date.precision >= DAY:
        number = day_number(year, month, day)
        return Span(number, number)
    if date.precision == MONTH:
        following = (year, month + 1) if month < 12 else (year + 1, 1)
        return Span(day_number(year, month, 1), day_number(*following, 1) - 1)
    if date.precision == YEAR:
        return Span(day_number(year, 1, 1), day_number(year, 12, 31))
    if date.precision in _WIDTH:
        width = _WIDTH[date.precision]
        return Span(day_number(year - width, 1, 1), day_number(year + width, 12, 31))
    return None


def day_number(year: int, month: int, day: int) -> int:
    """Number of a Gregorian day of any year: 0001-01-01 is 1; years are astronomical (0 is 1 BCE)."""
    cycles, of_cycle = divmod(year, _CYCLE_YEARS)
    return datetime.date(of_cycle + _CYCLE_YEARS, month, day).toordinal() + (cycles - 1) * _CYCLE_DAYS


def arrow_day(number: int) -> int | None:
    """A day number as days since 1970-01-01; None for NEVER and ALWAYS, 0001-01-01 for earlier days."""
    if number in (NEVER, ALWAYS):
        return None
    return max(number, 1) - EPOCH
