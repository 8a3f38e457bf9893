"""Intervals of shares, against SciPy's and by their promises."""

import re
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

import factdrift
from factdrift.core.intervals import bootstrap, clustered_wilson, wilson


@given(st.integers(1, 500).flatmap(lambda count: st.tuples(st.integers(0, count), st.just(count))))
def test_wilson_is_that_of_scipy(counts: tuple[int, int]) -> None:
    right, count = counts
    found = stats.binomtest(right, count).proportion_ci(0.95, method="wilson")
    low, high = wilson(right, count)
    assert (low, high) == pytest.approx((found.low, found.high), abs=1e-4)
    assert low <= right / count <= high


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=40))
def test_every_interval_of_a_share_has_a_width_and_holds_it(answers: list[tuple[bool, int]]) -> None:
    right, clusters = zip(*answers, strict=True)
    share = sum(right) / len(right)
    for low, high in (clustered_wilson(right, clusters), bootstrap(right, clusters, draws=200)):
        assert 0 <= low < high <= 1
        assert low <= share <= high
    if len(set(clusters)) == 1:  # As of a single answer, however often it was repeated.
        assert bootstrap(right, clusters) == wilson(share, 1)


@pytest.mark.parametrize(
    ("right", "clusters", "ends"),
    [
        ([0, 0, 0], [1, 2, 3], (0, 0.5615)),  # 3 of 3 wrong
        ([1], [1], (0.2065, 1)),
        ([1, 1, 0], [1, 1, 1], (0.0942, 0.9747)),
        ([1, 1, 1, 1], [1, 1, 2, 2], (0.3424, 1)),
        ([1, 0, 1, 0], [1, 1, 2, 2], (0.15, 0.85)),  # equal shares: the draws do not differ
    ],
)
def test_intervals_of_draws_that_do_not_differ(right, clusters, ends):
    assert bootstrap(right, clusters) == pytest.approx(ends, abs=1e-3)


def test_no_other_module_has_an_interval_of_its_own() -> None:
    folder = Path(factdrift.__file__).parent
    own = re.compile(r"(?<![\w.])1\.96\b(?! sd)|proportion_ci|0\.975|\b97\.5")
    modules = {path.name for path in folder.rglob("*.py") if own.search(path.read_text("utf-8"))}
    assert modules == {"intervals.py"}
