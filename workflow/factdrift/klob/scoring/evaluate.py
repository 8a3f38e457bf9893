"""Evaluates one locating method on the three subtasks; every measure is a row of a table.

RSD does not change with a constant added to a sentence's scores, nor with one common factor for all. It does
with a factor of its own for each sentence: use the CV or entropy version for a method that scales its scores
by sentence.
"""

from collections.abc import Mapping
from dataclasses import dataclass, field
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import InputError
from factdrift.core.intervals import Z
from factdrift.klob.scoring.inputs import REFERENCES, Examples, Floats, Ints, Scores, reference
from factdrift.klob.scoring.rsim import POPULATIONS, Results, Similarity, approximate, similarity
from factdrift.klob.scoring.selection import Located, Selection, locate, word_sets

MEASURES = schema_of(
    "locator subtask measure population relation: string, k: float64, chosen: int64",
    "effective_k value low high: float64, n: int64",
)
"""One row a measure (docs/tables/locate_scores.md)."""

ABOVE = "rsim_above_permuted"
"""The leading measure: RSim against all results, not clipped, less that of the permuted sentences."""

EFFECT = "effect_above_permuted"
"""The one that locators of different granularity have in common: what removing the named units takes away."""


class Choices(NamedTuple):
    """The switches of the scorer; `percents` is the sweep of k."""

    percents: tuple[Fraction, ...]
    ties: str = "index"
    sim_all: str = "exact"
    exclude: str = "fact"
    rsd_pool: str = "sentences"
    seed: int = 0
    scratch: Path | None = None


@dataclass
class Evaluation:
    """Rows of MEASURES of one locating method."""

    locator: str
    measures: list[Row] = field(default_factory=list)

    def add(self, subtask: str | None, measure: str, value: float | None, n: int, **more: Any) -> None:
        """Adds a row of MEASURES; `more`: its other columns."""
        row = dict.fromkeys(MEASURES.names) | {"locator": self.locator, "subtask": subtask}
        self.measures.append(row | {"measure": measure, "value": value, "n": n} | more)


class Subtask(NamedTuple):
    """The sentences of a subtask and their rows in the scores of a locating method, [sentences]."""

    examples: Examples
    scored: Ints
    """The row of each sentence; -1 for all if none is scored."""
    usable: Ints
    """As `scored`, and -1 for a sentence with a score that is not finite."""


def evaluate(scores: Scores, subtasks: Mapping[str, Examples], choices: Choices) -> Evaluation:
    """All measures of one method; a subtask without scores has no RSim.

    Raises InputError if only some sentences of a subtask are scored, or if `choices` need all units' scores
    and the method has those of the best units alone.
    """
    approximates = choices.sim_all == "paper_approx"
    if approximates and scores.dense is None:
        raise InputError(
            f"{scores.name}: the mean score vector needs all scores (scores.npy), not the best units alone; "
            "use --sim-all exact"
        )
    rows = {name: _rows(scores, examples) for name, examples in subtasks.items()}
    located = locate(scores, choices.percents, choices.ties, choices.scratch)
    fair = located
    if approximates and choices.ties != "fractional":
        fair = locate(scores, choices.percents, "fractional", choices.scratch)
    # The row -1, of a sentence without scores, takes the last flag.
    flags = np.append(located.usable, False)
    usable = {name: np.where(flags[own], own, -1) for name, own in rows.items()}
    parts = {name: Subtask(examples, rows[name], usable[name]) for name, examples in subtasks.items()}
    result = Evaluation(scores.name)
    for name, part in parts.items():
        lost = int((part.scored >= 0).sum() - (part.usable >= 0).sum())
        result.add(name, "excluded_sentences", lost, len(part.scored))
        if name == "u" or not (part.scored >= 0).any():
            continue
        for percent, selection, tied in zip(
            choices.percents, located.selections, fair.selections, strict=True
        ):
            common = {"k": float(percent), "chosen": selection.chosen}
            common["effective_k"] = 100 * selection.chosen / selection.units
            _add_ties(result, part, selection, common)
            compared = _compared(Results(part.examples, selection, part.usable), choices)
            if approximates:
                compared["paper_approx"] = approximate(Results(part.examples, tied, part.usable), scores)
            _add_rsim(result, part.examples, compared, common)
    _add_rsd(result, parts, located, choices.rsd_pool)
    return result


