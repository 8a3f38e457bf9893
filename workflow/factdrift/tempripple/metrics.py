"""Statistics of right and wrong answers: intervals of an accuracy, and the paper's three tests.

Each timeline gives many items, and several paths can end in the same fact, so items are not independent:
Wilson's interval is too narrow and the p-values are too small; the clustered bootstrap accounts for clusters.
"""

from collections.abc import Callable, Hashable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats

CONFIDENCE = 0.95
"""Of all intervals."""

EXACT_BELOW = 25
"""McNemar's test is exact for fewer discordant pairs than this."""


class Interval(NamedTuple):
    low: float
    high: float


class McNemar(NamedTuple):
    """`statistic` is chi-squared with one degree of freedom; None if the test is exact."""

    p: float
    statistic: float | None


def wilson(right: int, asked: int) -> Interval:
    """Wilson's interval of a share, without continuity correction."""
    interval = stats.binomtest(right, asked).proportion_ci(CONFIDENCE, method="wilson")
    return Interval(float(interval.low), float(interval.high))


def clustered_interval(
    correct: Sequence[bool], clusters: Sequence[Hashable], seed: int = 0, draws: int = 2000
) -> Interval:
    """Percentile bootstrap interval of the share of right answers; whole clusters are resampled."""
    places = {cluster: place for place, cluster in enumerate(dict.fromkeys(clusters))}
    index = np.array([places[cluster] for cluster in clusters])
    right = np.bincount(index, weights=np.asarray(correct, dtype=np.float64))
    sizes = np.bincount(index).astype(np.float64)
    chosen = np.random.default_rng(seed).integers(0, len(places), (draws, len(places)))
    shares = right[chosen].sum(axis=1) / sizes[chosen].sum(axis=1)
    return _percentiles(shares)


def _percentiles(values: NDArray[np.float64]) -> Interval:
    tail = (1 - CONFIDENCE) / 2
    low, high = np.quantile(values, [tail, 1 - tail])
    return Interval(float(low), float(high))


def resampled_interval(
    statistic: Callable[[NDArray[np.int64]], float | None],
    clusters: Sequence[Hashable],
    seed: int,
    draws: int,
) -> Interval | None:
    """Percentile bootstrap interval of a statistic of rows; whole clusters of rows are resampled.

    `statistic` gets the indices of the rows drawn, [n], and returns None where it is not defined; such draws
    are left out. None if no draw is left, or if there are no rows.
    """
    members: dict[Hashable, list[int]] = {}
    for row, cluster in enumerate(clusters):
        members.setdefault(cluster, []).append(row)
    groups = [np.array(rows, dtype=np.int64) for rows in members.values()]
    random = np.random.default_rng(seed)
    resampled = []
    for _ in range(draws if groups else 0):
        chosen = random.integers(0, len(groups), len(groups))
        value = statistic(np.concatenate([groups[place] for place in chosen]))
        if value is not None:
            resampled.append(value)
    return _percentiles(np.array(resampled)) if resampled else None


def mcnemar(only_first: int, only_second: int) -> McNemar:
    """McNemar's test of the same items under two conditions.

    `only_first`, `only_second`: the number of items right under one condition only.
    """
    number = only_first + only_second
    if number == 0:
        return McNemar(1.0, None)
    if number < EXACT_BELOW:
        return McNemar(float(stats.binomtest(only_first, number).pvalue), None)
    statistic = max(abs(only_first - only_second) - 1, 0) ** 2 / number
    return McNemar(float(stats.chi2.sf(statistic, 1)), statistic)


def fisher(first: tuple[int, int], second: tuple[int, int]) -> float:
    """Two-sided p of Fisher's exact test on the (right, wrong) counts of two groups."""
    return float(stats.fisher_exact([first, second]).pvalue)


def point_biserial(correct: NDArray[np.float64], values: NDArray[np.float64]) -> float | None:
    """Pearson's correlation of right (1) or wrong (0) with a number; None if either is constant."""
    if len(correct) < 2 or not np.ptp(correct) or not np.ptp(values):
        return None
    return float(np.corrcoef(correct, values)[0, 1])
