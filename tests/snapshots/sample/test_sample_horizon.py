"""What the bundled sample says until its horizon: offices have holders, and ends have successors.

A coarse date counts as its last day where something ends, as its first day where it begins, so that only gaps
that are certain are found.
"""

import datetime
from collections import defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import pytest

from factdrift.core.paths import SAMPLE
from factdrift.snapshots.sample.account import read_parts
from factdrift.snapshots.sample.value_text import parse_time_text

from .test_sample_tables_real import tables

HEADS = ("P6", "P35")
SINGLE_VALUED = (*HEADS, "P169", "P286", "P488", "P634", "P1037")
LONGEST_GAP = datetime.timedelta(days=60)
FIRST_DAY = datetime.date(2021, 1, 1)
REASON = "no successor"
"""A source that says so gives the reason for a missing successor: `no successor until ...`."""


class Term(NamedTuple):
    """A holder of an office: `end` is the last day of all for a term without an end."""

    start: datetime.date
    end: datetime.date
    source: str
    place: str


def day(text: str, last: bool) -> datetime.date:
    """The first or last day of a date."""
    _, time = parse_time_text(text)
    return datetime.date.fromisoformat(f"{time.last if last else time.first:08d}")


def offices(properties: tuple[str, ...]) -> Iterator[tuple[str, list[Term]]]:
    """The part and the holders, in the order of their starts, of every office (subject and property).

    Parts without dates of their own are left out: `edge` is made of gaps, `real` ends in June 2021.
    """
    found = defaultdict(list)
    for place, row in tables("facts"):
        part = place.removeprefix("facts/").partition(".tsv")[0]
        dated = "value" not in row["start"] + row["end"]
        if part not in ("edge", "real") and row["property"] in properties and dated:
            start = day(row["start"], False) if row["start"] else datetime.date.min
            end = day(row["end"], True) if row["end"] else datetime.date.max
            found[part, row["subject"], row["property"]].append(Term(start, end, row["source"], place))
    for (part, _, _), holders in sorted(found.items()):
        yield part, sorted(holders)


@pytest.fixture(scope="module")
def complete_until():
    return {part.name: datetime.date.fromisoformat(part.complete_until) for part in read_parts(SAMPLE)}


def test_no_country_is_without_a_head_for_long(complete_until):
    gaps = []
    for part, holders in offices(HEADS):
        before = holders[0]
        for after in holders[1:]:
            gap = after.start - before.end if before.end < after.start else datetime.timedelta(0)
            known = after.start >= FIRST_DAY and before.end <= complete_until[part]
            if gap > LONGEST_GAP and known and REASON not in before.source:
                gaps.append(f"{before.place}, {after.place}: {gap.days} days")
            before = max(before, after, key=lambda term: term.end)
    assert gaps == []


def test_every_end_before_the_horizon_has_a_successor_or_a_reason(complete_until):
    wanting = []
    for part, holders in offices(SINGLE_VALUED):
        last = max(holders, key=lambda term: term.end)
        if FIRST_DAY <= last.end < complete_until[part] and REASON not in last.source:
            wanting.append(last.place)
    assert wanting == []


def test_nobody_leaves_before_taking_office():
    terms = [term for _, holders in offices(SINGLE_VALUED) for term in holders]
    assert [term.place for term in terms if term.start > term.end] == []
