"""Wikidata's dates: historical years of any size, coarse precisions, two calendars.

A date is never put into a date type (years down to -13,798,000,000 occur). For comparison it is
packed into one integer, `year * 10000 + month * 100 + day`, whose order is that of the tuple
(year, month, day), also before Christ and for days that no month has. Comparisons are always made
in the Gregorian calendar; what is shown keeps the calendar that was written.
"""

import datetime
import re
from typing import NamedTuple

YEAR, MONTH, DAY = 9, 10, 11
"""Wikibase's precision codes; 8 is decade, 7 century, 6 millennium, down to 0 for a billion years."""

JULIAN_CALENDAR = "Q1985786"

_TIMESTAMP = re.compile(r"([+-])(\d{1,16})-(\d\d)-(\d\d)T(\d\d):(\d\d):(\d\d)Z")
_MONTH_LENGTHS = (31, 28, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)


class Time(NamedTuple):
    """One date as Wikidata states it, with the three readings that the comparisons use.

    `year`, `month`, `day` are as written (month and day 0 where unknown), in the Julian calendar if
    `julian`, else the Gregorian. `written`, `first` and `last` are packed Gregorian days:
    `written` is the date as written (0 read as 1), `first` and `last` are the ends of the
    interval that the date covers at its precision.
    """

    year: int
    month: int
    day: int
    precision: int
    julian: bool
    written: int
    first: int
    last: int


def pack(year: int, month: int, day: int) -> int:
    """(2021, 1, 4) -> 20210104. Keeps the order of the tuples for every sign and size of the year."""
    return year * 10_000 + month * 100 + day


def pack_date(day: datetime.date) -> int:
    """date(2021, 1, 4) -> 20210104."""
    return pack(day.year, day.month, day.day)


def unpack(packed: int) -> tuple[int, int, int]:
    """20210104 -> (2021, 1, 4)."""
    year, rest = divmod(packed, 10_000)
    return year, rest // 100, rest % 100


def iso_day(packed: int) -> str:
    """20210104 -> `2021-01-04`."""
    return "{:04d}-{:02d}-{:02d}".format(*unpack(packed))


def parse_time(timestamp: str, precision: int, calendar: str) -> Time:
    """Reads the `time`, `precision` and `calendarmodel` of a Wikibase time value.

    Raises ValueError if the timestamp is not of Wikibase's form (`+2021-01-04T00:00:00Z`).
    """
    if (match := _TIMESTAMP.fullmatch(timestamp)) is None:
        raise ValueError(f"{timestamp!r} is no Wikibase timestamp such as +2021-01-04T00:00:00Z")
    year = int(match[2]) * (-1 if match[1] == "-" else 1)
    month, day = int(match[3]), int(match[4])
    julian = calendar.endswith(JULIAN_CALENDAR)
    first, last = covered(year, month, day, precision, julian)
    ends = [(year, max(month, 1), max(day, 1)), first, last]
    if julian:
        ends = [julian_to_gregorian(*end) for end in ends]
    return Time(year, month, day, precision, julian, *(pack(*end) for end in ends))


def covered(
    year: int, month: int, day: int, precision: int, julian: bool = False
) -> tuple[tuple[int, int, int], tuple[int, int, int]]:
    """First and last day, in its own calendar, of the interval that a date of this precision covers.

    Decades begin with the year that ends in 0 (1990s: 1990 to 1999); centuries, millennia and longer spans
    end with it (20th century: 1901 to 2000), as Wikibase itself names them.
    """
    if precision >= DAY:
        whole = (year, max(month, 1), max(day, 1))
        return whole, whole
    if precision == MONTH:
        month = max(month, 1)
        return (year, month, 1), (year, month, _month_length(year, month, julian))
    if precision >= YEAR:
        return (year, 1, 1), (year, 12, 31)
    magnitude = abs(year)
    span = 10 ** (YEAR - precision)
    low = magnitude // span * span
    if precision != 8:
        low = max(magnitude - 1, 0) // span * span + 1
    high = low + span - 1
    return ((-high, 1, 1), (-low, 12, 31)) if year < 0 else ((low, 1, 1), (high, 12, 31))


def julian_to_gregorian(year: int, month: int, day: int) -> tuple[int, int, int]:
    """The same day in the (proleptic) Gregorian calendar.

    Both sides count years historically: there is no year 0, -1 is followed by 1.
    """
    from_march, day_of_year = _from_march(year, month, day)
    # Days since 1 March of the Gregorian year 0, which began two days after that of the Julian one.
    days = 365 * from_march + from_march // 4 + day_of_year - 2
    era, day_of_era = divmod(days, 146_097)
    year_of_era = (day_of_era - day_of_era // 1460 + day_of_era // 36_524 - day_of_era // 146_096) // 365
    day_of_year = day_of_era - (365 * year_of_era + year_of_era // 4 - year_of_era // 100)
    return _from_january(year_of_era + 400 * era, day_of_year)


def gregorian_to_julian(year: int, month: int, day: int) -> tuple[int, int, int]:
    """The same day in the Julian calendar; the inverse of `julian_to_gregorian`."""
    from_march, day_of_year = _from_march(year, month, day)
    days = 365 * from_march + from_march // 4 - from_march // 100 + from_march // 400 + day_of_year + 2
    # Four Julian years have 1461 days.
    cycle, day_of_cycle = divmod(days, 1461)
    year_of_cycle = min(day_of_cycle // 365, 3)
    return _from_january(4 * cycle + year_of_cycle, day_of_cycle - 365 * year_of_cycle)


def _from_march(year: int, month: int, day: int) -> tuple[int, int]:
    """The astronomical year, counted from 1 March (a leap day is its last), and its days before a day."""
    return year + (year < 0) - (month <= 2), (153 * ((month + 9) % 12) + 2) // 5 + day - 1


def _from_january(from_march: int, day_of_year: int) -> tuple[int, int, int]:
    """The inverse of `_from_march`."""
    month_from_march = (5 * day_of_year + 2) // 153
    month = (month_from_march + 2) % 12 + 1
    year = from_march + (month <= 2)
    return year - (year <= 0), month, day_of_year - (153 * month_from_march + 2) // 5 + 1


def _month_length(year: int, month: int, julian: bool) -> int:
    astronomical = year + 1 if year < 0 else year
    leap = astronomical % 4 == 0 and (julian or astronomical % 100 != 0 or astronomical % 400 == 0)
    return 29 if month == 2 and leap else _MONTH_LENGTHS[month - 1] if 1 <= month <= 12 else 31
