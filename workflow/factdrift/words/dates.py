"""Wikidata's dates as English writes them, no finer than their precision.

The calendar is that in which the date was written: a Julian date is not converted. An era follows the year:
`44 BC`, and `14 AD` below the year 100, where a bare number would not read as a year.
"""

import datetime

from babel import Locale
from babel.dates import get_month_names

from factdrift.wikidata.time import DAY, MONTH, YEAR, Time, covered

DECADE, CENTURY, MILLENNIUM = 8, 7, 6

_ENGLISH = Locale("en")
MONTHS = get_month_names("wide", locale=_ENGLISH)
_ORDINAL_ENDINGS = {"one": "st", "two": "nd", "few": "rd", "other": "th"}


def month_text(day: datetime.date) -> str:
    """`February 2023`."""
    return f"{MONTHS[day.month]} {day.year}"


def day_text(day: datetime.date) -> str:
    """`4 January 2021`."""
    return f"{day.day} {month_text(day)}"


def as_of(when: str, sentence: str) -> str:
    """`As of March 2018, the head of government of X was ____`: of a sentence that may begin with a name."""
    first, space, rest = sentence.partition(" ")
    return f"As of {when}, {first.lower() if first in ('The', 'A', 'An') else first}{space}{rest}"


def written_date(time: Time) -> str | None:
    """The date in words; None if no calendar has it (year 0, month 13, February 30), or if it says nothing.

    A date says nothing if its precision is coarser than its distance from the year 1, such as 2022 to the
    nearest million years. A date of day or month precision whose day or month is 00 is shown as far as it is
    known; times of the day, which Wikidata does not record, are left out.
    """
    if time.year == 0 or (time.precision >= MONTH and time.month > 12):
        return None
    if time.precision >= DAY and time.month and time.day:
        # Every leap year is one in the Julian calendar.
        if time.day > covered(time.year, time.month, 1, MONTH, julian=True)[1][2]:
            return None
        return f"{MONTHS[time.month]} {time.day}, {_year(time.year)}"
    if time.precision >= MONTH and time.month:
        return f"{MONTHS[time.month]} {_year(time.year)}"
    if time.precision >= YEAR:
        return _year(time.year)
    magnitude = abs(time.year)
    if time.precision == DECADE:
        return f"{magnitude // 10 * 10}s{_era(time.year)}"
    # Centuries and millennia end with the year that names them: 1901 to 2000 is the 20th.
    if time.precision == CENTURY:
        return f"{ordinal(max(magnitude - 1, 0) // 100 + 1)} century{' BC' if time.year < 0 else ''}"
    if time.precision == MILLENNIUM:
        return f"{ordinal(max(magnitude - 1, 0) // 1000 + 1)} millennium{' BC' if time.year < 0 else ''}"
    return _deep_time(time.year, time.precision)


def ordinal(number: int) -> str:
    """1 -> `1st`, 12 -> `12th`, 23 -> `23rd`."""
    return f"{number:,}{_ORDINAL_ENDINGS[_ENGLISH.ordinal_form(number)]}"


def _year(year: int) -> str:
    """Years of five digits and more get separators, as quantities do: `10,000 BC`."""
    magnitude = abs(year)
    return f"{magnitude if magnitude < 10_000 else format(magnitude, ',')}{_era(year)}"


def _era(year: int) -> str:
    return " BC" if year < 0 else " AD" if year < 100 else ""


def _deep_time(year: int, precision: int) -> str | None:
    """Spans of ten thousand years (precision 5) up to a billion (0), rounded to what the precision says.

    None for a year that is rounded to 0.
    """
    span = 10 ** (YEAR - precision)
    if not (magnitude := (abs(year) + span // 2) // span * span):
        return None
    era = " BC" if year < 0 else " AD"
    for unit, name in ((10**9, "billion"), (10**6, "million")):
        if magnitude >= unit:
            whole, part = divmod(magnitude, unit)
            digits = str(part).zfill(len(str(unit)) - 1).rstrip("0")
            return f"{whole:,}{'.' + digits if digits else ''} {name} years{era}"
    return f"{magnitude:,}{era}"
