"""Means with confidence intervals, and tables of aligned columns."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from statistics import fmean, stdev
from typing import NamedTuple


class Interval(NamedTuple):
    """A mean, half the width of its 95 % confidence interval, and the number of values."""

    mean: float
    half: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.1f}" + ("" if math.isnan(self.half) else f" ±{self.half:.1f}")


def interval(values: Sequence[float]) -> Interval | None:
    """Mean and 1.96 sd / sqrt(n), which is NaN for a single value; None if there are no values."""
    if not values:
        return None
    half = 1.96 * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Interval(fmean(values), half, len(values))


def geometric(values: Sequence[float]) -> Interval | None:
    """The geometric mean m of positive values, with half the width m * 1.96 sd(log) / sqrt(n).

    That is the first-order width of exp of an interval of the mean logarithm. Infinite without a width if a
    value is.
    """
    if any(math.isinf(value) for value in values):
        return Interval(math.inf, math.nan, len(values))
    found = interval([math.log(value) for value in values])
    if found is None:
        return None
    mean = math.exp(found.mean)
    return Interval(mean, mean * found.half, found.n)


def grid(header: Sequence[str], rows: Sequence[Sequence[str]]) -> Iterator[str]:
    """Aligned lines of a table: the first column to the left, the others to the right."""
    widths = [max(map(len, column)) for column in zip(header, *rows, strict=True)]
    for row in (header, *rows):
        first, *others = (
            cell.ljust(width) if place == 0 else cell.rjust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        )
        yield "  ".join([first, *others]).rstrip()
