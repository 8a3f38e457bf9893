"""Dates of statements as spans of days, read by the data model of Wikibase."""

import re
from collections.abc import Mapping
from typing import Any, NamedTuple

_FORM = re.compile(r"([+-])0*(\d+)-(\d\d)-(\d\d)T[\d:]+Z")
_MONTHS = (31, 29, 31, 30, 31, 30, 31, 31, 30, 31, 30, 31)

Day = tuple[int, int, int]


class Span(NamedTuple):
    """The first and the last Gregorian day (year, month, day) of a date, and the date as text.

    `text` is written as in the datasets: `2021-01-20`, `2021-01`, `2021`, `1990/8`, with ` julian`. `written`
    is the day as written, 00 read as 1.
    """

    first: Day
    last: Day
    written: Day
    text: str


def span(value: Mapping[str, Any]) -> Span | None:
    """The span of a `time` value; None if it is not of Wikibase's form."""
    match = _FORM.fullmatch(str(value.get("time", "")))
    precision = value.get("precision")
    if match is None or not isinstance(precision, int):
        return None
    year = int(match[2]) * (-1 if match[1] == "-" else 1)
    month, day = int(match[3]), int(match[4])
    julian = str(value.get("calendarmodel", "")).endswith("Q1985786")
    written = (year, month or 1, day or 1)
    if precision >= 11:
        first = last = written
    elif precision == 10:
        first, last = (year, month or 1, 1), (year, month or 1, _days(year, month or 1, julian))
    elif precision == 9:
        first, last = (year, 1, 1), (year, 12, 31)
    else:
        first, last = _long(year, 10 ** (9 - precision), precision == 8)
    days = [_gregorian(day_) if julian else day_ for day_ in (first, last, written)]
    return Span(days[0], days[1], days[2], _text(year, month, day, precision) + " julian" * julian)


def _long(year: int, length: int, from_zero: bool) -> tuple[Day, Day]:
    """Decades begin with the year that ends in 0; centuries and longer spans end with it."""
    size = abs(year)
    begin = size - size % length if from_zero else max(size - 1, 0) // length * length + 1
    end = begin + length - 1
    return ((-end, 1, 1), (-begin, 12, 31)) if year < 0 else ((begin, 1, 1), (end, 12, 31))


def _text(year: int, month: int, day: int, precision: int) -> str:
    text = date_id((year, month, day), precision)
    return text if precision >= 9 else f"{text}/{precision}"


def date_id(day: Day, precision: int) -> str:
    """`1776-07-04`, `1776-07`, `1776`; before Christ `-0044`."""
    year, month, number = day
    text = f"{'-' * (year < 0)}{abs(year):04d}"
    return text + f"-{month:02d}" * (precision >= 10) + f"-{number:02d}" * (precision >= 11)


def _days(year: int, month: int, julian: bool = False) -> int:
    counted = year + (year < 0)
    leap = counted % 4 == 0 and (julian or counted % 100 != 0 or counted % 400 == 0)
    return 28 if month == 2 and not leap else _MONTHS[(month - 1) % 12]


def _gregorian(day: Day) -> Day:
    """A Julian day in the Gregorian calendar, by way of its Julian day number (Richards 2013)."""
    year, month, number = day
    counted = year + (year < 0)
    a = (14 - month) // 12
    y, m = counted + 4800 - a, month + 12 * a - 3
    count = number + (153 * m + 2) // 5 + 365 * y + y // 4 - 32083
    f = count + 1401 + (4 * count + 274277) // 146097 * 3 // 4 - 38
    e = 4 * f + 3
    h = 5 * (e % 1461 // 4) + 2
    month = (h // 153 + 2) % 12 + 1
    year = e // 1461 - 4716 + (14 - month) // 12
    return (year - (year <= 0), month, h % 153 // 5 + 1)


def packed(day: Day) -> int:
    """A day as a number that orders days: (2021, 1, 4) -> 20210104."""
    year, month, number = day
    return year * 10_000 + month * 100 + number


def day_of(text: str) -> Day:
    """`2021-01-04` as a day."""
    year, month, day = map(int, text.split("-"))
    return year, month, day


def day_number(year: int, month: int, day: int) -> int:
    """The number of a day, that of 0001-01-01 is 1; years as astronomers count them, with a year 0."""
    shifted = year - (month <= 2)
    era = shifted // 400
    of_era = shifted - era * 400
    of_year = (153 * (month + (-3 if month > 2 else 9)) + 2) // 5 + day - 1
    return era * 146097 + of_era * 365 + of_era // 4 - of_era // 100 + of_year - 305


def days_of_text(text: str) -> tuple[int, int] | None:
    """The days that `2021-01-20`, `2021-01` or `2021` covers, as numbers (20210120); None for others."""
    if (match := re.fullmatch(r"(\d{4,})(?:-(\d\d))?(?:-(\d\d))?", text)) is None:
        return None
    year, month, day = (int(part or 0) for part in match.groups())
    if match[2] is None:
        return year * 10_000 + 101, year * 10_000 + 1231
    if not 1 <= month <= 12:
        return None
    begin = year * 10_000 + month * 100
    return (begin + day, begin + day) if day else (begin + 1, begin + _days(year, month))
