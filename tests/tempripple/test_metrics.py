"""The paper's tests on computed vectors, and the intervals."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factdrift.tempripple.metrics import clustered_interval, fisher, mcnemar, point_biserial, wilson


@pytest.mark.parametrize(
    ("b", "c", "p", "statistic"),
    [
        (0, 0, 1, None),
        (1, 8, 0.0390625, None),
        (5, 5, 1, None),
        (3, 9, 0.14599609375, None),
        (8, 16, 0.1515896, None),
        (10, 15, 0.4237107, 0.64),
        (12, 13, 1, 0),
        (10, 30, 0.0026631, 9.025),
    ],
)
def test_mcnemar(b: int, c: int, p: float, statistic: float | None) -> None:
    found = mcnemar(b, c)
    assert found.p == pytest.approx(p, abs=1e-7)
    assert found.statistic == (None if statistic is None else pytest.approx(statistic))
    assert mcnemar(c, b) == found


@pytest.mark.parametrize(
    ("table", "p"),
    [(((8, 2), (1, 5)), 0.0349650), (((18, 2), (12, 8)), 0.0648332), (((90, 10), (75, 25)), 0.0085036)],
)
def test_fisher(table: tuple[tuple[int, int], tuple[int, int]], p: float) -> None:
    assert fisher(*table) == pytest.approx(p, abs=1e-7)


def test_point_biserial() -> None:
    x = [2, 4, 6, 8]
    assert point_biserial([True, True, False, True], x) == pytest.approx(-0.2581989, abs=1e-7)
    assert point_biserial([True, False, True, False], x) == pytest.approx(-0.4472136, abs=1e-7)
    assert point_biserial([True, True], [1, 2]) is None
    assert point_biserial([True, False], [3, 3]) is None
    assert point_biserial([True], [3]) is None


def test_wilson() -> None:
    low, high = wilson(8, 10)
    assert (low, high) == (pytest.approx(0.4901625, abs=1e-6), pytest.approx(0.9433178, abs=1e-6))
    assert wilson(0, 5).low == 0


@given(st.lists(st.tuples(st.booleans(), st.integers(0, 4)), min_size=1, max_size=40))
def test_clustered_intervals_lie_around_the_shares(answers: list[tuple[bool, int]]) -> None:
    correct, clusters = zip(*answers, strict=True)
    low, high = clustered_interval(correct, clusters, draws=200)
    assert 0 <= low <= high <= 1
    if len(set(clusters)) == 1:
        assert low == high == pytest.approx(sum(correct) / len(correct))


def test_clusters_widen_the_interval() -> None:
    correct = [place % 2 == 0 for place in range(10) for _ in range(50)]
    whole = clustered_interval(correct, [place // 50 for place in range(500)])
    apart = clustered_interval(correct, list(range(500)))
    assert whole.high - whole.low > 3 * (apart.high - apart.low)
