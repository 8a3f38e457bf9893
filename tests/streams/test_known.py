"""Timelines with a record axis: the laws of the sequence of K_1 to K_n, on random worlds.

The oracle computes each K_k anew from the first k dumps.
"""

import datetime
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from factdrift.streams.known import _uncovered
from factdrift.streams.timelines import Span, StatementInDump
from factdrift.wikidata.time import pack

from .definitions import Dating, Group, Timelines
from .drawn import DATES, Drawn, Row
from .planted import DUMPS, known_rows, planted, span, stated

TIMELINE = ["subject", "property", "value", "certain_first", "certain_last", "possible_first"]
TIMELINE += ["possible_last", "doubted", "dated"]


class Early(Timelines):
    """K_k of all groups of the whole sequence, by the definitions of docs/two-times.md."""

    def __init__(self, drawn: Drawn, dumps: int) -> None:
        early = drawn.before(dumps)
        super().__init__(early, Dating(early).links())
        self.linked, self.whole = self.groups, drawn
        self.groups = sorted({(row["subject"], row["property"]) for row in Dating(drawn).links()})

    def functional(self, group: Group) -> bool:
        if group in self.linked:
            return super().functional(group)
        for number in range(1, len(self.whole.triples) + 1):
            of_first = Timelines(self.whole.before(number + 1), [])
            kept = [row for row in of_first.drawn.triples[-1] if row["dropped_by"] is None]
            if any((row["subject"], row["property"]) == group for row in kept):
                return of_first.functional(group)
        raise AssertionError(group)


def bag(rows: Any) -> Counter[tuple[Any, ...]]:
    return Counter(tuple(row[name] for name in TIMELINE) for row in rows)


