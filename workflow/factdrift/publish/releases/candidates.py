"""Which dumps and dates the next releases can have: those that servers list, but for damaged ones."""

import dataclasses
import datetime
import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.files import write_json
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


class Candidate(NamedTuple):
    """A dump on a server. `address`: with checksum and size, as a value of `dumps`. `modified`: the date of
    its last change, as the server writes it; "" if it does not. `reason`: why it cannot be used, if so."""

    date: str
    address: str
    modified: str
    reason: str = ""


def is_same(first: Candidate, second: Candidate) -> bool:
    """Whether two are one file, as far as checksum, size and date of change say."""
    return first[:3] == second[:3]


def candidates(
    listings: Sequence[str],
    every: int,
    released: Sequence[str],
    skipped: Mapping[str, Candidate],
    client: Client,
) -> Iterator[Candidate]:
    """The complete dumps of the listings that can follow the dates `released`, newest first in each listing.

    Yields those among them that are `skipped`, too. Of a listing no more folders are asked for than needed.
    Raises InputError if a server refuses to show a dump: a later one would take its place in the series.
    """
    after = later(released[-1], every - 1) if released else ""
    for listing in listings:
        usable: list[str] = []
        for dump in complete_dumps(listing, after, client):
            try:
                head = client.head(dump.urls[0])
            except Missing:
                continue  # removed after it had been listed
            if dump.size is None:
                dump = dataclasses.replace(dump, size=head.size)
            candidate = Candidate(dump.date, address_of(dump), head.modified)
            yield candidate
            if dump.date in skipped and is_same(skipped[dump.date], candidate):
                continue
            usable.append(dump.date)
            if not released and later(dump.date, every) <= max(usable):
                break


def read_skipped(path: Path) -> dict[str, Candidate]:
    """Date -> the damaged dump of that date, from the file that `write_skipped` wrote; empty without a file.

    Raises InputError if the file cannot be read.
    """
    try:
        return {date: Candidate(date, **entry) for date, entry in json.loads(path.read_text("utf-8")).items()}
    except FileNotFoundError:
        return {}
    except (ValueError, TypeError, AttributeError) as error:
        raise InputError(
            f"{path}: not the list of skipped dumps ({error}); remove it, and all dumps are tried again"
        ) from None


def write_skipped(skipped: Mapping[str, Candidate], path: Path) -> None:
    """Keeps the list for the next refresh."""
    entries = {date: dump._asdict() for date, dump in sorted(skipped.items())}
    for entry in entries.values():
        del entry["date"]
    write_json(entries, path, indent=2)
