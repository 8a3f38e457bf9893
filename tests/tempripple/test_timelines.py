"""Timelines: the spec's vectors (section 16), switches, and an oracle that expands dates to days."""

import calendar
import csv
import datetime
from collections import defaultdict
from itertools import pairwise, permutations
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.ripples import METHOD, RELATIONS, claim, claims, method_with, name

from factdrift.tempripple.claims import Claim, Date, covered
from factdrift.tempripple.related import immutable_value
from factdrift.tempripple.settings import TempRippleSettings
from factdrift.tempripple.timelines import Dropped, Timeline, timeline


def judged(text: str, **switches: Any) -> Timeline | Dropped:
    return timeline(claims(text), method_with(**switches))


def outcome(text: str, **switches: Any) -> str:
    """`C B A`, the objects newest first, or the reason."""
    result = judged(text, **switches)
    if isinstance(result, Dropped):
        return result.reason
    return " ".join(name(holding.object) for holding in result.holdings)


VECTORS = [
    ("1", "A 2010-01-01..2020-01-01, B 2020-01-01..2025-03-01, C 2025-03-01..-", "C B A"),
    ("2", "A 2010-01-01..2020-01-01, B 2019-12-31..2025-03-01, C 2025-03-01..-", "overlap"),
    ("3", "A 2010-01-01..2016-03-01, B 2017-02-28..2025-02-01, C 2025-02-01..-", "C B A"),
    ("4", "A 2010-01-01..2016-03-01, B 2017-03-01..2025-02-01, C 2025-02-01..-", "gap"),
    ("5", "A 2010..2016, B 2018..2025-02-01, C 2025-02-01..-", "gap"),
    ("6", "A 2010..2016, B 2017..2025-02-01, C 2025-02-01..-", "C B A"),
    ("7a", "A 2015-12-31..2025-02-01, C 2025-02-01..-", "C A"),
    ("7b", "A 2016-01-01..2025-02-01, C 2025-02-01..-", "left_gap"),
    ("7c", "A 2015..2025-02-01, C 2025-02-01..-", "C A"),
    ("7d", "A 2016..2025-02-01, C 2025-02-01..-", "left_gap"),
    ("7e", "A 2020-07-01..2025-02-01, C 2025-02-01..-", "left_gap"),
    ("8", "A 2012..2018, B 2018..2025, C 2025..-", "C B A"),
    ("9", "A 2012..2018, B 2017..2025, C 2025..-", "overlap"),
    ("10", "A 2012..2018, B 2018..2018, D 2018..2018, C 2025..-", "order_ambiguous"),
    ("11", "Z 2010..2018-06-01, A 2018-06-01..2018-09-01, B 2018..2025-04-01, C 2025-04-01..-", "C B A Z"),
    ("12", "A 2010-01-01..2021-01-20, B 2021-01-20..2025-01-20, B 2025-01-20..-", "no_change"),
    (
        "13",
        "A 2010-01-01..2017-01-20, B 2017-01-20..2021-01-20, D 2021-01-20..2025-01-20, B 2025-01-20..-",
        "B D B A",
    ),
    ("14", "A 2010-01-01..2025-05-01", "no_change"),
    ("15", "A 2010-01-01..2025-01-10, B 2025-01-10..2025-03-14, C 2025-03-14..-", "C B A"),
    ("16", "A 2010-01-01..-, C 2025-03-14..-", "overlap"),
    ("17", "A 2010-01-01..2025-03-14, Z 2019-05-01..2019-05-01, C 2025-03-14..-", "overlap"),
    ("18a", "A -..2018-01-01, B 2018-01-01..2025-03-14, C 2025-03-14..-", "C B A"),
    ("18b", "A 2010-01-01..2018-01-01, B -..2025-03-14, C 2025-03-14..-", "missing_start"),
    ("19", "A 2010-01-01..2018-01-01, A 2010..2018, B 2018-01-01..2025-03-14, C 2025-03-14..-", "C B A"),
    ("20", "A 2010-01-01..2025-03-14, C 2025-03-14..2026-02-01, X 2026-02-01..-", "C A"),
    ("21a", "Y 2000-01-01..2015-01-01, A 2015-01-01..2025-03-14, C 2025-03-14..-", "C A"),
    ("21b", "Y 2000-01-01..2015-01-02, A 2015-01-02..2025-03-14, C 2025-03-14..-", "C A Y"),
    ("22", "A 2014..2018, B 2018..2018, A 2018..2025, C 2025..-", "C A B A"),
]


