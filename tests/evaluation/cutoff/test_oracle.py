"""The estimate beside a slow plain one that follows its formulas word by word, on random chains."""

from __future__ import annotations

import datetime
import math
from collections.abc import Sequence
from decimal import Decimal, localcontext

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.optimize import differential_evolution
from scipy.special import expit

from factdrift.evaluation.scores.cutoff import _deaths, span_of
from factdrift.evaluation.scores.cutoff_fit import draw_subjects, estimate
from factdrift.evaluation.scores.cutoff_model import Choices, Part, Tenures

FIRST, LAST = datetime.date(2012, 1, 1), datetime.date(2024, 12, 31)
SPAN = span_of((FIRST, LAST))
Chain = list[list[Part]]


def random_chain(rng: np.random.Generator) -> Chain:
    """Tenures of two to five holders, of whom the first may come back, with days that are half of each."""
    holders: Chain = [[] for _ in range(rng.integers(2, 6))]
    order = [*range(len(holders)), *([0] if rng.random() < 0.3 else [])]
    days = np.sort(rng.choice(np.arange(SPAN.first - 300, SPAN.last + 300), len(order) - 1, replace=False))
    begin = -math.inf
    for holder, after, day in zip(order, [*order[1:], None], [*days, math.inf], strict=True):
        holders[holder].append(Part(begin, day, 1.0))
        begin = day
        if after is not None and rng.random() < 0.3:
            holders[holder].append(Part(day, day + 40, 0.5))
            holders[after].append(Part(day, day + 40, 0.5))
            begin = day + 40
    return holders


def plain(chain: Chain, date: float, tau: float) -> list[float]:
    """The share of each holder by the formula, with so many digits that no difference vanishes."""

    def known(day: float) -> Decimal:
        if math.isinf(day):
            return Decimal(int(day > 0))
        return 1 / (1 + (-(Decimal(float(day)) - Decimal(date)) / Decimal(tau)).exp())

    with localcontext(prec=40 + int(2500 / tau)):
        masses = [
            sum(Decimal(own.share) * (known(own.end) - known(own.begin)) for own in each) for each in chain
        ]
        return [float(mass / sum(masses)) for mass in masses]


@pytest.mark.parametrize("tau", [4.0, 12.0, 365.0, 3652.0])
def test_chances_are_those_of_the_formula(tau: float) -> None:
    rng = np.random.default_rng(round(tau))
    chains = [random_chain(rng) for _ in range(6)]
    dates = np.array([SPAN.first, SPAN.last, *rng.uniform(SPAN.first, SPAN.last, 3)], np.float64)
    found = Tenures.of(chains).chances(dates, np.full(len(dates), tau))
    for column, date in enumerate(dates):
        expected = [share for chain in chains for share in plain(chain, float(date), tau)]
        assert found[:, column] == pytest.approx(expected, rel=1e-5, abs=1e-30)


class Answers:
    """Answers drawn from the model, and the logarithm of their likelihood by the formula."""

    def __init__(self, seed: int, date: float, tau: float, eps: float, lam: float) -> None:
        rng = np.random.default_rng(seed)
        self.chains = [random_chain(rng) for _ in range(150)]
        flat = [own for chain in self.chains for own in chain]
        self.size = np.array([len(chain) for chain in self.chains])
        self.chain = np.repeat(np.arange(len(self.chains)), self.size)
        self.holder = np.repeat(np.arange(len(flat)), [len(own) for own in flat])
        self.begin, self.end, self.share = np.array([part for own in flat for part in own]).T
        self.start = np.cumsum(self.size) - self.size
        self.neutral = self.start + rng.integers(0, self.size)
        chances = np.split(self.chances(date, tau, eps, lam), self.start[1:])
        self.chosen = self.start + [rng.choice(len(own), p=own) for own in chances]

    def chances(self, date: float, tau: float, eps: float, lam: float) -> NDArray[np.float64]:
        """[holders]"""
        mass = self.share * (expit((self.end - date) / tau) - expit((self.begin - date) / tau))
        mass = np.bincount(self.holder, mass)
        otherwise = (1 - lam) / self.size[self.chain]
        otherwise[self.neutral] += lam
        known = mass / np.bincount(self.chain, mass)[self.chain]
        found: NDArray[np.float64] = (1 - eps) * known + eps * otherwise
        return found

    def fit(self, values: Sequence[float], weights: NDArray[np.float32]) -> float:
        """`values`: the date, the logarithm of tau, eps and lam; `weights`: how often each chain counts."""
        date, spread, eps, lam = values
        chances = self.chances(date, math.exp(spread), eps, lam)[self.chosen]
        return float(weights @ np.log(np.maximum(chances, 1e-30)))

    def best(self, weights: NDArray[np.float32], dates: tuple[float, float]) -> float:
        """The greatest likelihood with a date between two days."""
        bounds = [dates, (math.log(14), math.log(3652)), (0, 1), (0, 1)]
        done = differential_evolution(
            lambda values: -self.fit(values, weights), bounds, seed=1, popsize=8, maxiter=40, tol=1e-5
        )
        return -float(done.fun)

    def choices(self) -> Choices:
        return Choices(Tenures.of(self.chains), self.chosen, self.neutral, np.arange(len(self.chains)))


@pytest.mark.slow
@pytest.mark.parametrize(("tau", "eps", "lam"), [(30.0, 0.2, 0.5), (200.0, 0.4, 0.2), (400.0, 0.1, 0.9)])
def test_no_point_is_likelier_than_the_estimate_nor_one_of_a_draw_than_its_date(
    tau: float, eps: float, lam: float
) -> None:
    answers = Answers(round(tau), datetime.date(2018, 3, 9).toordinal(), tau, eps, lam)
    weights = draw_subjects(len(answers.chains), 3, np.random.default_rng(4))
    found = estimate(answers.choices(), SPAN, weights)
    every, whole = np.ones(len(answers.chains), np.float32), (float(SPAN.first), float(SPAN.last))
    own = answers.fit((found.date, math.log(found.tau), found.eps, found.lam), every)
    # Spreads are in steps of two, and the date is in the middle of a plateau; an interval's end is 1.9 below.
    assert own >= answers.best(every, whole) - 0.9
    nothing = max(answers.fit((found.date, 1.0, 1.0, lam), every) for lam in np.linspace(0, 1, 101))
    assert found.gain == pytest.approx(own - nothing, abs=0.6)
    for draw, date in zip(weights, found.draws.tolist(), strict=True):
        assert answers.best(draw, (date - 0.5, date + 0.5)) >= answers.best(draw, whole) - 0.9


def test_of_a_date_of_death_the_true_one_is_chosen_by_chance_before_it_is_known() -> None:
    day, tau, eps = datetime.date(2018, 3, 9), 50.0, 0.3
    row = {"died": 20180309, "holders": [None] * 4, "subject": "Q1"}
    for choice in (0, 2):
        choices = _deaths([{**row, "choice": choice}], {"Q1": 0})
        for date in (day.toordinal() + shift for shift in (-300, -20, 0, 80)):
            known = 1 / (1 + math.exp((day.toordinal() - date) / tau))
            true = (1 - eps) * (known + (1 - known) / 4) + eps / 4
            share = choices.tenures.chances(np.array([float(date)]), np.array([tau]))[choices.chosen, 0]
            found = (1 - eps) * share + eps * choices.even
            assert found == pytest.approx([true if choice == 0 else 1 - true], rel=1e-5)
