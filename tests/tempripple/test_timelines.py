"""The spec's test vectors of timelines (section 16), and the switches that they do not reach."""

from __future__ import annotations

from typing import Any

import pytest
from support.ripples import claims, method_with, name

from factdrift.tempripple.dates import Date, covered
from factdrift.tempripple.timelines import Dropped, Timeline, timeline

C_LAST = "C 2025-03-14..-"


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


@pytest.mark.parametrize(("text", "expected"), [v[1:] for v in VECTORS], ids=[v[0] for v in VECTORS])
def test_vectors(text: str, expected: str) -> None:
    assert outcome(text) == expected
    backwards = ", ".join(reversed(text.split(", ")))
    assert outcome(backwards) == expected


def test_who_returns_is_flagged_whenever_he_holds() -> None:
    result = judged(dict(v[:2] for v in VECTORS)["13"])
    assert isinstance(result, Timeline)
    assert [result.returning(holding) for holding in result.holdings] == [True, False, True, False]


def test_changes_count_all_who_began_in_the_period() -> None:
    result = judged(dict(v[:2] for v in VECTORS)["15"])
    assert isinstance(result, Timeline)
    assert result.changes == 2


@pytest.mark.parametrize(
    ("text", "switches", "expected"),
    [
        (dict(v[:2] for v in VECTORS)["19"], {"unite_same_object": False}, "overlap"),
        (dict(v[:2] for v in VECTORS)["10"], {"on_ambiguous": "keep", "coverage": "off"}, "C D B A"),
        (dict(v[:2] for v in VECTORS)["5"], {"coverage": "off"}, "C B A"),
        (dict(v[:2] for v in VECTORS)["7b"], {"gap_days": 366}, "C A"),
        (dict(v[:2] for v in VECTORS)["7c"], {"coverage": "strict"}, "left_gap"),
        (dict(v[:2] for v in VECTORS)["7a"], {"coverage": "strict"}, "left_gap"),
        ("A 2015-01-01..2025-02-01, C 2025-02-01..-", {"coverage": "strict"}, "C A"),
        (dict(v[:2] for v in VECTORS)["16"], {"infer_end_from_next": True}, "C A"),
        ("A 2010..-, C 2025-01-01..-, D 2025-01-01..-", {"infer_end_from_next": True}, "overlap"),
        ("A 2010..2016, B 2016..2025-05-01", {"new_rule": "any"}, "B A"),
        ("A 2010..2016, B 2016..2025-05-01", {}, "no_change"),
        # The period ends before the first day of 2026.
        ("A 2010..2016, B 2016..2026-01-01", {"new_rule": "any"}, "no_change"),
        ("A 2010..2016, B 2016..2025-12-31", {"new_rule": "any"}, "B A"),
        # The last day of the month in which A began.
        ("Z 2010-01-01..2025-05-15, A 2025-05..-, C 2025-05-31..-", {"infer_end_from_next": True}, "C A Z"),
        ("C 2025-03-14..-", {"coverage": "off"}, "no_old"),
        ("C 2025-03-14..-", {}, "left_gap"),
        ("", {}, "no_change"),
        ("A 2010..2025-05-01, novalue 2025-05-01..-", {}, "no_change"),
        ("A 2010..2018, novalue 2018..2020, B 2020..2025-05-01, C 2025-05-01..-", {}, "gap"),
        ("A 2010..2025-05-01, ? 2025-05-01..-", {}, "unknown_object"),
        ("? 2000..2014, A 2014..2025-05-01, C 2025-05-01..-", {}, "C A"),
        ("A 2010..?, C 2025-05-01..-", {}, "bad_date"),
        ("A 2020..2018, C 2025-05-01..-", {}, "bad_date"),
        ("A 2012-01-01..2010-01-01, B 2010..2025-05-01, C 2025-05-01..-", {}, "C B"),
        ("A 2010|2011..2025-05-01, C 2025-05-01..-", {}, "bad_date"),
        ("A 2010..2025-05-01|2025-06-01, C 2025-05-01..-", {}, "bad_date"),
        ("A 2010..2025-05-01, C 2025-05-01..2030/5", {}, "bad_date"),
        ("A 1000/5..2025-05-01, C 2025-05-01..-", {}, "C A"),
        ("A -..-, C 2025-05-01..-", {}, "undated"),
        ("A 2010..2025, C 2025..-, D 2026..-", {}, "C A"),
        ("A 2010..2025-12-01, C 2020/8..-", {}, "no_change"),
    ],
)
def test_switches_and_odd_statements(text: str, switches: dict[str, Any], expected: str) -> None:
    assert outcome(text, **switches) == expected


def test_united_duplicates_keep_all_their_statements_and_the_widest_dates() -> None:
    result = judged(dict(v[:2] for v in VECTORS)["19"])
    assert isinstance(result, Timeline)
    oldest = result.holdings[-1]
    assert oldest.statements == ("s000", "s001")
    assert oldest.start == covered(Date(20100101, 11))
    assert oldest.end == (covered(Date(20180101, 11)).lo, covered(Date(20180101, 9)).hi)  # type: ignore[union-attr]
    assert (oldest.start_precision, oldest.end_precision) == (11, 9)
