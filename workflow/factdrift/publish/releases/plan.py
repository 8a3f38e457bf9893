"""Which dates the next releases compare."""

import datetime
from collections.abc import Iterable


def later(date: str, days: int) -> str:
    """The date some days after another one (YYYY-MM-DD)."""
    return (datetime.date.fromisoformat(date) + datetime.timedelta(days=days)).isoformat()


def newest_two(dates: Iterable[str], every: int) -> list[str]:
    """The newest date and the newest one at least `every` days before it; empty if there are no two."""
    pair: list[str] = []
    for date in sorted(set(dates), reverse=True):
        if not pair or later(date, every) <= pair[0]:
            pair.insert(0, date)
        if len(pair) == 2:
            return pair
    return []


def sequences(dates: Iterable[str], released: list[str], every: int) -> list[list[str]]:
    """The sequence of dates of each release that is due, in the order in which they are made.

    `dates`: of the dumps that can be had. `released`: the sequence of the last release. A new date comes at
    least `every` days after the one before, and is the first that does: so a refresh that was late, or died,
    makes the releases that it would have made in time.
    """
    if not released:
        first = newest_two(dates, every)
        return [first] if first else []
    due, sequence = [], list(released)
    for date in sorted(set(dates)):
        if date >= later(sequence[-1], every):
            sequence.append(date)
            due.append(list(sequence))
    return due
