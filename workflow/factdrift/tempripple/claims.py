"""Statements of a source as Python values, grouped by subject and property."""

import unicodedata
from collections.abc import Iterator, Sequence
from itertools import groupby
from typing import NamedTuple

import pyarrow as pa

from factdrift.tempripple.dates import ONGOING, UNSTARTED, Date, Span, covered
from factdrift.tempripple.phrases import date_id
from factdrift.wikidata.ids import entity_id
from factdrift.wikidata.time import DAY, gregorian_to_julian, pack, unpack


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
        several = len(self.starts) > 1 or len(self.ends) > 1
        end = self.end
        return several or end is None or end.hi < self.start.lo


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
        columns = {name: batch.column(name).to_pylist() for name in table.column_names}
        dates = [
            None if day is None else Date(day, min(precision, DAY))
            for day, precision in zip(columns["day"], columns["precision"], strict=True)
        ]
        yield from map(
            Claim._make,
            zip(
                *(
                    columns[name]
                    for name in ("subject", "property", "statement", "preferred", "snak", "object")
                ),
                map(_composed, columns["text"]),
                columns["language"],
                dates,
                columns["julian"],
                map(_dates, columns["starts"]),
                map(_dates, columns["ends"]),
                columns["end_unknown"],
                columns["restricted"],
                strict=True,
            ),
        )


def _composed(text: str | None) -> str | None:
    return None if text is None else unicodedata.normalize("NFC", text)


def _dates(values: list[dict[str, int]]) -> tuple[Date, ...]:
    if not values:
        return ()
    return tuple(sorted({Date(value["day"], min(value["precision"], DAY)) for value in values}))


def best_rank(claims: list[Claim]) -> list[Claim]:
    """The preferred claims, or all of them if none is preferred."""
    preferred = [claim for claim in claims if claim.preferred]
    return preferred or claims
