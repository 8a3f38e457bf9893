"""RSD: how much less the scores of a sentence without a fact vary over the units.

RSD does not change with a constant added to a sentence's scores, nor with one common factor for all. It does
with a factor of its own for each sentence: use the CV or entropy version for a method that scales its scores
by sentence.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import stats


class Spread(NamedTuple):
    """RSD with its parts and 95 % interval; None if undefined (no sentences, or SD_factual is 0)."""

    factual: float | None
    nonfactual: float | None
    unclipped: float | None
    low: float | None
    high: float | None

    @property
    def value(self) -> float | None:
        """max(1 - SD_nonfactual / SD_factual, 0)."""
        return None if self.unclipped is None else max(self.unclipped, 0.0)


def rsd(
    factual: Mapping[str, NDArray[np.float64]], nonfactual: NDArray[np.float64], pool: str = "sentences"
) -> Spread:
    """RSD from a measure of spread of each sentence, [sentences]; NaNs are left out.

    `factual`: subtask -> spreads. `nonfactual`: the spreads of KLoB-u. `pool`: SD_factual is the mean over
    all `sentences`, or over the means of the `subtasks`. The 95 % interval is by the delta method for a ratio
    of means.
    """
    groups = [known for values in factual.values() if len(known := values[~np.isnan(values)])]
    random = nonfactual[~np.isnan(nonfactual)]
    if pool == "sentences" and groups:
        groups = [np.concatenate(groups)]
    mean = float(np.mean([group.mean() for group in groups])) if groups else None
    other = float(random.mean()) if len(random) else None
    if mean is None or other is None or mean == 0:
        return Spread(mean, other, None, None, None)
    ratio = other / mean
    of_mean = sum(_variance(group) for group in groups) / len(groups) ** 2
    error = 1.96 * np.sqrt(_variance(random) / mean**2 + of_mean * ratio**2 / mean**2)
    return Spread(mean, other, 1 - ratio, 1 - ratio - float(error), 1 - ratio + float(error))


def _variance(sample: NDArray[np.float64]) -> float:
    """The variance of the sample's mean."""
    return float(sample.var(ddof=1) / len(sample)) if len(sample) > 1 else 0.0


class Paired(NamedTuple):
    """Paired RSD: the mean of 1 - SD / SD of the source, the number of pairs, the sign test's p-value."""

    value: float | None
    pairs: int
    p_value: float | None


def paired(nonfactual: NDArray[np.float64], sources: NDArray[np.float64]) -> Paired:
    """RSD against each random sentence's own source, from two arrays [pairs] of SDs.

    Pairs with a NaN, or with an SD of 0 in the source, are left out.
    """
    known = ~np.isnan(nonfactual) & ~np.isnan(sources) & (sources > 0)
    if not known.any():
        return Paired(None, 0, None)
    random, source = nonfactual[known], sources[known]
    less, above = int((random < source).sum()), int((random > source).sum())
    p_value = float(stats.binomtest(less, less + above).pvalue) if less + above else 1.0
    return Paired(float((1 - random / source).mean()), len(random), p_value)
