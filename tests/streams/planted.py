"""A sequence of dumps in which lateness, corrections, removals and announcements are planted."""

import datetime
from collections.abc import Sequence
from random import Random
from typing import NamedTuple

from factdrift.streams.known import Links, versions, worlds
from factdrift.streams.timelines import Span, StatementInDump

from .drawn import Row

DUMPS = [datetime.date(2015 + number // 2, 1 + number % 2 * 6, 1) for number in range(12)]
DAYS = [day.year * 10_000 + day.month * 100 + day.day for day in DUMPS]


class Office(NamedTuple):
    """Successive holders of an office: their first days, and what Wikidata makes of them."""

    starts: list[datetime.date]
    entered: list[datetime.date]
    """The day on which Wikidata states a holder, and that the one before has ended."""
    wrong: dict[int, tuple[datetime.date, datetime.date]]
    """Holder -> a start that is too early, and the day on which it is corrected."""
    removed: dict[int, datetime.date]
    """Holder -> the day on which its statement vanishes."""


def planted(seed: int, lateness: int = 400) -> Office:
    """Six holders: 5 % with a wrong start, 2 % that vanish, 2 % that are announced."""
    dice = Random(seed)
    start = datetime.date(2014, 1, 1) + datetime.timedelta(dice.randint(0, 300))
    office = Office([], [], {}, {})
    for holder in range(6):
        office.starts.append(start)
        chance = dice.random()
        late = -dice.randint(30, 200) if chance < 0.02 else dice.randint(0, lateness)
        after = max(start + datetime.timedelta(late), *office.entered, datetime.date.min)
        office.entered.append(after)
        if 0.02 <= chance < 0.07 and holder:
            early = start - datetime.timedelta(dice.randint(100, 300))
            office.wrong[holder] = early, after + datetime.timedelta(dice.randint(200, 500))
        elif 0.07 <= chance < 0.09:
            office.removed[holder] = after + datetime.timedelta(dice.randint(100, 600))
        start += datetime.timedelta(dice.randint(420, 900))
    return office


def span(day: datetime.date) -> Span:
    packed = day.year * 10_000 + day.month * 100 + day.day
    return Span(day.isoformat(), 11, packed, packed)


def stated(office: Office) -> list[StatementInDump]:
    """What the dumps have: a holder ends where the next one begins, once that one is stated."""
    rows = []
    for dump, day in enumerate(DUMPS):
        for holder, start in enumerate(office.starts):
            if office.entered[holder] > day or office.removed.get(holder, day) < day:
                continue
            early, mended = office.wrong.get(holder, (start, day))
            begin = start if mended <= day else early
            after = slice(holder + 1, holder + 2)
            begun = zip(office.starts[after], office.entered[after], strict=True)
            ends = tuple(span(start) for start, entered in begun if entered <= day)
            flags = False, False, False
            name = f"Q1$office{holder}"
            rows.append(StatementInDump(dump, name, holder + 1, "current", (span(begin),), ends, *flags))
    return rows


def known_rows(rows: Sequence[StatementInDump], days: Sequence[int] = DAYS) -> list[Row]:
    """The rows of KNOWN of one subject and relation whose first update is in the first interval."""
    links = Links(1, None)
    known = list(worlds([(row, False) for row in rows], days, {}, links))
    return list(versions(known, days, links))
