"""Simulated models: how often the interval covers the date, how far off it is, and whether one is told.

    .venv/bin/python benchmarks/cutoff.py coverage --draws 1000 --seed 1 --keep coverage.jsonl
    .venv/bin/python benchmarks/cutoff.py nothing --draws 1000 --seed 1 --keep nothing.jsonl
    .venv/bin/python benchmarks/cutoff.py letters --draws 500 --seed 1 --keep letters.jsonl
    .venv/bin/python benchmarks/cutoff.py sizes --draws 100 --seed 1 --keep sizes.jsonl
    .venv/bin/python benchmarks/cutoff.py by_hand --draws 250 --seed 1 --chains FILE --keep by_hand.jsonl
    .venv/bin/python benchmarks/cutoff.py table coverage.jsonl

Answers are drawn from the model of the estimate with the tenures of the bundled chains, or `--chains`;
results are in docs/cutoff.md. `coverage`: T uniform over the stream, by tau and eps. `nothing`: eps 1, how
often a date is told. `letters`: the same of models that give one letter in half or 90 % of their answers,
and any letter in the others; an answer counts if both orders of the options agree. `sizes`: errors by
number of chains. `by_hand`: chains of `cutoff refresh --changes`, T uniform over the last two years; a share
of their last holders has been followed by somebody whom the chains lack. `unseen`: the same of a fifth of
them. A draw is added to the file as it is done, all cases in turns, and depends only on seed, case and its
number: another call goes on where the file ends.
"""

from __future__ import annotations

