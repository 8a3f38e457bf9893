"""The date of a model by a second way, which shares no code with the package's own estimate.

    .venv/bin/factdrift cutoff sample --answers answers.parquet
    .venv/bin/python benchmarks/cutoff_logistic.py answers.parquet

A logistic curve with two free asymptotes (as guess and lapse rates in psychophysics) of "prefers the later
holder" by the day of the change, fitted by maximum likelihood:

    P(later) = lower + (upper - lower) * F((T - day) / tau)

Only changes between the chosen holder and the one before or after it count. Results are in docs/cutoff.md.
"""

from __future__ import annotations

import argparse
import datetime
from collections.abc import Iterable, Mapping
from itertools import pairwise, product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow.parquet as pq
from numpy.typing import NDArray
from scipy.optimize import minimize
from scipy.special import expit

from factdrift.streams.timelines import day_number

YEAR = 365.25
SHARP, FLAT = 7.0, 3652.0
"""Least and greatest tau in days."""
SPREADS = (60.0, 365.0)
"""Values of tau from which the fit begins."""
DRAWS = 200


class Preferences(NamedTuple):
    """Changes of holder between the chosen holder and the one before or after it."""

    subject: NDArray[np.int64]
    day: NDArray[np.float64]
    """Ordinals."""
    later: NDArray[np.bool_]
    """Whether the later holder is the chosen one."""


class Curve(NamedTuple):
    """The fitted curve; `date` an ordinal, `tau` in days."""

    date: float
    tau: float
    lower: float
    upper: float


def preferences(rows: Iterable[Mapping[str, Any]]) -> Preferences:
    """Of the answers of `factdrift cutoff`; a change is in the middle of the days that nobody surely held."""
    found = []
    places: dict[str, int] = {}
    for row in rows:
        if row["died"] is not None or row["choice"] is None:
            continue
        tenures = sorted(
            (each["first"] or 0, each["last"], place)
            for place, holder in enumerate(row["holders"])
            for each in holder["tenures"]
            if each["share"] == 1
        )
        subject = places.setdefault(row["subject"], len(places))
        for (_, last, before), (first, _, after) in pairwise(tenures):
            if before != after and row["choice"] in (before, after):
                day = (day_number(last) + 1 + day_number(first)) / 2
                found.append((subject, day, row["choice"] == after))
    return Preferences(*(np.array(column) for column in zip(*found, strict=True)))


def fit(own: Preferences, weights: NDArray[np.floating], starts: Iterable[tuple[float, float]]) -> Curve:
    """The likeliest curve; `weights` [changes], `starts`: dates (ordinals) and spreads to begin from."""
    first, last = own.day.min(), own.day.max()
    sign = np.where(own.later, 1.0, -1.0)

    def loss(values: NDArray[np.float64]) -> tuple[float, NDArray[np.float64]]:
        date, spread, lower, upper = values
        tau = np.exp(spread)
        x = (date * YEAR - own.day) / tau
        known = expit(x)
        chance = lower + (upper - lower) * known
        chance = np.clip(np.where(own.later, chance, 1 - chance), 1e-9, 1)
        each = weights * sign / chance
        slope = each * (upper - lower) * known * (1 - known)
        parts = (slope * YEAR / tau, -slope * x, each * (1 - known), each * known)
        return -float((weights * np.log(chance)).sum()), -np.array([part.sum() for part in parts])

    bounds = [(first / YEAR, last / YEAR), tuple(np.log((SHARP, FLAT))), (0, 0.5), (0.5, 1)]
    begin = [(date / YEAR, np.log(tau), 0.3, 0.7) for date, tau in starts]
    kind: dict[str, Any] = {"jac": True, "bounds": bounds, "method": "L-BFGS-B", "options": {"ftol": 1e-8}}
    found = min((minimize(loss, each, **kind) for each in begin), key=lambda each: float(each.fun))
    date, spread, lower, upper = found.x.tolist()
    return Curve(date * YEAR, float(np.exp(spread)), lower, upper)


def crossing(own: Preferences, draws: int = DRAWS) -> tuple[Curve, float, float]:
    """The curve, and the 95 % interval of its date over draws of subjects."""
    dates = np.linspace(own.day.min(), own.day.max(), 15)[1:-1].tolist()
    whole = fit(own, np.ones(len(own.day)), product(dates, SPREADS))
    starts = [*product([whole.date], (whole.tau, *SPREADS)), *product(dates[::6], SPREADS[1:])]
    rng = np.random.default_rng(0)
    subjects = int(own.subject.max()) + 1
    found = []
    for _ in range(draws):
        times = np.bincount(rng.integers(0, subjects, subjects), minlength=subjects)[own.subject]
        found.append(fit(own, times.astype(np.float64), starts).date)
    low, high = np.percentile(found, (2.5, 97.5))
    return whole, float(low), float(high)


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("answers", type=Path, help="of `factdrift cutoff --answers`, of one model")
    rows = pq.read_table(parser.parse_args().answers).to_pylist()
    own = preferences(rows)
    curve, low, high = crossing(own)
    date, first, last = (datetime.date.fromordinal(round(day)) for day in (curve.date, low, high))
    print(
        f"{date} [{first}, {last}], tau {curve.tau:.0f} days, asymptotes {curve.lower:.2f} and"
        f" {curve.upper:.2f}, {len(own.day):,} changes"
    )


if __name__ == "__main__":
    main()
