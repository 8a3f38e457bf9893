"""The probability of each holder of a chain at a date: tenures as arrays, and the model of the estimate.

    P(holder) = (1 - eps) * mass / (mass of all holders of the chain) + eps * q
    mass = sum over tenures of share * (F((end - T) / tau) - F((begin - T) / tau)), F the logistic function
    q = (1 - lam) * even + lam * [holder is the one preferred after neutral prompts]

Times are ordinals of days; a tenure ends where the day after its last one begins.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from factdrift.streams.timelines import day_number

Floats = NDArray[np.floating]
Ints = NDArray[np.int64]

TINY = 1e-30
"""In the place of a probability of 0, so that its logarithm is finite."""
UNDERFLOW = 1e-280
"""Masses of a chain below this are computed in logarithms."""


class Part(NamedTuple):
    """A tenure of a holder: ordinals of its beginning and its end, and its share of these days."""

    begin: float
    end: float
    share: float


@dataclass(frozen=True, eq=False)
class Tenures:
    """The tenures of all holders of some chains."""

    chain: Ints
    """[holders] the chain of each holder, ascending from 0."""
    even: Floats
    """[holders] the probability of each holder without any knowledge; sums to 1 over a chain."""
    holder: Ints
    """[parts] the holder of each tenure, ascending."""
    begin: Floats
    end: Floats
    share: Floats

    @classmethod
    def of(cls, chains: Sequence[Sequence[Sequence[Part]]], even: Sequence[Sequence[float]] = ()) -> Tenures:
        """Tenures of each holder of each chain; `even` is 1 / (number of holders) by default."""
        shares = even or [[1 / len(holders)] * len(holders) for holders in chains]
        flat = [own for holders in chains for own in holders]
        parts = np.array([part for own in flat for part in own], np.float64).reshape(-1, 3)
        return cls(
            np.repeat(np.arange(len(chains)), [len(holders) for holders in chains]),
            np.concatenate([np.asarray(own, np.float64) for own in shares]),
            np.repeat(np.arange(len(flat)), [len(own) for own in flat]),
            *(parts[:, column] for column in range(3)),
        )

    @cached_property
    def size(self) -> Ints:
        """[chains] number of holders."""
        return np.bincount(self.chain)

    @cached_property
    def start(self) -> Ints:
        """[chains] the first holder."""
        return np.concatenate([[0], np.cumsum(self.size)[:-1]]).astype(np.int64)

    def only(self, chains: Ints) -> Tenures:
        """Some chains, numbered anew; `chains` ascends."""
        holders = np.flatnonzero(np.isin(self.chain, chains))
        parts = np.flatnonzero(np.isin(self.holder, holders))
        chain, holder = np.searchsorted(chains, self.chain[holders]), self.holder[parts]
        own = (values[parts] for values in (self.begin, self.end, self.share))
        return Tenures(chain, self.even[holders], np.searchsorted(holders, holder), *own)

    def chances(self, dates: Floats, spreads: Floats) -> NDArray[np.float32]:
        """[holders, points] the share of each holder in its chain at points of T and tau, given knowledge."""
        shares = np.empty((len(self.chain), len(dates)), np.float32)
        step = max(1, 2_000_000 // len(self.holder))
        for at in range(0, len(dates), step):
            here = slice(at, at + step)
            shares[:, here] = self._chances(dates[here], spreads[here])
        return shares

    def _chances(self, dates: Floats, spreads: Floats) -> Floats:
        days, columns = np.unique([self.begin, self.end], return_inverse=True)
        begin, end = columns.reshape(2, -1)
        x = (days[:, None] - dates) / spreads
        before, after = expit(x), expit(-x)
        # After T the difference of two small numbers, where that of F would be one of two ones.
        mass = np.where(x[begin] > 0, after[begin] - after[end], before[end] - before[begin])
        mass *= self.share[:, None]
        owners = np.searchsorted(self.holder, np.arange(len(self.chain)))
        mass = np.add.reduceat(mass, owners, axis=0)
        whole = np.add.reduceat(mass, self.start, axis=0)
        for chain in np.flatnonzero((whole < UNDERFLOW).any(1)):
            own = slice(self.start[chain], self.start[chain] + self.size[chain])
            points = np.flatnonzero(whole[chain] < UNDERFLOW)
            mine = np.flatnonzero(self.chain[self.holder] == chain)
            logs = _log_mass(x[begin[mine]][:, points], x[end[mine]][:, points], self.share[mine, None])
            logs = np.logaddexp.reduceat(logs, owners[own] - mine[0], axis=0)
            mass[own, points] = np.exp(logs - logs.max(0))
            whole[chain, points] = mass[own, points].sum(0)
        shares: Floats = mass / whole[self.chain]
        return shares


def _log_mass(low: Floats, high: Floats, share: Floats) -> Floats:
    """log(share * (F(high) - F(low)))"""
    flipped = low > 0
    low, high = np.where(flipped, -high, low), np.where(flipped, -low, high)
    upper, lower = -np.logaddexp(0, -high), -np.logaddexp(0, -low)
    with np.errstate(divide="ignore"):
        logs: Floats = upper + np.log1p(-np.exp(lower - upper)) + np.log(share)
    return logs


def parts(tenures: Sequence[dict[str, float | None]]) -> list[Part]:
    """The tenures of a row of CHAINS."""
    return [
        Part(
            -np.inf if tenure["first"] is None else day_number(int(tenure["first"])),
            np.inf if tenure["last"] is None else day_number(int(tenure["last"])) + 1,
            float(tenure["share"] or 0),
        )
        for tenure in tenures
    ]


@dataclass(frozen=True)
class Choices:
    """What a model answered: one holder of each chain."""

    tenures: Tenures
    chosen: Ints
    """[chains] the holder of the answer."""
    neutral: Ints
    """[chains] the holder that is preferred after neutral prompts; -1 where none is known."""
    cluster: Ints
    """[chains] the subject, which the bootstrap draws."""

    def only(self, chains: Ints) -> Choices:
        """Some chains; `chains` ascends. The numbers of the subjects stay."""
        tenures, neutral = self.tenures.only(chains), self.neutral[chains]
        shift = self.tenures.start[chains] - tenures.start
        neutral = np.where(neutral < 0, -1, neutral - shift)
        return Choices(tenures, self.chosen[chains] - shift, neutral, self.cluster[chains])

    @property
    def even(self) -> Floats:
        """[chains] the probability of the answer without knowledge or preference."""
        return self.tenures.even[self.chosen]

    @property
    def preferred(self) -> Floats:
        """[chains] its probability if the neutral preference decides."""
        return np.where(self.neutral < 0, self.even, self.neutral == self.chosen)
