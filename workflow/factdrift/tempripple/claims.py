"""Statements of a source as Python values, grouped by subject and property, and what their dates may mean."""

import datetime
import unicodedata
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa

from factdrift.tempripple.sources import STATEMENTS
from factdrift.wikidata.ids import entity_id
from factdrift.wikidata.time import DAY, MONTH, YEAR, gregorian_to_julian, pack, unpack

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


def date_id(date: Date) -> str:
    """`1776-07-04`, `1776-07` or `1776` by precision; 44 BC is `-0044`."""
    year, month, day = unpack(date.day)
    text = f"{'-' if year < 0 else ''}{abs(year):04d}"
    if date.precision >= MONTH:
        text += f"-{month:02d}"
    if date.precision >= DAY:
        text += f"-{day:02d}"
    return text


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
    return None if number in (NEVER, ALWAYS) else max(number, 1) - EPOCH


class Claim(NamedTuple):
    """One row of `factdrift.tempripple.sources.STATEMENTS`.

    Texts are in Unicode's form C; dates finer than a day are those of the day.
    """

    subject: int
    relation: int
    statement: str
    preferred: bool
    snak: str
    object: int | None
    text: str | None
    language: str | None
    date: Date | None
    julian: bool | None
    starts: tuple[Date, ...]
    ends: tuple[Date, ...]
    end_unknown: bool
    restricted: bool

    @property
    def value(self) -> str | None:
        """The id by which values are compared: `Q42`, `1776-07-04`, a text, `en:Text`; None without one.

        A date is that of the Gregorian calendar.
        """
        if self.object is not None:
            return entity_id(self.object)
        if self.date is not None:
            return date_id(self.date)
        if self.text is not None:
            return f"{self.language}:{self.text}" if self.language else self.text
        return None

    @property
    def written(self) -> Date | None:
        """The date in the calendar in which it was written, for people to read."""
        if self.date is None or not self.julian or self.date.precision < DAY:
            return self.date
        return Date(pack(*gregorian_to_julian(*unpack(self.date.day))), self.date.precision)

    @property
    def start(self) -> Span:
        """The possible days of the start; UNSTARTED if there is none, or if it may be any day."""
        return _hull(self.starts) or UNSTARTED

    @property
    def end(self) -> Span | None:
        """The possible days of the end; ONGOING if there is none, None if it is unknown."""
        if self.end_unknown:
            return None
        return _hull(self.ends) if self.ends else ONGOING

    @property
    def has_bad_date(self) -> bool:
        """Whether the statement has several starts or ends, an unknown end, or an end before its start."""
        end = self.end
        return max(len(self.starts), len(self.ends)) > 1 or end is None or end.hi < self.start.lo


def _hull(dates: Sequence[Date]) -> Span | None:
    """The days from the first to the last that a date may mean; None if one is unbounded or there is none."""
    spans = [covered(date) for date in dates]
    known = [span for span in spans if span is not None]
    if not known or len(known) < len(spans):
        return None
    return Span(min(span.lo for span in known), max(span.hi for span in known))


def groups(table: pa.Table) -> Iterator[tuple[int, int, list[Claim]]]:
    """Yields (subject, property, claims) from a table of STATEMENTS, in its order."""
    for (subject, relation), claims in groupby(_claims(table), lambda claim: claim[:2]):
        yield subject, relation, list(claims)


def _claims(table: pa.Table) -> Iterator[Claim]:
    for batch in table.to_batches(max_chunksize=65_536):
        for row in zip(*(batch.column(name).to_pylist() for name in STATEMENTS.names), strict=True):
            *before, text, language, day, precision, julian, starts, ends, end_unknown, restricted = row
            text = None if text is None else unicodedata.normalize("NFC", text)
            date = None if day is None else Date(day, min(precision, DAY))
            dates = _dates(starts), _dates(ends)
            yield Claim._make([*before, text, language, date, julian, *dates, end_unknown, restricted])


def _dates(values: list[dict[str, int]]) -> tuple[Date, ...]:
    return tuple(sorted({Date(value["day"], min(value["precision"], DAY)) for value in values}))


def best_rank(claims: list[Claim]) -> list[Claim]:
    """The preferred claims, or all of them if none is preferred."""
    return [claim for claim in claims if claim.preferred] or claims
