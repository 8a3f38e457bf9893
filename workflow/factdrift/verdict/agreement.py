"""How far two judges agree: the share of equal verdicts, and Cohen's kappa with its interval."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Hashable, Iterable, Iterator, Sequence
from typing import NamedTuple

from factdrift.core.intervals import Z
from factdrift.core.screen import grid

Verdicts = tuple[str, str | None, Hashable]
"""By rule, by the model (None: no word), and what answers are clustered by."""


class Agreement(NamedTuple):
    """`both`: answers with both verdicts, which all else counts. `without`: those without one by the model.

    `kappa`: None where both judges know one verdict only. `low`, `high`: its 95 % interval, None where
    leaving out one cluster leaves no kappa.
    """

    both: int
    without: int
    equal: int
    kappa: float | None
    low: float | None
    high: float | None


def agreement(rows: Sequence[Verdicts]) -> Agreement:
    """Of verdicts on the same answers; kappa of Cohen (1960), its interval by the jackknife over clusters."""
    both = [(rule, model, cluster) for rule, model, cluster in rows if model is not None]
    pairs = Counter((rule, model) for rule, model, _ in both)
    kappa = cohen(pairs)
    low, high = _interval(both, pairs, kappa)
    equal = sum(count for (rule, model), count in pairs.items() if rule == model)
    return Agreement(len(both), len(rows) - len(both), equal, kappa, low, high)


def cohen(pairs: Counter[tuple[str, str]]) -> float | None:
    """Cohen's kappa of counts of pairs of verdicts; None of none, or where chance always agrees."""
    total = sum(pairs.values())
    first, second = Counter[str](), Counter[str]()
    for (rule, model), count in pairs.items():
        first[rule] += count
        second[model] += count
    chance = sum(count * second[verdict] for verdict, count in first.items())
    if chance == total**2:
        return None
    equal = sum(count for (rule, model), count in pairs.items() if rule == model)
    return (equal * total - chance) / (total**2 - chance)


def _interval(
    rows: Sequence[tuple[str, str, Hashable]], pairs: Counter[tuple[str, str]], kappa: float | None
) -> tuple[float, float] | tuple[None, None]:
    clusters: dict[Hashable, Counter[tuple[str, str]]] = defaultdict(Counter)
    for rule, model, cluster in rows:
        clusters[cluster][rule, model] += 1
    known = [value for own in clusters.values() if (value := cohen(pairs - own)) is not None]
    if kappa is None or len(known) < max(len(clusters), 2):
        return None, None
    middle = math.fsum(known) / len(known)
    error = math.sqrt((len(known) - 1) / len(known) * math.fsum((value - middle) ** 2 for value in known))
    return max(-1.0, kappa - Z * error), min(1.0, kappa + Z * error)


def lines(groups: Iterable[tuple[str, Sequence[Verdicts]]]) -> Iterator[str]:
    """A table of named groups of answers, and how often the judges differ in which way, over all groups."""
    named = [(name, rows) for name, rows in groups if rows]
    if not named:
        yield "no answer was judged by a model"
        return
    yield "Verdicts by rule and by a model: agreement, and Cohen's kappa with its 95 % interval (jackknife"
    yield "over clusters); right, in %, by each of them."
    header = ["answers", "n", "no word", "agree %", "kappa", "rule right", "model right"]
    yield from grid(header, [[name, *_cells(rows)] for name, rows in named])
    differ = Counter(
        (rule, model) for _, rows in named for rule, model, _ in rows if model not in (None, rule)
    )
    for (rule, model), count in sorted(differ.items(), key=lambda pair: (-pair[1], *map(str, pair[0]))):
        yield f"{rule} by rule, {model} by the model: {count:,}"


def _cells(rows: Sequence[Verdicts]) -> list[str]:
    numbers = agreement(rows)
    if not numbers.both:
        return ["0", f"{numbers.without:,}", *["-"] * 4]
    kappa = "-" if numbers.kappa is None else f"{numbers.kappa:.2f}"
    if numbers.low is not None and numbers.high is not None:
        kappa += f" [{numbers.low:.2f}, {numbers.high:.2f}]"
    both = [(rule, model) for rule, model, _ in rows if model is not None]
    right = [sum(pair[judge] == "correct" for pair in both) for judge in (0, 1)]
    shares = [f"{100 * count / numbers.both:.1f}" for count in (numbers.equal, *right)]
    return [f"{numbers.both:,}", f"{numbers.without:,}", shares[0], kappa, *shares[1:]]
