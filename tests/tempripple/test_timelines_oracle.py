"""Timelines against an oracle that expands every date to its days and tries every order."""

from __future__ import annotations

import calendar
import datetime
from itertools import pairwise, permutations
from typing import Any, NamedTuple

from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.ripples import METHOD, claims, method_with, name

from factdrift.tempripple.method import Method
from factdrift.tempripple.timelines import Dropped, Timeline, timeline

BEFORE_ALL, AFTER_ALL = -(10**9), 10**9


class Plain(NamedTuple):
    """A statement as text: object, start and end as `2020`, `2020-03`, `2020-03-04` or `-`."""

    object: str
    start: str
    end: str


def days(text: str, missing: int) -> list[int]:
    """Every day that a date may be."""
    if text == "-":
        return [missing]
    parts = [int(part) for part in text.split("-")]
    months = parts[1:2] or range(1, 13)
    return [
        datetime.date(parts[0], month, day).toordinal()
        for month in months
        for day in (parts[2:] or range(1, calendar.monthrange(parts[0], month)[1] + 1))
    ]


def may_precede(one: Plain, other: Plain) -> bool:
    starts = days(other.start, BEFORE_ALL)
    return any(end <= start for end in days(one.end, AFTER_ALL) for start in (starts[-1], *starts))


def oracle(statements: list[Plain], method: Method) -> str:
    """The objects newest first, or the reason; no duplicates are united."""
    window_start, change_start, change_end = (
        day.toordinal() for day in (method.window_start, method.change_start, method.change_end)
    )
    touching = []
    for each in statements:
        starts, ends = days(each.start, BEFORE_ALL), days(each.end, AFTER_ALL)
        if any(end > window_start for end in ends) and any(start < change_end for start in starts):
            if all(end < start for end in ends for start in starts):
                return "bad_date"
            touching.append(each)
    orders = [
        order
        for order in permutations(range(len(touching)))
        if all(
            may_precede(touching[one], touching[other])
            for place, one in enumerate(order)
            for other in order[place + 1 :]
        )
    ]
    if not orders:
        return "overlap"
    if len(orders) > 1:
        return "order_ambiguous"
    ordered = [touching[place] for place in orders[0]]
    if not ordered:
        return "no_change"
    first = days(ordered[0].start, BEFORE_ALL)
    horizon = range(window_start, change_end + 10_000)
    if sum(all(day < start for start in first) for day in horizon) >= method.gap_days:
        return "left_gap"
    for earlier, later in pairwise(ordered):
        ends, starts = days(earlier.end, AFTER_ALL), days(later.start, BEFORE_ALL)
        if sum(all(end <= day for end in ends) for day in range(ends[0], starts[0])) >= method.gap_days:
            return "gap"
    merged: list[Plain] = []
    for each in ordered:
        if merged and merged[-1].object == each.object:
            each = Plain(each.object, merged.pop().start, each.end)
        merged.append(each)
    if not all(change_start <= start < change_end for start in days(merged[-1].start, BEFORE_ALL)):
        return "no_change"
    if len(merged) == 1:
        return "no_old"
    return " ".join(each.object for each in reversed(merged))


def outcome(statements: list[Plain], method: Method) -> str:
    text = ", ".join(f"{each.object} {each.start}..{each.end}" for each in statements)
    result = timeline(claims(text), method)
    if isinstance(result, Dropped):
        undated = result.reason in ("undated", "missing_start")
        return "overlap" if undated else result.reason
    return " ".join(name(holding.object) for holding in result.holdings)


dates = st.one_of(
    st.just("-"),
    st.integers(2013, 2026).map(str),
    st.tuples(st.integers(2013, 2026), st.integers(1, 12)).map(lambda d: f"{d[0]}-{d[1]:02d}"),
    st.dates(datetime.date(2013, 1, 1), datetime.date(2026, 12, 31)).map(str),
)


@st.composite
def chains(draw: st.DrawFn) -> list[Plain]:
    """Mostly one holder after another, so that not everything is an overlap; then some dates are spoilt."""
    borders = sorted(
        draw(
            st.lists(st.dates(datetime.date(2012, 1, 1), datetime.date(2025, 12, 31)), min_size=2, max_size=5)
        )
    )
    found = []
    for place, start in enumerate(borders):
        end = borders[place + 1] if place + 1 < len(borders) else None
        cut = [draw(st.sampled_from((4, 7, 10, 10, 10))) for _ in range(2)]
        found.append(
            Plain(draw(st.sampled_from("ABC")), str(start)[: cut[0]], str(end)[: cut[1]] if end else "-")
        )
    for place in draw(st.sets(st.integers(0, len(found) - 1), max_size=2)):
        found[place] = found[place]._replace(**{draw(st.sampled_from(("start", "end"))): draw(dates)})
    return draw(st.permutations(found))


@given(
    statements=chains(),
    switches=st.fixed_dictionaries(
        {
            "gap_days": st.sampled_from([1, 30, 365, 800]),
            "window_start": st.sampled_from(["2013-06-01", "2015-01-01", "2020-01-01"]),
            "change_start": st.sampled_from(["2020-07-01", "2025-01-01"]),
        }
    ),
)
@settings(max_examples=examples(400))
def test_agrees_with_the_days(statements: list[Plain], switches: dict[str, Any]) -> None:
    method = method_with(unite_same_object=False, **switches)
    assert outcome(statements, method) == oracle(statements, method)


@given(statements=chains(), order=st.randoms(use_true_random=False))
@settings(max_examples=examples(200))
def test_the_order_of_rows_and_uniting_do_not_matter(statements: list[Plain], order: Any) -> None:
    shuffled = [
        each._replace(statement=f"s{place:03d}")
        for place, each in enumerate(
            claims(", ".join(f"{each.object} {each.start}..{each.end}" for each in statements))
        )
    ]
    wanted = timeline(shuffled, METHOD)
    order.shuffle(shuffled)
    assert timeline(shuffled, METHOD) == wanted
    apart = timeline(shuffled, method_with(unite_same_object=False))
    if isinstance(apart, Timeline):
        assert wanted == apart
