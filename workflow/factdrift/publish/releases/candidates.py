"""Which dumps and dates the next releases can have: those that servers list."""

import dataclasses
import datetime
from collections.abc import Collection, Sequence

from factdrift.snapshots.fetch import Client, Missing
from factdrift.snapshots.listing import complete_dumps
from factdrift.snapshots.registry import address_of


def later(date: str, days: int) -> str:
    """The date some days after another one (YYYY-MM-DD)."""
    return (datetime.date.fromisoformat(date) + datetime.timedelta(days=days)).isoformat()


def sequences(dates: Collection[str], released: list[str], every: int) -> list[list[str]]:
    """The sequence of dates of each release that is due, in the order in which they are made.

    `dates`: of the dumps that can be had. `released`: the sequence of the last release. A new date comes at
    least `every` days after the one before, and is the first that does: so a refresh that was late, or died,
    makes the releases that it would have made in time. The first one has the newest date and the newest one
    at least `every` days before it.
    """
    if not released:
        newest = max(dates, default="")
        before = [date for date in dates if later(date, every) <= newest]
        return [[max(before), newest]] if before else []
    due, sequence = [], list(released)
    for date in sorted(set(dates)):
        if date >= later(sequence[-1], every):
            sequence.append(date)
            due.append(list(sequence))
    return due


def candidates(
    listings: Sequence[str], every: int, released: Sequence[str], skip: Collection[str], client: Client
) -> dict[str, str]:
    """Date -> address of the complete dumps of the listings that can follow the dates `released`.

    An address has checksum and size, as a value of `dumps`; the first listing that has a date counts. Dates
    to `skip` are left out. Of a listing no more folders are asked for than needed. Raises InputError if a
    server refuses to show a dump: a later one would take its place in the series.
    """
    after = later(released[-1], every - 1) if released else ""
    usable: dict[str, str] = {}
    for listing in listings:
        dates: list[str] = []
        for dump in complete_dumps(listing, after, client):
            if dump.date in skip:
                continue
            if dump.size is None:
                try:
                    dump = dataclasses.replace(dump, size=client.head(dump.urls[0]).size)
                except Missing:
                    continue  # removed after it had been listed
            usable.setdefault(dump.date, address_of(dump))
            dates.append(dump.date)
            if not released and later(dump.date, every) <= max(dates):
                break
    return usable
