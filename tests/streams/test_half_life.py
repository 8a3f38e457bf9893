"""How long values hold: Kaplan-Meier against a plain product."""

import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.tables import written

from factdrift.streams.half_life import FEWEST, Tenures, half_life, half_life_text, read_tenures
from factdrift.streams.known import KNOWN

YEAR = 365.25
days = st.integers(0, 6000).map(float)


def survival(tenures: Tenures, day: float) -> float:
    """The product of (1 - d / n) over the days up to this one on which a value ended."""
    left = 1.0
    for end in sorted({each for each in tenures.ended if each <= day}):
        at_risk = sum(each >= end for each in [*tenures.ended, *tenures.censored])
        left *= 1 - sum(each == end for each in tenures.ended) / at_risk
    return left


@given(st.lists(days, min_size=1, max_size=40), st.lists(days, max_size=40))
def test_shares_and_medians_are_those_of_a_plain_product(ended: list[float], censored: list[float]) -> None:
    tenures = Tenures(ended, censored)
    row = half_life(tenures)
    assert (row["n"], row["ended"], row["censored"]) == (len(ended + censored), len(ended), len(censored))
    for year in (1, 2, 5, 10):
        share, low, high = (row[f"after_{year}y{end}"] for end in ("", "_low", "_high"))
        if year * YEAR > max(ended + censored):
            assert share is None
        else:
            assert math.isclose(share, survival(tenures, year * YEAR), abs_tol=1e-12)
            assert low is None or low <= share <= high
    assert row["stale_after_1y"] == (None if row["after_1y"] is None else 1 - row["after_1y"])
    for name, level in (("quartile_1", 0.75), ("median", 0.5), ("quartile_3", 0.25)):
        reached = [end for end in sorted(ended) if survival(tenures, end) <= level + 1e-12]
        expected = reached[0] / YEAR if reached and len(ended) >= FEWEST else None
        assert row.get(name) == (expected and pytest.approx(expected)) or (expected == 0 == row.get(name))


def test_few_ends_have_no_median() -> None:
    row = half_life(Tenures([400.0] * (FEWEST - 1), []))
    text = half_life_text({"relation": "P6", "label": "mayor", "median": None} | row)
    assert "no median" in text
    assert text.splitlines()[2] == "after  1 years 100 % still hold"


def test_tenures_end_are_censored_or_are_left_out(tmp_path: Path) -> None:
    usual = {"subject": 1, "property": 6, "value": 7, "doubted": False, "start_last": 20100101}
    usual |= {"possible_first": 20100101, "certain_first": 20100101, "certain_last": 20110101}
    rows = [
        usual | {"possible_last": 20110101},  # ended
        usual | {"possible_last": None},  # still stated
        usual | {"possible_last": 20300101},  # an end that lies after the last dump
        usual | {"possible_last": 20101231, "certain_last": None, "certain_first": None},  # ended in the year
        usual | {"possible_last": 20110101, "known_until": "2020-01-01"},  # known no more
        usual | {"possible_last": 20110101, "doubted": True},
        usual | {"possible_last": 20110101, "value": None},
        usual | {"possible_last": 20110101, "start_last": 20110101},  # the year of the start is not known
        usual | {"possible_last": None, "start_last": 20210101, "certain_last": None},  # announced
    ]
    known = written(tmp_path / "known.parquet", KNOWN, rows)
    assert read_tenures([known], 20200101) == {6: Tenures([365.0, 182.0], [365.0, 365.0])}