@settings(max_examples=examples(12), deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_rows_known_by_a_dump_are_those_of_the_dumps_up_to_it(seed: int) -> None:
    drawn = Drawn(seed)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        *_, newest = drawn.chains(folder)
        known: list[Row] = pq.read_table(folder / "known.parquet").to_pylist()
        dumps = [day.isoformat() for day in DATES]
        for number, dump in enumerate(dumps, start=1):
            so_far = [row for row in known if row["known_from"] <= dump]
            rows = [row for row in so_far if row["known_until"] is None or dump < row["known_until"]]
            oracle = Early(drawn, number)
            assert bag(rows) == bag(oracle.rows())
            linked = [row for row in rows if row["linked_from"] <= dump]
            assert {(row["subject"], row["property"]) for row in linked} <= {*oracle.linked}
            if number > 1:
                *_, alone = drawn.before(number).chains(folder)
                assert bag(linked) == bag(alone)
        assert bag(row for row in known if row["known_until"] is None) == bag(newest)
        check_rows(known, dumps)


def check_rows(known: list[Row], dumps: list[str]) -> None:
    """Rows of a statement follow each other; what is known no more says what became of it."""
    for row in known:
        assert row["known_from"] in dumps
        assert row["linked_from"] in dumps[1:]
        if row["known_until"] is None:
            assert row["became"] in (None, "removed", "corrected")
        else:
            assert row["known_from"] < row["known_until"] in dumps
            assert row["became"] not in (None, "removed")
        assert (row["late"] is None) == (row["first_known"] is None)
        if row["first_known"]:
            assert row["known_until"] is None
            assert row["start_last"] == row["certain_first"]
            assert row["first_known"] <= row["known_from"]


D = (20150101, 20170101, 20190101, 20210104)


def day(packed: int) -> Span:
    return Span(str(packed), 11, packed, packed)


def year(number: int) -> Span:
    return Span(str(number), 9, number * 10_000 + 101, number * 10_000 + 1231)


def row(dump: int, value: int = 7, start: Any = None, end: Any = None, **more: Any) -> StatementInDump:
    spans = [(span,) if span else () for span in (start, end)]
    usual = {"statement": f"s{value}", "standing": "current"} | more
    return StatementInDump(dump, usual["statement"], value, usual["standing"], *spans, False, False, False)


SINCE, SOON = day(20140501), day(20140901)
STILL = [row(0, start=SINCE), row(1, start=SINCE)]
SHORT = [row(0, start=SINCE), row(1, start=SINCE, end=SOON)]


@pytest.mark.parametrize(
    ("rows", "became"),
    [
        # Still stated by the next dump, and by the last.
        (STILL, ["extended", None]),
        # An end after the dump that knew the row: the world changed.
        ([row(0, start=SINCE), row(1, start=SINCE, end=day(20160301))], ["ended", None]),
        # An end before it: the row was wrong, but nothing says whose the days were.
        (SHORT, ["dated", None]),
        # The same, and another value held then.
        ([*SHORT, row(1, 8, start=SOON, statement="t")], ["corrected", None, None]),
        # Several values hold at a time: that another one holds as well corrects nothing.
        ([*STILL, row(1, 8, start=SINCE, statement="t")], ["extended", None, None]),
        ([row(0, start=year(2014)), row(1, start=day(20140501))], ["dated", None]),
        ([row(0), row(1, start=SINCE)], ["dated", None]),
        ([row(0, start=SINCE), row(1, start=SINCE, standing="deprecated")], ["doubted", None]),
        ([row(0, start=SINCE), row(1, start=SINCE, standing="in_part")], ["doubted", None]),
        ([row(0, start=SINCE), row(1, start=SINCE, statement="anew")], ["replaced", None]),
        ([row(0, start=SINCE), row(1, start=year(2014), statement="anew")], ["dated", None]),
        ([row(0, start=SINCE)], ["removed"]),
        # Removed with a proven end.
        ([row(0, start=SINCE, end=day(20141201))], [None]),
        # The same statement has another value now, which held on days that were the old value's.
        ([row(0, start=SINCE), row(1, 8, start=SINCE, statement="s7")], ["corrected", None]),
    ],
)
def test_what_became_of_a_row(rows: list[StatementInDump], became: list[str | None]) -> None:
    known = known_rows(rows, D[:2])
    assert [version["became"] for version in known] == became


@pytest.mark.parametrize("seed", range(60))
def test_plants_are_what_the_rows_say(seed: int) -> None:
    office = planted(seed)
    dumps = [day.isoformat() for day in DUMPS]
    known = known_rows(stated(office))
    newest = {row["value"]: row for row in known if row["known_until"] is None}
    for holder, start in enumerate(office.starts):
        entered = [dump for dump in DUMPS if dump >= office.entered[holder]]
        last = office.removed.get(holder, DUMPS[-1])
        mine = [row for row in known if row["value"] == holder + 1]
        if not entered or entered[0] > last:
            assert not mine
            continue
        assert mine[0]["known_from"] == entered[0].isoformat()
        ended = [row for row in mine if row["became"] == "ended"]
        successor = office.entered[holder + 1] if holder < 5 else datetime.date.max
        if holder not in office.wrong and holder not in office.removed:
            begun = newest[holder + 1]
            if begun["certain_first"] is not None:
                assert begun["first_known"] == entered[0].isoformat()
            # The end is known by the first dump after the successor was entered; it lies after the dump
            # before where that one was in time.
            first = next((name for name, day in zip(dumps, DUMPS, strict=True) if day >= successor), None)
            if first and first > mine[0]["known_from"]:
                before = dumps[dumps.index(first) - 1]
                end = office.starts[holder + 1]
                (broken,) = [row for row in mine if row["known_until"] == first]
                in_time = end.isoformat() > before
                assert bool(ended) == in_time == (broken["became"] == "ended")
                new = newest.get(holder + 2)
                corrected = not in_time and holder + 1 not in {*office.wrong, *office.removed}
                if corrected and new and new["certain_first"]:
                    assert broken["became"] == "corrected"
                    assert new["late"]
        if holder in office.removed and last < DUMPS[-1] and newest[holder + 1]["possible_last"] is None:
            assert newest[holder + 1]["became"] == "removed"
        if holder in office.wrong and newest[holder + 1]["certain_first"] == span(start).first:
            _, mended = office.wrong[holder]
            seen = [dump for dump in entered if dump < mended]
            if seen:  # a dump has the wrong start; the days before the right one were the other's
                assert {"corrected", "dated"} & {row["became"] for row in mine}


PLACE = st.integers(1, 12)


@settings(max_examples=examples(200))
@given(st.lists(st.tuples(PLACE, PLACE), max_size=4), PLACE, PLACE)
def test_a_day_is_uncovered_if_no_span_has_it(spans: list[tuple[int, int]], first: int, last: int) -> None:
    days = 20_200_225 + np.r_[1:5, 76:84]  # to 29 February, and March
    held = [(int(days[low - 1]), int(days[max(low, high) - 1])) for low, high in spans]
    covered = {day for low, high in spans for day in range(low, max(low, high) + 1)}
    expected = bool({*range(first, last + 1)} - covered) if first <= last else False
    assert _uncovered(int(days[first - 1]), int(days[last - 1]), held) == expected


def test_the_next_day_before_the_year_1() -> None:
    last, first = pack(-44, 3, 31), pack(-44, 4, 1)
    assert not _uncovered(last, first, [(last, last), (first, first)])
    assert _uncovered(last, pack(1, 1, 1), [(last, last), (pack(-1, 12, 31), pack(1, 1, 1))])