def lexical(subtasks: Mapping[str, Examples], choices: Choices) -> Evaluation:
    """RSim of the overlap of words alone, on c and r, for every population; it has no k (null)."""
    result = Evaluation("lexical")
    for name, examples in subtasks.items():
        if name != "u" and examples.sentences:
            results = Results(examples, word_sets(examples.texts), np.arange(len(examples.sentences)))
            _add_rsim(result, examples, _compared(results, choices), {})
    return result


def references(subtasks: Mapping[str, Examples], choices: Choices, units: int) -> list[Evaluation]:
    """The reference locators with that many units; ties go to the lower unit, and Sim_all is exact."""
    plain = choices._replace(ties="index", sim_all="exact")
    parts = [*subtasks.values()]
    return [evaluate(reference(kind, parts, units, choices.seed), subtasks, plain) for kind in REFERENCES]


def _rows(scores: Scores, examples: Examples) -> Ints:
    """For each sentence its row in the scores, [sentences]; -1 for all if none is scored."""
    known = {name: row for row, name in enumerate(scores.sentences)}
    rows = np.array([known.get(name, -1) for name in examples.sentences], np.int64)
    missing = int((rows < 0).sum())
    if missing and missing < len(rows):
        first = examples.sentences[int(np.flatnonzero(rows < 0)[0])]
        raise InputError(
            f"{scores.name}: {missing:,} of {len(rows):,} sentences of KLoB-{examples.subtask} have no "
            f"scores, the first is {first}; score all sentences of a subtask or none"
        )
    return rows


def _compared(results: Results, choices: Choices) -> dict[str, Similarity]:
    """Population -> similarities, exact."""
    names = POPULATIONS[results.examples.subtask]
    return {name: similarity(results, name, choices.exclude, choices.seed) for name in names}


def _add_ties(result: Evaluation, part: Subtask, selection: Selection, common: Row) -> None:
    """Adds how far ties decide which units are chosen, where all scores are known."""
    shares = selection.tie_share[part.usable[part.usable >= 0]]
    if len(shares) and not np.isnan(shares).any():
        subtask = part.examples.subtask
        result.add(subtask, "tie_share", float(np.mean(shares)), len(shares), **common)
        result.add(subtask, "tied_sentences", float(np.sum(shares > 0)), len(shares), **common)


def _add_rsim(
    result: Evaluation, examples: Examples, compared: Mapping[str, Similarity], common: Row
) -> None:
    """Adds means over the examples; `compared`: by population; `common`: the columns about k, if any.

    The leading measure is the mean of the examples' paired differences. A locator that chooses nearly the
    same units whatever the sentence says has a high RSim, also among permuted sentences. Clipped values of
    noise are above 0 by chance, so the values are not clipped.
    """
    subtask, number = examples.subtask, len(examples.names)
    # Intervals allow for several examples of a fact.
    facts = examples.fact[np.searchsorted(examples.example, np.arange(number))]
    relations = np.array(examples.relations, object)
    for population, similar in compared.items():
        about = {"population": population, **common}
        raw, clipped = similar.raw(), similar.rsim()
        known = ~np.isnan(raw)
        n = int(known.sum())
        measures = {"rsim": clipped, "rsim_raw": raw}
        measures |= {"sim_cand": similar.candidate, "sim_all": similar.population}
        for measure, values in measures.items():
            result.add(subtask, measure, n=n, **_mean(values[known], facts[known]), **about)
        candidate, everything = (part[known].mean() if n else np.nan for part in similar)
        ratio = None if not n or everything >= 1 else float((candidate - everything) / (1 - everything))
        result.add(subtask, "rsim_of_means", ratio, n, **about)
        of_relations = []
        for relation in sorted(set(examples.relations)):
            mine = known & (relations == relation)
            mean = _mean(clipped[mine], facts[mine])
            result.add(subtask, "rsim", n=int(mine.sum()), relation=relation, **mean, **about)
            of_relations += [mean["value"]] if mine.any() else []
        macro = float(np.mean(of_relations)) if of_relations else None
        result.add(subtask, "rsim_macro", macro, len(of_relations), **about)
        result.add(subtask, "degenerate", float(similar.degenerate()[known].sum()), n, **about)
        result.add(subtask, "left_out", float((~known).sum()), number, **about)
    gain = compared["all"].raw() - compared["permuted"].raw()
    known = ~np.isnan(gain)
    above = _mean(gain[known], facts[known])
    result.add(subtask, ABOVE, n=int(known.sum()), population="all", **above, **common)