import argparse
import json
import math
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import product
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from factdrift.core.intervals import wilson
from factdrift.core.paths import CUTOFF_CHAINS
from factdrift.evaluation.questions.cutoff import dates_of, read_chains
from factdrift.evaluation.scores.cutoff import span_of
from factdrift.evaluation.scores.cutoff_fit import (
    LEVEL,
    Span,
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
SURE = 30.0
"""Logarithm of the likelihood ratio above which a date is told without permutations: theirs are below 15."""


class Case(NamedTuple):
    """What is simulated; `chains`: drawn anew for each model, 0 for all; `constant`: share of one letter.

    `unseen`: the share of unknown changes; models are of the last `days`, 0 for all.
    """

    tau: float
    eps: float
    chains: int = 0
    constant: float = 0.0
    unseen: float = 0.0
    days: int = 0


CASES = {
    "coverage": [Case(tau, eps) for tau, eps in product(TAU, EPS)],
    "nothing": [Case(30.0, 1.0)],
    "letters": [Case(30.0, 1.0, constant=share) for share in (0.5, 0.9)],
    "by_hand": [
        Case(tau, eps, unseen=unseen, days=730) for tau, eps, unseen in product(TAU, (0.0, 0.6), (0.0, 0.05))
    ],
    "unseen": [Case(365.0, 0.0, unseen=0.2, days=730)],
    "sizes": [Case(tau, eps, size) for size, tau, eps in product(SIZES, TAU, (0.0, 0.6))],
}


class Chains(NamedTuple):
    """The bundled chains, and the subject of each."""

    tenures: Tenures
    cluster: Any

    @classmethod
    def read(cls, path: Path) -> Chains:
        rows = [row for row in read_chains(path) if row["died"] is None]
        tenures = Tenures.of([[parts(holder["tenures"]) for holder in row["holders"]] for row in rows])
        places: dict[str, int] = {}
        return cls(tenures, np.array([places.setdefault(row["subject"], len(places)) for row in rows]))

    def some(self, size: int, rng: np.random.Generator) -> Chains:
        chosen = np.sort(rng.choice(len(self.cluster), size, replace=False))
        return Chains(self.tenures.only(chosen), self.cluster[chosen])

    def ended(self, share: float, span: Span, rng: np.random.Generator) -> Tenures:
        """The tenures, of which a share of the lasting ones end on any day before the last one."""
        tenures = self.tenures
        lasting = np.isinf(tenures.end) & (rng.random(len(tenures.end)) < share)
        begin = np.where(lasting, tenures.begin, span.last)
        return replace(tenures, end=np.where(lasting, rng.uniform(begin, span.last), tenures.end))


def simulated(chains: Chains, date: float, case: Case, span: Span, rng: np.random.Generator) -> Choices:
    tenures, eps = chains.tenures, case.eps
    true = chains.ended(case.unseen, span, rng) if case.unseen else tenures
    known = true.chances(np.array([date]), np.array([case.tau]))[:, 0].astype(np.float64)
    neutral = tenures.start + rng.integers(0, tenures.size)
    otherwise = (1 - LAM) * tenures.even
    otherwise[neutral] += LAM
    reached = np.cumsum((1 - eps) * known + eps * otherwise)
    before = np.concatenate([[0], reached])[tenures.start]
    drawn = before + rng.random(len(tenures.size)) * (reached[tenures.start + tenures.size - 1] - before)
    chosen = np.clip(np.searchsorted(reached, drawn), tenures.start, tenures.start + tenures.size - 1)
    return Choices(tenures, chosen, neutral, chains.cluster)


def lettered(chains: Chains, constant: float, rng: np.random.Generator) -> Choices:
    """Answers by letters in two orders, of which the second is rotated by half; those on which both agree."""
    size = chains.tenures.size
    letter = np.minimum(rng.integers(0, 4), size - 1)
    given = [np.where(rng.random(len(size)) < constant, letter, rng.integers(0, size)) for _ in range(2)]
    agreed = np.flatnonzero(given[0] == (given[1] + size // 2) % size)
    # The place of a letter in an order that is drawn is any holder.
    chosen = chains.tenures.start + rng.integers(0, size)
    return Choices(chains.tenures, chosen, np.full(len(size), -1), chains.cluster).only(agreed)


def one(chains: Chains, span: Span, case: Case, seed: Sequence[int]) -> dict[str, Any]:
    """One model: its date, the estimate (ordinals), and whether a date is told."""
    rng = np.random.default_rng(seed)
    date = rng.uniform(span.last - case.days if case.days else span.first, span.last)
    if case.chains:
        chains = chains.some(case.chains, rng)
    choices = (
        lettered(chains, case.constant, rng) if case.constant else simulated(chains, date, case, span, rng)
    )
    found: dict[str, Any] = {"date": date}
    sure = False
    if case.eps < 1:
        fit = estimate(choices, span, draw_subjects(int(chains.cluster.max()) + 1, RESAMPLED, rng))
        found |= {name: float(getattr(fit, name)) for name in ("low", "high", "tau", "eps", "lam", "gain")}
        found["found"] = float(fit.date)
        sure = fit.gain > SURE
    if not sure:
        p = chance_of_no_date(choices, span, among_holders(choices), rng, PERMUTED, STOP)
    return {**found, "told": bool(sure or p <= LEVEL)}


def simulate(what: str, draws: int, seed: int, keep: Path, path: Path) -> None:
    done = set()
    if keep.exists():
        done = {(row["seed"], row["place"], row["number"]) for row in read([keep])}
    chains, span = Chains.read(path), span_of(dates_of(path))
    for number in range(draws):
        for place, case in enumerate(CASES[what]):
            if (seed, place, number) in done:
                continue
            row = one(chains, span, case, (seed, place, number))
            own = {"what": what, "seed": seed, "place": place, "number": number}
            with keep.open("a") as file:
                file.write(json.dumps({**own, **row}) + "\n")


def read(files: Sequence[Path]) -> list[dict[str, Any]]:
    return [json.loads(line) for path in files for line in path.read_text().splitlines()]


def share(count: int, of: int) -> str:
    if not of:
        return "-"
    low, high = wilson(count, of)
    return f"{count / of:.1%} [{low:.1%}, {high:.1%}] of {of:,}"


def table(files: Sequence[Path]) -> Iterator[str]:
    """Lines: a row of a table for each case, and all of them together."""
    groups: dict[tuple[str, int], list[dict[str, Any]]] = defaultdict(list)
    for row in read(files):
        groups[row["what"], row["place"]].append(row)
    yield "| chains | tau | eps | draws | covered | told | covered if told | median error | 90 % below |"
    yield "|---|---|---|---|---|---|---|---|---|"
    whole: list[dict[str, Any]] = []
    for (what, place), rows in sorted(groups.items()):
        case = CASES[what][place]
        told = [row for row in rows if row["told"]]
        spread = f"one letter {case.constant:.0%}" if case.constant else f"{case.tau:.0f}"
        spread += f", {case.unseen:.0%} unseen" if case.days else ""
        head = f"| {case.chains or 'all'} | {spread} | {case.eps} | {len(rows):,} |"
        if case.eps == 1:
            yield f"{head} - | {len(told)} | - | - | - |"
            continue
        whole += rows
        errors = [abs(row["found"] - row["date"]) for row in rows]
        yield (
            f"{head} {share(sum(map(covered, rows)), len(rows))} | {len(told):,} |"
            f" {share(sum(map(covered, told)), len(told))} |"
            f" {np.median(errors):.0f} | {np.quantile(errors, 0.9):.0f} |"
        )
    if whole:
        yield ""
        yield f"all cases: covered {share(sum(map(covered, whole)), len(whole))}"


def covered(row: dict[str, Any]) -> bool:
    """By days, as the interval is printed."""
    return math.floor(row["low"]) <= math.floor(row["date"]) <= math.ceil(row["high"])


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("what", choices=(*CASES, "table"))
    parser.add_argument("files", type=Path, nargs="*", help="for `table`: what --keep has written")
    parser.add_argument("--draws", type=int, default=100, help="of each case")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--chains", type=Path, default=CUTOFF_CHAINS, help="such as `cutoff refresh` writes")
    parser.add_argument("--keep", type=Path, default=Path("cutoff.jsonl"), help="a line a draw is added")
    options = parser.parse_args()
    if options.what == "table":
        print("\n".join(table(options.files)))
    else:
        simulate(options.what, options.draws, options.seed, options.keep, options.chains)
        print("\n".join(table([options.keep])))


if __name__ == "__main__":
    main()