TEXTS = {name: text for name, text, _ in VECTORS}


@pytest.mark.parametrize(("text", "expected"), [v[1:] for v in VECTORS], ids=[v[0] for v in VECTORS])
def test_vectors(text, expected):
    assert outcome(text) == expected
    backwards = ", ".join(reversed(text.split(", ")))
    assert outcome(backwards) == expected


def test_returning_holders_changes_and_united_duplicates():
    """What is united keeps all its statements and the widest dates."""
    thirteen, fifteen, nineteen = (judged(TEXTS[name]) for name in ("13", "15", "19"))
    assert isinstance(thirteen, Timeline)
    objects = [holding.object for holding in thirteen.holdings]
    assert [objects.count(each) > 1 for each in objects] == [True, False, True, False]
    assert isinstance(fifteen, Timeline)
    assert fifteen.changes == 2
    assert isinstance(nineteen, Timeline)
    oldest = nineteen.holdings[-1]
    assert oldest.statements == ("s000", "s001")
    assert oldest.start == covered(Date(20100101, 11))
    assert oldest.end == (covered(Date(20180101, 11)).lo, covered(Date(20180101, 9)).hi)  # type: ignore[union-attr]
    assert (oldest.start_precision, oldest.end_precision) == (11, 9)


@pytest.mark.parametrize(
    ("text", "switches", "expected"),
    [
        (TEXTS["19"], {"unite_same_object": False}, "overlap"),
        (TEXTS["10"], {"on_ambiguous": "keep", "coverage": "off"}, "C D B A"),
        (TEXTS["5"], {"coverage": "off"}, "C B A"),
        (TEXTS["7b"], {"gap_days": 366}, "C A"),
        (TEXTS["7c"], {"coverage": "strict"}, "left_gap"),
        ("A 2015-01-01..2025-02-01, C 2025-02-01..-", {"coverage": "strict"}, "C A"),
        (TEXTS["16"], {"infer_end_from_next": True}, "C A"),
        ("A 2010..-, C 2025-01-01..-, D 2025-01-01..-", {"infer_end_from_next": True}, "overlap"),
        ("A 2010..2016, B 2016..2025-05-01", {"new_rule": "any"}, "B A"),
        # The period ends before the first day of 2026.
        ("A 2010..2016, B 2016..2026-01-01", {"new_rule": "any"}, "no_change"),
        ("A 2010..2016, B 2016..2025-12-31", {"new_rule": "any"}, "B A"),
        # The last day of the month in which A began.
        ("Z 2010-01-01..2025-05-15, A 2025-05..-, C 2025-05-31..-", {"infer_end_from_next": True}, "C A Z"),
        ("C 2025-03-14..-", {"coverage": "off"}, "no_old"),
        ("", {}, "no_change"),
        ("A 2010..2025-05-01, novalue 2025-05-01..-", {}, "no_change"),
        ("A 2010..2018, novalue 2018..2020, B 2020..2025-05-01, C 2025-05-01..-", {}, "gap"),
        ("A 2010..2025-05-01, ? 2025-05-01..-", {}, "unknown_object"),
        ("? 2000..2014, A 2014..2025-05-01, C 2025-05-01..-", {}, "C A"),
        ("A 2010..?, C 2025-05-01..-", {}, "bad_date"),
        ("A 2012-01-01..2010-01-01, B 2010..2025-05-01, C 2025-05-01..-", {}, "C B"),
        ("A 2010|2011..2025-05-01, C 2025-05-01..-", {}, "bad_date"),
        ("A 2010..2025-05-01, C 2025-05-01..2030/5", {}, "bad_date"),
        ("A 1000/5..2025-05-01, C 2025-05-01..-", {}, "C A"),
        ("A -..-, C 2025-05-01..-", {}, "undated"),
        ("A 2010..2025, C 2025..-, D 2026..-", {}, "C A"),
        # Announced on the snapshot's day.
        (
            "A 2010..2025-03-01, C 2025-03-01..2025-06-02, D 2025-06-02..-",
            {"snapshots_new": "2025-06-01"},
            "C A",
        ),
        ("A 2010..2025-06-02, D 2025-06-02..-", {"snapshots_new": "2025-06-01"}, "no_change"),
        ("A 2010..2025, D 2025..-", {"snapshots_new": "2025-06-01"}, "D A"),
        ("A 2010..2025-12-01, C 2020/8..-", {}, "no_change"),
    ],
)
def test_switches_and_odd_statements(text, switches, expected):
    assert outcome(text, **switches) == expected


