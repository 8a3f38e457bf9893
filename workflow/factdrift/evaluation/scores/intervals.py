"""Means with confidence intervals."""

import math
from collections.abc import Sequence
from statistics import fmean, stdev
from typing import NamedTuple

_Z = 1.96


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
        half = top * _Z**2 / ((clusters if clustered else len(values)) + _Z**2)
    elif clustered:
        from scipy import stats

        sums = dict.fromkeys(models, 0.0)
        for value, model in zip(values, models, strict=True):
            sums[model] += value - mean
        squares = math.fsum(each**2 for each in sums.values())
        variance = squares / len(values) ** 2 * clusters / (clusters - 1)
        half = float(stats.t.ppf(0.975, clusters - 1)) * math.sqrt(variance)
    else:
        half = _Z * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Interval(mean, half, len(values))


def geometric(values: Sequence[float]) -> Interval | None:
    """The geometric mean m of positive values, with half the width m * 1.96 sd(log) / sqrt(n).

    That is the first-order width of exp of an interval of the mean logarithm. Infinite without a width if a
    value is.
    """
    if any(math.isinf(value) for value in values):
        return Interval(math.inf, math.nan, len(values))
    if found := interval([math.log(value) for value in values]):
        mean = math.exp(found.mean)
        return Interval(mean, mean * found.half, found.n)
    return None
