"""Simulated models: how often the interval covers the date, how far off it is, and whether one is told.

    .venv/bin/python benchmarks/cutoff.py coverage --draws 100
    .venv/bin/python benchmarks/cutoff.py nothing --draws 1000
    .venv/bin/python benchmarks/cutoff.py sizes --draws 50

Answers are drawn from the model of the estimate with the tenures of the bundled chains; results are in
docs/cutoff.md. `coverage`: T uniform over the stream, by tau and eps. `nothing`: eps 1, how often a date is
told. `sizes`: errors by number of chains.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Iterator
from typing import Any

import numpy as np

from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.evaluation.cutoff_jobs import SAMPLE_DATES
from factdrift.evaluation.questions.cutoff import read_chains
from factdrift.evaluation.scores.cutoff import span_of
from factdrift.evaluation.scores.cutoff_fit import (
    LEVEL,
    among_holders,
    chance_of_no_date,
    draw_subjects,
    estimate,
)
from factdrift.evaluation.scores.cutoff_model import Choices, Tenures, parts

EPS, TAU = (0.0, 0.3, 0.6, 0.9), (30.0, 365.0)
SIZES = (125, 250, 500, 1000)
LAM = 0.3
"""Share of the answers without time that follow the neutral preference, which is drawn evenly."""
RESAMPLED, PERMUTED, STOP = 500, 1000, 10
"""Draws of the bootstrap; permutations, and how many at least as large decide that no date is told."""


def simulated(tenures: Tenures, cluster: Any, date: float, tau: float, eps: float, rng: Any) -> Choices:
    known = tenures.chances(np.array([date]), np.array([tau]))[:, 0].astype(np.float64)
    neutral = tenures.start + rng.integers(0, tenures.size)
    otherwise = (1 - LAM) * tenures.even
    otherwise[neutral] += LAM
    reached = np.cumsum((1 - eps) * known + eps * otherwise)
    before = np.concatenate([[0], reached])[tenures.start]
    drawn = before + rng.random(len(tenures.size)) * (reached[tenures.start + tenures.size - 1] - before)
    chosen = np.clip(np.searchsorted(reached, drawn), tenures.start, tenures.start + tenures.size - 1)
    return Choices(tenures, chosen, neutral, cluster)


def one(tenures: Tenures, cluster: Any, tau: float, eps: float, rng: Any, span: Any) -> dict[str, Any]:
    date = rng.uniform(span.first, span.last)
    choices = simulated(tenures, cluster, date, tau, eps, rng)
    subjects = int(cluster.max()) + 1
    found = estimate(choices, span, draw_subjects(subjects, RESAMPLED, rng))
    p = chance_of_no_date(choices, span, among_holders(choices), rng, PERMUTED, STOP)
    return {
        "error": abs(found.date - date),
        "covered": found.low <= date <= found.high,
        "told": p <= LEVEL,
    }


def report(name: str, rows: list[dict[str, Any]]) -> None:
    errors = np.array([row["error"] for row in rows])
    told = [row for row in rows if row["told"]]
    print(
        json.dumps(
            {
                "case": name,
                "draws": len(rows),
                "covered": round(float(np.mean([row["covered"] for row in rows])), 4),
                "told": len(told),
                "covered_if_told": round(float(np.mean([row["covered"] for row in told])), 4)
                if told
                else None,
                "median_error": round(float(np.median(errors)), 1),
                "p90_error": round(float(np.quantile(errors, 0.9)), 1),
            }
        ),
        flush=True,
    )


def cases(what: str) -> Iterator[tuple[str, float, float, int]]:
    """Name, tau, eps, and number of chains, 0 for all."""
    if what == "coverage":
        yield from ((f"tau {tau:.0f} eps {eps}", tau, eps, 0) for tau in TAU for eps in EPS)
    else:
        yield from (
            (f"{size} chains tau {tau:.0f} eps {eps}", tau, eps, size)
            for size in SIZES
            for tau in TAU
            for eps in (0.0, 0.6)
        )


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=("coverage", "nothing", "sizes"))
    parser.add_argument("--draws", type=int, default=100)
    parser.add_argument("--seed", type=int, default=0)
    options = parser.parse_args()
    rows = [row for row in read_chains(CUTOFF_CHAINS) if row["died"] is None]
    tenures = Tenures.of([[parts(holder["tenures"]) for holder in row["holders"]] for row in rows])
    subjects = {name: place for place, name in enumerate(dict.fromkeys(row["subject"] for row in rows))}
    cluster = np.array([subjects[row["subject"]] for row in rows])
    span = span_of(SAMPLE_DATES)
    rng = np.random.default_rng(options.seed)
    if options.what == "nothing":
        told = 0
        for _ in range(options.draws):
            choices = simulated(tenures, cluster, span.first, 30.0, 1.0, rng)
            p = chance_of_no_date(choices, span, among_holders(choices), rng, PERMUTED, STOP)
            told += p <= LEVEL
        print(json.dumps({"case": "eps 1", "draws": options.draws, "told": told}))
        return
    for name, tau, eps, size in cases(options.what):
        found = []
        part, own = tenures, cluster
        for number in range(options.draws):
            if size:
                chosen = np.sort(rng.choice(len(rows), size, replace=False))
                part, own = tenures.only(chosen), cluster[chosen]
            found.append(one(part, own, tau, eps, rng, span))
            if sys.stderr.isatty():
                print(f"\r{name}: {number + 1}", end="", file=sys.stderr)
        report(name, found)


if __name__ == "__main__":
    main()
