"""Months in which one object of an updated group certainly held and no other possibly did. Pure functions."""

import calendar
import hashlib
from collections.abc import Iterator, Sequence
from typing import NamedTuple

from factdrift.ripples.world import DatedStatement
from factdrift.wikidata.time import unpack
from factdrift.words.dates import MONTHS

_EVER, _NEVER = -(10**15), 10**15
_MOST = 1200
"""Months of a tenure that are looked at, from its end."""


class Month(NamedTuple):
    """A month: its text as `2019-03`, in words, and the statement whose tenure it lies in."""

    date: str
    words: str
    statement: str
    dump: str


class Window(NamedTuple):
    """Packed days: those of the dumps, and between which the month must lie."""

    t_old: int
    t_new: int
    first: int
    last: int


def month_of(
    stated: Sequence[DatedStatement],
    key: str,
    obsolete: str,
    new: str,
    window: Window,
    draw: str,
    only: str | None = None,
) -> Month | None:
    """A month, drawn with `draw`, wholly in the tenure of `key` and in the window; None if there is none.

    `only`: the statement whose tenure it must be; None for any of `key`.

    `obsolete` and `new` are the keys of the update's objects: where no end of the obsolete one is stated, it
    ended when the new one began.
    """
    ids = {row.statement for row in stated if row.dump == "new"}
    known = [row for row in stated if row.dump == "new" or row.statement not in ids]
    at_old = {row.statement for row in stated if row.dump == "old"}
    begun = [row.start_last for row in known if row.key == new and row.start_last is not None]
    handover = min(begun, default=window.t_new)
    others = [_possible(row, handover if row.key == obsolete else None) for row in known if row.key != key]
    months: list[tuple[str, Month]] = []
    for row in known:
        usable = row.sound and row.snak == "value" and not row.measured and not row.several
        if row.key != key or only not in (None, row.statement) or not usable:
            continue
        tenure = _certain(row, window, row.key == obsolete, row.statement in at_old)
        if tenure is None:
            continue
        begin, end = max(tenure[0], window.first), min(tenure[1], window.last)
        for year, month in _months(begin, end):
            first, last = _days(year, month)
            if not any(low <= last and first <= high for low, high in others):
                text = f"{year:04d}-{month:02d}"
                rank = hashlib.sha256(f"{draw}:{text}".encode()).hexdigest()
                words = f"{MONTHS[month]} {year}"
                months.append((rank, Month(text, words, row.statement, row.dump)))
    return min(months)[1] if months else None


def _possible(row: DatedStatement, handover: int | None) -> tuple[int, int]:
    if row.measured and row.start_first is None:
        return _EVER, _NEVER
    low = _EVER if row.start_first is None else row.start_first
    if row.end_last is not None:
        return low, row.end_last
    return low, _NEVER if handover is None else handover


def _certain(row: DatedStatement, window: Window, ended: bool, at_old: bool) -> tuple[int, int] | None:
    if row.start_last is None or row.start_unknown or row.end_unknown:
        return None
    if row.end_first is not None:
        end = row.end_first
    elif ended or row.dump == "old":
        if not at_old:
            return None
        end = window.t_old
    else:
        end = window.t_new
    return (row.start_last, end) if row.start_last <= end else None


def _months(begin: int, end: int) -> Iterator[tuple[int, int]]:
    """The months that lie wholly between two days, the last first."""
    if begin < 10_000:
        return
    year, month, day = unpack(end)
    last = year * 12 + month - (day < calendar.monthrange(year, month)[1])
    for number in range(last - 1, last - 1 - _MOST, -1):
        year, month = number // 12, number % 12 + 1
        if _days(year, month)[0] < begin:
            return
        yield year, month


def _days(year: int, month: int) -> tuple[int, int]:
    packed = year * 10_000 + month * 100
    return packed + 1, packed + calendar.monthrange(year, month)[1]