def _mean(values: Floats, clusters: Ints) -> dict[str, Any]:
    """The mean as `value`, and its 95 % interval; values with equal `clusters` are not independent.

    There is no interval if all values are equal: then the sample has no spread to judge by.
    """
    if not len(values):
        return {"value": None}
    mean = float(values.mean())
    _, cluster = np.unique(clusters, return_inverse=True)
    sums = np.bincount(cluster, values - mean)
    if len(sums) < 2 or not np.ptp(values):
        return {"value": mean}
    variance = float((sums**2).sum()) / len(values) ** 2 * len(sums) / (len(sums) - 1)
    error = Z * variance**0.5
    return {"value": mean, "low": mean - error, "high": mean + error}


def ratio_of_means(part: Floats, whole: Floats, clusters: Ints) -> dict[str, Any]:
    """`value`: the mean of `part` by that of `whole`, as `_mean` with an interval by the delta method.

    Entries with a NaN are left out, and the others counted as `n`.
    """
    known = ~np.isnan(part) & ~np.isnan(whole)
    part, whole, n = part[known], whole[known], int(known.sum())
    if not whole.sum() > 0:
        return {"value": None, "n": n}
    ratio = float(part.sum() / whole.sum())
    return {**_mean(ratio + (part - ratio * whole) / whole.mean(), clusters[known]), "value": ratio, "n": n}


def _add_rsd(result: Evaluation, parts: Mapping[str, Subtask], located: Located, pool: str) -> None:
    """Adds RSD by three measures of spread, and paired."""
    with np.errstate(divide="ignore", invalid="ignore"):
        variation = np.where(located.mean != 0, located.sd / np.abs(located.mean), np.nan)
    spreads = {"rsd": located.sd, "rsd_cv": variation, "rsd_entropy": located.concentration}
    for measure, values in spreads.items():
        factual = {name: values[part.usable[part.usable >= 0]] for name, part in parts.items()}
        random = factual.pop("u", np.empty(0))
        compared: dict[str | None, Mapping[str, Floats]] = {None: factual}
        if measure == "rsd":
            compared |= {name: {name: spread} for name, spread in factual.items()}
        for subtask, mine in compared.items():
            spread = rsd(mine, random, pool)
            n = sum(int((~np.isnan(values)).sum()) for values in mine.values())
            result.add(subtask, f"{measure}_factual", spread.factual, n)
            result.add(subtask, f"{measure}_nonfactual", spread.nonfactual, n)
            bounds = {"low": spread.low, "high": spread.high}
            result.add(subtask, f"{measure}_unclipped", spread.unclipped, n, **bounds)
            result.add(subtask, measure, spread.value, n)
    if "u" in parts:
        known = {
            sentence: located.sd[row]
            for part in parts.values()
            for sentence, row in zip(part.examples.sentences, part.usable, strict=True)
            if row >= 0
        }
        sources, rows = parts["u"].examples.sources, parts["u"].usable
        own = np.array([known.get(source or "", np.nan) for source in sources], np.float64)
        ratio = paired(located.sd[rows[rows >= 0]], own[rows >= 0])
        result.add(None, "rsd_paired", ratio.value, ratio.pairs)
        result.add(None, "rsd_paired_p_value", ratio.p_value, ratio.pairs)


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


def rsd(factual: Mapping[str, Floats], nonfactual: Floats, pool: str = "sentences") -> Spread:
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
    error = Z * np.sqrt(_variance(random) / mean**2 + of_mean * ratio**2 / mean**2)
    return Spread(mean, other, 1 - ratio, 1 - ratio - float(error), 1 - ratio + float(error))


def _variance(sample: Floats) -> float:
    """The variance of the sample's mean."""
    return float(sample.var(ddof=1) / len(sample)) if len(sample) > 1 else 0.0


class Paired(NamedTuple):
    """Paired RSD: the mean of 1 - SD / SD of the source, the number of pairs, the sign test's p-value."""

    value: float | None
    pairs: int
    p_value: float | None


def paired(nonfactual: Floats, sources: Floats) -> Paired:
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
