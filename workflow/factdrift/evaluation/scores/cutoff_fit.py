"""The date of a model by maximum likelihood, its bootstrap interval, and the test whether there is a date.

All maxima are over grids of the date T, its spread tau, the share eps of answers that say nothing about time,
and the share lam of these that follow a preference for names. A point whose likelihood is below the best
one's by more than KEPT cannot win in a bootstrap draw and is not computed in it.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache
from itertools import product

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import minimize

from factdrift.core.intervals import COVERED
from factdrift.core.progress import Progress
from factdrift.evaluation.scores.cutoff_model import TINY, Choices, Floats, Ints, Tenures

SPREADS = np.geomspace(1, 3652, 13)
"""tau in days: 1 day to 10 years."""
FINE_SPREADS = np.geomspace(1, 3652, 49)
"""Near an end of the stream, a tau that is too great by a third would move the date by a month."""
EPS = (0.01, 0.1, 0.25, 0.45, 0.65, 0.8, 0.9, 0.96)
FINE_EPS = (0.0, 0.03, 0.06, 0.1, 0.15, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.87, 0.92, 0.96, 0.99)
LAM = (0.0, 0.5, 1.0)
FINE_LAM = (0.0, 0.25, 0.5, 0.75, 1.0)
WEEK = 7
KEPT = 25.0
"""Natural logarithms. Of a draw, twice the logarithm has a spread of about twice its root."""
DATES, TAUS = 90, 14
"""Dates and spreads of the finer grid, at most but for the days near the best date."""
DRAWN, POINTS = 16.0, 12_000
"""As KEPT, for draws of the bootstrap, and their points at most; the best ones."""
TEST_DATES, TEST_SPREADS = 60, (30.0, 180.0, 900.0)
TEST_EPS, TEST_LAM = (0.05, 0.3, 0.6, 0.85, 0.95), 0.2
LEAST = 1e-4
"""In the place of a lesser probability: eight of these are above the least float32."""
LEVEL = 0.01
"""Above this p, no date can be told."""
SHARP, NEAR = 62.0, 28
"""Up to this spread all days so near to the best week are looked at."""
PLATEAU = 0.1
"""Dates whose likelihood is within this of the greatest (natural logarithms) cannot be told from the best:
with sharp knowledge there may be weeks without a change of any chain."""
TOGETHER = 8
"""Probabilities that are multiplied before their logarithm is taken."""


@dataclass(frozen=True)
class Span:
    """The first and the last date of a stream, as ordinals."""

    first: int
    last: int


@dataclass(frozen=True)
class Estimate:
    """The most likely values. Dates are ordinals."""

    date: float
    low: float
    high: float
    tau: float
    eps: float
    lam: float
    gain: float
    """Logarithm of the likelihood ratio against answers that say nothing about time."""
    draws: NDArray[np.float64]
    """The date in each draw of the bootstrap."""


@dataclass(frozen=True)
class _Grid:
    """Points: [points] T, tau; and the pairs of eps and lam that are combined with each."""

    dates: Floats
    spreads: Floats
    mixes: tuple[tuple[float, float], ...]


def estimate(choices: Choices, span: Span, weights: NDArray[np.float32]) -> Estimate:
    """The maximum of the likelihood, and its percentiles over draws.

    `weights` [draws, subjects]: how often each draw has each subject.
    """
    coarse = _weekly(span)
    logs = _likelihoods(choices, coarse, _table(choices.tenures, span))
    fine = _finer(coarse, logs, span)
    known = choices.tenures.chances(fine.dates, fine.spreads)
    logs = _likelihoods(choices, fine, known)
    mix, point = np.unravel_index(logs.argmax(), logs.shape)
    dates, column = np.unique(fine.dates, return_inverse=True)
    profile = np.full(len(dates), -np.inf)
    np.maximum.at(profile, column, logs.max(0))
    date = _on_plateau(profile[None], dates, span, 0.5)[0]
    tau = float(fine.spreads[point])
    eps, lam = _mixture(choices, date, tau, fine.mixes[mix])
    gain = float(logs[mix, point] - _nothing(choices)[0])
    draws = _draws(choices, fine, known, logs, weights, span)
    low, high = np.quantile(draws, COVERED, method="nearest") if len(draws) else (date, date)
    return Estimate(float(date), float(low), float(high), tau, eps, lam, gain, draws)


@lru_cache(maxsize=1)
def _table(tenures: Tenures, span: Span) -> NDArray[np.float32]:
    """`chances` over all weeks, which is the same for all models that answer the same chains."""
    grid = _weekly(span)
    return tenures.chances(grid.dates, grid.spreads)


@cache
def _weekly(span: Span) -> _Grid:
    """All weeks, or quarters of tau where these are longer."""
    dates, spreads = [], []
    for tau in SPREADS[2:]:
        own = np.append(np.arange(span.first, span.last, max(WEEK, tau / 4)), span.last)
        dates.append(own)
        spreads.append(np.full(len(own), tau))
    return _Grid(np.concatenate(dates), np.concatenate(spreads), tuple(product(EPS, LAM)))


def _finer(coarse: _Grid, logs: NDArray[np.float64], span: Span) -> _Grid:
    """The points around those of the coarse grid that may win, with all days near a sharp best date.

    Of spreads below two weeks all.
    """
    best = logs.max() - KEPT
    kept = np.flatnonzero(logs.max(0) >= best)
    top = int(logs.max(0).argmax())
    near, spreads = coarse.dates[kept], coarse.spreads[kept]
    first, last = max(near.min() - WEEK, span.first), min(near.max() + WEEK, span.last)
    step = max(1, round((last - first) / DATES))
    dates = np.append(np.arange(first, last, step), last)
    if coarse.spreads[top] <= SHARP:
        dates = np.append(dates, coarse.dates[top] + np.arange(-NEAR, NEAR + 1))
    dates = np.unique(dates[(dates >= first) & (dates <= last)])
    chosen = _around(FINE_SPREADS, SPREADS, spreads if spreads.min() > SPREADS[2] else np.append(spreads, 1))
    chosen = chosen[:: -(-len(chosen) // TAUS)]
    mixes = np.array(coarse.mixes)[logs.max(1) >= best]
    mixed = (_around(np.array(FINE_EPS), EPS, mixes[:, 0]), _around(np.array(FINE_LAM), LAM, mixes[:, 1]))
    pairs = np.array(list(product(dates, chosen)))
    return _Grid(pairs[:, 0], pairs[:, 1], tuple((float(eps), float(lam)) for eps, lam in product(*mixed)))


def _around(fine: Floats, coarse: Sequence[float] | Floats, kept: Floats) -> Floats:
    """The fine values from the coarse one below the least kept value to that above the greatest."""
    steps = np.asarray(coarse)
    below, above = steps[steps < kept.min() - TINY], steps[steps > kept.max() + TINY]
    low, high = below.max(initial=-np.inf), above.min(initial=np.inf)
    near: Floats = fine[(fine >= low - TINY) & (fine <= high + TINY)]
    return near


def _likelihoods(choices: Choices, grid: _Grid, table: NDArray[np.float32]) -> NDArray[np.float64]:
    """[mixes, points] the logarithm of the likelihood; `table` [holders, points] the chances at the
    points."""
    known = table[choices.chosen]
    block = -(-len(known) // TOGETHER)
    logs = np.empty((len(grid.mixes), known.shape[1]))
    for mix, (eps, lam) in enumerate(grid.mixes):
        chances = np.float32(1 - eps) * known
        chances += _otherwise(choices, eps, lam)[:, None]
        np.maximum(chances, np.float32(LEAST), out=chances)
        for at in range(block, len(known), block):
            chances[: len(chances[at : at + block])] *= chances[at : at + block]
        logs[mix] = np.log(chances[:block]).sum(0, dtype=np.float64)
    return logs


def _otherwise(choices: Choices, eps: float, lam: float) -> NDArray[np.float32]:
    """[chains] eps * q of the answers."""
    chances = eps * ((1 - lam) * choices.even + lam * choices.preferred)
    return chances.astype(np.float32)


def _nothing(choices: Choices) -> tuple[float, float]:
    """The greatest logarithm of the likelihood of answers that say nothing about time, and its lam."""
    lams = np.linspace(0, 1, 101)[:, None]
    chances = np.maximum((1 - lams) * choices.even + lams * choices.preferred, LEAST)
    logs = np.log(chances).sum(1)
    return float(logs.max()), float(lams[logs.argmax(), 0])


def _mixture(choices: Choices, date: float, tau: float, begin: tuple[float, float]) -> tuple[float, float]:
    """The likeliest eps and lam at a date and spread."""
    known = choices.tenures.chances(np.array([date]), np.array([tau]))[choices.chosen, 0].astype(np.float64)

    def loss(mix: Floats) -> float:
        eps, lam = mix
        said = (1 - eps) * known + eps * ((1 - lam) * choices.even + lam * choices.preferred)
        return -float(np.log(np.maximum(said, TINY)).sum())

    best = minimize(loss, begin, method="Nelder-Mead", bounds=[(0, 1), (0, 1)], options={"xatol": 1e-3})
    return float(best.x[0]), float(best.x[1])


def _draws(
    choices: Choices,
    grid: _Grid,
    table: NDArray[np.float32],
    likelihoods: NDArray[np.float64],
    weights: NDArray[np.float32],
    span: Span,
) -> NDArray[np.float64]:
    """The most likely date of each draw; of dates that cannot be told apart, one at random."""
    flat = likelihoods.ravel()
    near = np.flatnonzero(flat >= flat.max() - DRAWN)
    if len(near) > POINTS:
        near = near[np.argsort(-flat[near], kind="stable")[:POINTS]]
    mixes, points = np.divmod(near, likelihoods.shape[1])
    order = np.argsort(choices.cluster, kind="stable")
    subjects, starts = np.unique(choices.cluster[order], return_index=True)
    known = table[choices.chosen]
    dates, column = np.unique(grid.dates, return_inverse=True)
    profile = np.full((len(weights), len(dates)), -np.inf, np.float32)
    own = weights[:, subjects]
    for mix in np.unique(mixes):
        mine = points[mixes == mix]
        eps, lam = grid.mixes[mix]
        chances = np.float32(1 - eps) * known[:, mine] + _otherwise(choices, eps, lam)[:, None]
        logs = np.log(np.maximum(chances, np.float32(LEAST)))[order]
        score = own @ np.add.reduceat(logs, starts, axis=0)
        for tau in np.unique(grid.spreads[mine]):
            columns = np.flatnonzero(grid.spreads[mine] == tau)
            at = column[mine[columns]]
            profile[:, at] = np.maximum(profile[:, at], score[:, columns])
    rng = np.random.default_rng(len(weights))
    return _on_plateau(profile, dates, span, rng.random(len(weights)))


def _on_plateau(
    profile: NDArray[np.floating], dates: Floats, span: Span, where: float | Floats
) -> NDArray[np.float64]:
    """A date of each row of `profile` [rows, dates] among those that cannot be told from the best one.

    It is an end of the stream if that is one of them; else the one nearest to `where` of the way from the
    first to the last of them.
    """
    best = np.empty(len(profile))
    for row, (own, share) in enumerate(zip(profile, np.broadcast_to(where, len(profile)), strict=True)):
        near = dates[own >= own.max() - PLATEAU]
        if near[0] <= span.first or near[-1] >= span.last:
            best[row] = near[0] if near[0] <= span.first else near[-1]
        else:
            best[row] = near[np.abs(near - near[0] - share * (near[-1] - near[0])).argmin()]
    return best


Relabel = Callable[[np.random.Generator], Ints]
"""The holders whose tenures the answers have after a permutation, [chains]; no holder twice."""


def among_holders(choices: Choices) -> Relabel:
    """Permutes the tenures among the holders of each chain."""
    start, size = choices.tenures.start, choices.tenures.size
    return lambda rng: start + rng.integers(0, size)


def among_chains(choices: Choices) -> Relabel:
    """Permutes the tenures among chains with the same number of holders each."""
    start = choices.tenures.start
    return lambda rng: rng.permutation(start) + choices.chosen - start


def chance_of_no_date(
    choices: Choices, span: Span, relabel: Relabel, rng: np.random.Generator, times: int, stop: int = 0
) -> float:
    """p of the likelihood ratio against answers that say nothing about time, by permutation.

    `stop`: ends once that many permutations are at least as large, as p is then known well enough; 0 never.
    """
    dates, spreads = np.array(list(product(np.linspace(span.first, span.last, TEST_DATES), TEST_SPREADS))).T
    known = choices.tenures.chances(dates, spreads)
    # Of each holder of a chain, as if its tenures were the answer's.
    nothing, preference = _nothing(choices)
    lams = sorted({min(max(preference + step, 0.0), 1.0) for step in (-TEST_LAM, 0, TEST_LAM)})
    tables = []
    for eps, lam in product(TEST_EPS, lams):
        rest = _otherwise(choices, eps, lam)
        tables.append(np.log(np.maximum((1 - eps) * known + rest[choices.tenures.chain, None], LEAST)))
    table = np.concatenate(tables, axis=1)

    def statistic(labels: list[Ints]) -> NDArray[np.float64]:
        marks = np.zeros((len(labels), len(table)), np.float32)
        for row, own in enumerate(labels):
            marks[row, own] = 1
        found: NDArray[np.float64] = (marks @ table).max(1).astype(np.float64)
        return np.maximum(found - nothing, 0)

    own = float(statistic([choices.chosen])[0])
    above = done = 0
    with Progress("permutations", times, "permutations") as progress:
        while done < times and not (stop and above >= stop):
            count = min(50, times - done)
            values = statistic([relabel(rng) for _ in range(count)])
            above += int((values >= own - 1e-3).sum())
            done += count
            progress.advance(count)
    return (1 + above) / (1 + done)


def draw_subjects(subjects: int, draws: int, rng: np.random.Generator) -> NDArray[np.float32]:
    """[draws, subjects] how often each draw of as many subjects, with replacement, has each of them."""
    counts = np.zeros((draws, subjects), np.float32)
    for row in counts:
        row += np.bincount(rng.integers(0, subjects, subjects), minlength=subjects)
    return counts
