"""Means and shares with their 95 % intervals: of all tables, so that one statistic is computed in one way."""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Hashable, Sequence
from statistics import fmean, stdev
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

Z = 1.96
"""Standard errors on each side of an interval."""
COVERED = (0.025, 0.975)
"""Quantiles at the ends of an interval."""
Ends = tuple[float, float]
"""The ends of an interval."""
THIRDS = ("low", "middle", "high")
"""The names of thirds."""


class Interval(NamedTuple):
    """A mean, half the width of its 95 % confidence interval, and the number of values."""

    mean: float
    half: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.1f}" + ("" if math.isnan(self.half) else f" ±{self.half:.1f}")

    def cells(self) -> tuple[str, str]:
        """Mean and half the width as comma-separated values have them; a width that is not known is empty."""
        return f"{self.mean:.6g}", "" if math.isnan(self.half) else f"{self.half:.6g}"


def interval(
    values: Sequence[float], models: Sequence[object] = (), top: float | None = None
) -> Interval | None:
    """Mean and 1.96 sd / sqrt(n), which is NaN for a single value; None if there are no values.

    `models`: of each value the edited model that it is of. Values of one model are not independent, so the
    interval is then that of clusters, by Student's t; with one model it is over that model's values alone.
    `top`: the values are shares of it, from 0 to `top`. If all are 0, or all `top`, half the width is the
    distance to the other end of their Wilson interval, because the sample has no spread.
    """
    if not values:
        return None
    mean, clusters = fmean(values), len(set(models))
    clustered = 1 < clusters < len(values)
    if top is not None and set(values) in ({0.0}, {top}):
        half = top * wilson(0, clusters if clustered else len(values))[1]
    elif clustered:
        from scipy import stats

        sums = dict.fromkeys(models, 0.0)
        for value, model in zip(values, models, strict=True):
            sums[model] += value - mean
        squares = math.fsum(total**2 for total in sums.values())
        variance = squares / len(values) ** 2 * clusters / (clusters - 1)
        half = float(stats.t.ppf(COVERED[1], clusters - 1)) * math.sqrt(variance)
    else:
        half = Z * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Interval(mean, half, len(values))


def thirds(values: Sequence[float | None]) -> list[str]:
    """Names of the thirds in which the values lie, with equal values in their order; "" for None."""
    known = [index for index, value in enumerate(values) if value is not None]
    names = [""] * len(values)
    for rank, index in enumerate(sorted(known, key=lambda index: values[index] or 0.0)):
        names[index] = THIRDS[len(THIRDS) * rank // len(known)]
    return names


def geometric(values: Sequence[float]) -> Interval | None:
    """The geometric mean m of positive values, with half the width m * 1.96 sd(log) / sqrt(n).

    That is the first-order width of exp of an interval of the mean logarithm. Infinite without a width if a
    value is.
    """
    if any(math.isinf(value) for value in values):
        return Interval(math.inf, math.nan, len(values))
    if of_logs := interval([math.log(value) for value in values]):
        mean = math.exp(of_logs.mean)
        return Interval(mean, mean * of_logs.half, of_logs.n)
    return None


def wilson(right: float, count: float) -> Ends:
    """Wilson's interval of a share, without continuity correction; `count` may be a fraction of values."""
    share = right / count
    middle = (share + Z**2 / (2 * count)) / (1 + Z**2 / count)
    half = Z * math.sqrt(share * (1 - share) / count + Z**2 / (4 * count**2)) / (1 + Z**2 / count)
    # At its end a share is in the interval, whatever the rounding.
    return 0.0 if right == 0 else max(0.0, middle - half), 1.0 if right == count else min(1.0, middle + half)


def clustered_wilson(right: Sequence[bool], clusters: Sequence[Hashable]) -> Ends:
    """Wilson's interval of a share, for as many values as clusters of alike ones are worth.

    Their number is divided by the design effect: the variance of the mean over clusters to that of
    independent values, at least 1 (Kish, 1965). Where all values are equal, or of one cluster, it is the
    number of clusters, because nothing shows how they differ.
    """
    count = len(right)
    share = sum(right) / count
    sums: dict[Hashable, float] = defaultdict(float)
    for value, cluster in zip(right, clusters, strict=True):
        sums[cluster] += value - share
    number, own = len(sums), share * (1 - share) / count
    worth = float(number)
    if own and number > 1:
        spread = math.fsum(total**2 for total in sums.values()) / count**2 * number / (number - 1)
        worth = count / max(1.0, spread / own)
    return wilson(share * worth, worth)


def bootstrap(right: Sequence[bool], clusters: Sequence[Hashable], seed: int = 0, draws: int = 2000) -> Ends:
    """Percentile bootstrap interval of a share; whole clusters are resampled.

    Draws that do not differ, as of 0 or 100 %, or of one cluster, say nothing about the width: then it is
    `clustered_wilson`.
    """
    import numpy as np

    numbers = {cluster: number for number, cluster in enumerate(dict.fromkeys(clusters))}
    index = np.array([numbers[cluster] for cluster in clusters])
    sums = np.bincount(index, weights=np.asarray(right, dtype=np.float64))
    sizes = np.bincount(index).astype(np.float64)
    chosen = np.random.default_rng(seed).integers(0, len(numbers), (draws, len(numbers)))
    low, high = percentiles(sums[chosen].sum(axis=1) / sizes[chosen].sum(axis=1))
    return (low, high) if low < high else clustered_wilson(right, clusters)


def percentiles(values: NDArray[np.float64]) -> Ends:
    """The ends of the interval of a statistic, from its values over draws; NaN is none."""
    import numpy as np

    low, high = np.nanquantile(values, COVERED)
    return float(low), float(high)