CLAIMS: dict[tuple[int, int], list[Claim]] = defaultdict(list)
"""(subject, relation) -> its statements, of real items."""
with (Path(__file__).parents[1] / "data/timelines.tsv").open(encoding="utf-8", newline="") as file:
    for row in csv.DictReader(file, delimiter="\t"):
        group = int(row["subject"][1:]), int(row["property"][1:])
        told = [row[key] for key in ("statement", "object", "start", "end")]
        known = dict(zip(("subject", "relation"), group, strict=True))
        CLAIMS[group].append(claim(*told, **known, preferred=row["rank"] == "preferred"))


@pytest.mark.parametrize(
    ("subject", "relation", "first", "year", "without", "expected"),
    [
        # A year with four beginnings, and a holder of no length.
        (36, 35, 2000, 2010, -1, [42939, 362851, 890410, 42939, 2757, 55758]),
        (183, 6, 1995, 2005, -1, [567, 2530, 2518]),
        (183, 35, 2002, 2012, -1, [2538, 2540, 2542, 2551]),
        (30, 6, 2007, 2017, -1, [22686, 76, 207]),
        (142, 38, 1989, 1999, -1, "undated"),
        # Franc and euro overlap even without the undated statement.
        (142, 38, 1989, 1999, 214393, "overlap"),
        (142, 36, 1930, 1940, -1, "overlap"),
        (36, 36, 2000, 2010, -1, "no_change"),
        (36, 36, 2015, 2025, -1, "no_change"),
    ],
)
def test_holders_newest_first_or_why_there_are_none(subject, relation, first, year, without, expected):
    dates = {"window_start": first, "change_start": year, "change_end": year + 1, "snapshots_new": 2022}
    method = method_with(**{key: f"{year}-01-01" for key, year in dates.items()})
    result = timeline([each for each in CLAIMS[subject, relation] if each.object != without], method)
    found = result.reason if isinstance(result, Dropped) else [each.object for each in result.holdings]
    assert found == expected


def test_continents():
    continent = RELATIONS.immutable[30]
    of_france, of_usa = (
        immutable_value(continent, {30: CLAIMS[item, 30]}, False, METHOD) for item in (142, 30)
    )
    assert isinstance(of_france, Claim)
    assert of_france.value == "Q46"
    assert isinstance(of_usa, Dropped)
    assert of_usa.reason == "several_values"


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


def oracle(statements: list[Plain], method: TempRippleSettings) -> str:
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


dates = st.one_of(
    st.just("-"),
    st.integers(2013, 2026).map(str),
    st.tuples(st.integers(2013, 2026), st.integers(1, 12)).map(lambda d: f"{d[0]}-{d[1]:02d}"),
    st.dates(datetime.date(2013, 1, 1), datetime.date(2026, 12, 31)).map(str),
)


@st.composite
def chains(draw):
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
    order=st.randoms(use_true_random=False),
)
@settings(max_examples=examples(400))
def test_agrees_with_the_days_whatever_the_order(statements, switches, order):
    text = ", ".join(f"{each.object} {each.start}..{each.end}" for each in statements)
    apart, method = {"unite_same_object": False, **switches}, method_with(**switches)
    found = outcome(text, **apart)
    undated = found in ("undated", "missing_start")
    assert ("overlap" if undated else found) == oracle(statements, method)
    # The ids of statements stay with them.
    shuffled = claims(text)
    order.shuffle(shuffled)
    result = judged(text, **apart)
    assert timeline(shuffled, method_with(**apart)) == result
    if isinstance(result, Timeline):
        assert timeline(shuffled, method) == result
