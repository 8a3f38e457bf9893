"""What is kept of the scores of a batch: the best units of each sentence, and moments of all of them."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from factdrift.klob.scoring.selection import best_units


class Found(NamedTuple):
    """Results for S sentences; a sentence with a score that is not finite has moments NaN."""

    granularity: str
    units: int
    """The number of units that have scores."""
    top: NDArray[np.int32]
    """[S, K] units, the best first; of units with equal scores the lower number first."""
    mean: NDArray[np.float64]
    """[S] of all units' scores."""
    sd: NDArray[np.float64]
    """[S], divided by the number of units."""
    layers: NDArray[np.float64] | None
    """[S, blocks] sums of the scores of each block's units; None if units are not numbered by block."""


def of_scores(scores: NDArray[np.floating], granularity: str, layers: int, most: int) -> Found:
    """Of scores [S, units] the `most` best units, the moments, and the sums over each of `layers` blocks."""
    number, units = scores.shape
    top = np.tile(np.arange(most, dtype=np.int32), (number, 1))
    mean, sd = np.full(number, np.nan), np.full(number, np.nan)
    wide = scores.astype(np.float64)
    for row in np.flatnonzero(np.isfinite(scores).all(1)):
        top[row] = best_units(scores[row], most)
        mean[row], sd[row] = wide[row].mean(), wide[row].std()
    sums = None if units % layers else wide.reshape(number, layers, -1).sum(2)
    return Found(granularity, units, top, mean, sd, sums)


def of_listed(
    top: NDArray[np.integer],
    mean: NDArray[np.float64],
    sd: NDArray[np.float64],
    units: int,
    granularity: str,
) -> Found:
    """Results that are given as best units and moments."""
    return Found(granularity, units, top.astype(np.int32), mean, sd, None)
