"""Evaluates one locating method on the three subtasks; every measure is a row of a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from factdrift.core.errors import InputError
from factdrift.klob.scoring.examples import Examples
from factdrift.klob.scoring.locator import Scores
from factdrift.klob.scoring.reference import word_sets
from factdrift.klob.scoring.rsd import Spread, paired, rsd
from factdrift.klob.scoring.rsim import POPULATIONS, Results, Similarity, approximate, by_examples, similarity
from factdrift.klob.scoring.selection import Located, Selection, locate

MEASURES = pa.schema(
    [
        ("locator", pa.string()),
        ("subtask", pa.string()),
        ("measure", pa.string()),
        ("population", pa.string()),
        ("relation", pa.string()),
        ("k", pa.float64()),
        ("chosen", pa.int64()),
        ("effective_k", pa.float64()),
        ("value", pa.float64()),
        ("low", pa.float64()),
        ("high", pa.float64()),
        ("n", pa.int64()),
    ]
)
"""One row a measure (docs/tables/klob_measures.md): of one subtask (null: all), one `population` (null if
the measure has none) and one `relation` (null: all). `k`: the percentage that was asked for; `chosen`: the K
units that this is; `effective_k`: 100 K / N. All three are null for `lexical`, whose K is each sentence's
number of words. `low`, `high`: the 95 % interval; null if all values are equal, which says nothing of their
spread. `n`: the number of examples, sentences or pairs."""

ABOVE = "rsim_above_permuted"
"""The leading measure: RSim against all results, not clipped, less that of the permuted sentences."""

EXAMPLES = pa.schema(
    [
        ("locator", pa.string()),
        ("subtask", pa.string()),
        ("example_id", pa.string()),
        ("k", pa.float64()),
        ("population", pa.string()),
        ("sim_cand", pa.float64()),
        ("sim_all", pa.float64()),
        ("raw", pa.float64()),
        ("rsim", pa.float64()),
    ]
)
"""One row an example, k and population; the measures are null if the example is left out."""


class Choices(NamedTuple):
    """The switches of the scorer; `percents` is the sweep of k."""

    percents: tuple[Fraction, ...]
    ties: str = "index"
    sim_all: str = "exact"
    exclude: str = "fact"
    unit: str = "results"
    normalise: str = "none"
    pool: str = "sentences"
    seed: int = 0
    device: str | None = None
    scratch: Path | None = None


class Evaluation(NamedTuple):
    """Rows of MEASURES and tables of EXAMPLES, of one locating method."""

    measures: list[dict[str, Any]]
    examples: list[pa.Table]


def evaluate(
    scores: Scores,
    subtasks: Mapping[str, Examples],
    choices: Choices,
    populations: Sequence[str] | None = None,
) -> Evaluation:
    """All measures of one method; a subtask without scores has no RSim.

    `populations`: those to compute (default: all that a subtask has). Raises InputError if only some
    sentences of a subtask are scored, or if `choices` need all units' scores and these are not given.
    """
    averaged = choices.sim_all == "paper_approx" or choices.unit == "examples"
    if averaged and scores.dense is None:
        raise InputError(
            f"{scores.name}: mean score vectors need all scores (scores.npy), not the best units alone; use "
            "--sim-all exact and --unit results"
        )
    places = {name: place for place, name in enumerate(scores.sentences)}
    rows = {name: _rows(scores, examples, places) for name, examples in subtasks.items()}
    located = locate(scores, choices.percents, choices.ties, choices.device, choices.scratch)
    shared: Sequence[Selection | None] = [None] * len(choices.percents)
    if averaged:
        fair = located
        if choices.ties != "fractional":
            fair = locate(scores, choices.percents, "fractional", choices.device, choices.scratch)
        shared = fair.selections
    result = Evaluation([], [])
    usable = {name: _usable(each, located) for name, each in rows.items()}
    for name, examples in subtasks.items():
        lost = int((rows[name] >= 0).sum() - (usable[name] >= 0).sum())
        result.measures.append(_row(scores.name, name, "excluded_sentences", value=lost, n=len(rows[name])))
        if name == "u" or not (rows[name] >= 0).any():
            continue
        for percent, selection, tied in zip(choices.percents, located.selections, shared, strict=True):
            results = Results(examples, selection, usable[name])
            common = {"k": float(percent), "chosen": selection.chosen}
            common["effective_k"] = 100 * selection.chosen / selection.units
            shares = selection.tie_share[usable[name][usable[name] >= 0]]
            if len(shares) and not np.isnan(shares).any():
                ties = {"tie_share": np.mean(shares), "tied_sentences": np.sum(shares > 0)}
                for measure, value in ties.items():
                    result.measures.append(
                        _row(scores.name, name, measure, **common, value=value, n=len(shares))
                    )
            compared = {
                population: similarity(results, population, choices.exclude, choices.seed)
                for population in POPULATIONS[name]
                if populations is None or population in populations
            }
            if tied is not None:
                compared |= _averaged(Results(examples, tied, usable[name]), scores, choices)
            _add_rsim(result, scores.name, examples, compared, common)
    result.measures.extend(_of_rsd(scores.name, subtasks, usable, located, choices.pool))
    return result


def lexical(subtasks: Mapping[str, Examples], exclude: str = "fact", seed: int = 0) -> Evaluation:
    """RSim of the overlap of words alone, on c and r, for every population; it has no k (null)."""
    result = Evaluation([], [])
    for name, examples in subtasks.items():
        if name == "u" or not examples.sentences:
            continue
        results = Results(examples, word_sets(examples), np.arange(len(examples.sentences)))
        compared = {
            population: similarity(results, population, exclude, seed) for population in POPULATIONS[name]
        }
        _add_rsim(result, "lexical", examples, compared, {})
    return result


def _rows(scores: Scores, examples: Examples, places: Mapping[str, int]) -> NDArray[np.int64]:
    """For each sentence its row in the scores, [sentences]; -1 for all if none is scored."""
    rows = np.array([places.get(name, -1) for name in examples.sentences], np.int64)
    missing = int((rows < 0).sum())
    if missing and missing < len(rows):
        first = examples.sentences[int(np.flatnonzero(rows < 0)[0])]
        raise InputError(
            f"{scores.name}: {missing:,} of {len(rows):,} sentences of KLoB-{examples.subtask} have no "
            f"scores, the first is {first}; score all sentences of a subtask or none"
        )
    return rows


def _usable(rows: NDArray[np.int64], located: Located) -> NDArray[np.int64]:
    """The rows of the scores, [sentences], -1 also where a score is not finite."""
    known = rows.copy()
    known[rows >= 0] = np.where(located.usable[rows[rows >= 0]], rows[rows >= 0], -1)
    return known


def _averaged(results: Results, scores: Scores, choices: Choices) -> dict[str, Similarity]:
    """The populations of mean score vectors that are asked for; `results` have fractional ties."""
    means = {}
    if choices.unit == "examples":
        means["examples"] = by_examples(results, scores, choices.exclude)
    if choices.sim_all == "paper_approx":
        means["paper_approx"] = approximate(results, scores, choices.normalise)
    return means


def _add_rsim(
    result: Evaluation,
    locator: str,
    examples: Examples,
    compared: Mapping[str, Similarity],
    common: Mapping[str, Any],
) -> None:
    """Adds the rows of the populations compared; `common`: the columns of MEASURES about k, if any."""
    for population, similar in compared.items():
        result.measures.extend(_of_rsim(locator, examples, population, similar, common))
        result.examples.append(_per_example(locator, examples, population, similar, common.get("k")))
    result.measures.extend(_above_permuted(locator, examples, compared, common))


def _of_rsim(
    locator: str, examples: Examples, population: str, similar: Similarity, common: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """Rows of MEASURES: means over the examples, whose intervals allow for several examples of a fact."""
    facts = _facts(examples)
    raw, clipped = similar.raw(), similar.rsim()
    known = ~np.isnan(raw)
    rows = []

    def add(measure: str, value: float | None, n: int, **more: Any) -> None:
        about = {"population": population, **common, **more}
        rows.append(_row(locator, examples.subtask, measure, value=value, n=n, **about))

    number = int(known.sum())
    for measure, values in (
        ("rsim", clipped),
        ("rsim_raw", raw),
        ("sim_cand", similar.candidate),
        ("sim_all", similar.population),
    ):
        value, bounds = _mean(values[known], facts[known])
        add(measure, value, number, **bounds)
    candidate, everything = (part[known].mean() if number else np.nan for part in similar)
    ratio = None if not number or everything >= 1 else float((candidate - everything) / (1 - everything))
    add("rsim_of_means", ratio, number)
    relations = np.array(examples.relations, object)
    of_relations = []
    for relation in sorted(set(examples.relations)):
        mine = known & (relations == relation)
        value, bounds = _mean(clipped[mine], facts[mine])
        add("rsim", value, int(mine.sum()), relation=relation, **bounds)
        of_relations += [value] if value is not None else []
    add("rsim_macro", float(np.mean(of_relations)) if of_relations else None, len(of_relations))
    add("degenerate", float(similar.degenerate()[known].sum()), number)
    add("left_out", float((~known).sum()), len(known))
    return rows


def _facts(examples: Examples) -> NDArray[np.int64]:
    """The fact of each example, [examples]."""
    return examples.fact[np.searchsorted(examples.example, np.arange(len(examples.names)))]


def _above_permuted(
    locator: str, examples: Examples, compared: Mapping[str, Similarity], common: Mapping[str, Any]
) -> list[dict[str, Any]]:
    """A row of MEASURES, if both populations were compared: the mean of the examples' paired differences.

    A locator that chooses nearly the same units whatever the sentence says has a high RSim, also among
    permuted sentences. Clipped values of noise are above 0 by chance, so the values are not clipped.
    """
    if not {"all", "permuted"} <= compared.keys():
        return []
    gain = compared["all"].raw() - compared["permuted"].raw()
    known = ~np.isnan(gain)
    value, bounds = _mean(gain[known], _facts(examples)[known])
    about = {"population": "all", **common}
    return [_row(locator, examples.subtask, ABOVE, **about, value=value, n=int(known.sum()), **bounds)]


def _mean(values: NDArray[np.float64], clusters: NDArray[np.int64]) -> tuple[float | None, dict[str, float]]:
    """The mean of `values` and its 95 % interval; values with equal `clusters` are not independent.

    There is no interval if all values are equal: then the sample has no spread to judge by.
    """
    if not len(values):
        return None, {}
    mean = float(values.mean())
    _, place = np.unique(clusters, return_inverse=True)
    sums = np.bincount(place, values - mean)
    if len(sums) < 2 or not np.ptp(values):
        return mean, {}
    variance = float((sums**2).sum()) / len(values) ** 2 * len(sums) / (len(sums) - 1)
    return mean, {"low": mean - 1.96 * variance**0.5, "high": mean + 1.96 * variance**0.5}


def _per_example(
    locator: str, examples: Examples, population: str, similar: Similarity, percent: float | None
) -> pa.Table:
    number = len(examples.names)
    columns = [
        [locator] * number,
        [examples.subtask] * number,
        examples.names,
        pa.array([percent] * number, pa.float64()),
        [population] * number,
        *(
            pa.array(values, pa.float64(), from_pandas=True)
            for values in (similar.candidate, similar.population, similar.raw(), similar.rsim())
        ),
    ]
    return pa.table(columns, schema=EXAMPLES)


def _of_rsd(
    locator: str,
    subtasks: Mapping[str, Examples],
    rows: Mapping[str, NDArray[np.int64]],
    located: Located,
    pool: str,
) -> list[dict[str, Any]]:
    chosen = {name: each[each >= 0] for name, each in rows.items()}
    with np.errstate(divide="ignore", invalid="ignore"):
        variation = np.where(located.mean != 0, located.sd / np.abs(located.mean), np.nan)
    measures = []

    def add(measure: str, spread: Spread, n: int, subtask: str | None = None) -> None:
        values = {f"{measure}_factual": spread.factual, f"{measure}_nonfactual": spread.nonfactual}
        for name, value in values.items():
            measures.append(_row(locator, subtask, name, value=value, n=n))
        bounds = {"low": spread.low, "high": spread.high}
        measures.append(_row(locator, subtask, f"{measure}_unclipped", value=spread.unclipped, n=n, **bounds))
        measures.append(_row(locator, subtask, measure, value=spread.value, n=n))

    for measure, values in (
        ("rsd", located.sd),
        ("rsd_cv", variation),
        ("rsd_entropy", located.concentration),
    ):
        factual = {name: values[chosen[name]] for name in ("c", "r") if name in subtasks}
        random = values[chosen["u"]] if "u" in subtasks else np.empty(0)
        number = sum(int((~np.isnan(each)).sum()) for each in factual.values())
        add(measure, rsd(factual, random, pool), number)
        if measure == "rsd":
            for name, each in factual.items():
                add(measure, rsd({name: each}, random, pool), int((~np.isnan(each)).sum()), name)
    if "u" in subtasks:
        measures.extend(_paired(locator, subtasks, rows, located))
    return measures


def _paired(
    locator: str, subtasks: Mapping[str, Examples], rows: Mapping[str, NDArray[np.int64]], results: Located
) -> list[dict[str, Any]]:
    """Rows of MEASURES: RSD against the sentence whose length was copied, and the sign test's p-value."""
    spread = {
        sentence: results.sd[row]
        for name in ("c", "r")
        if name in subtasks
        for sentence, row in zip(subtasks[name].sentences, rows[name], strict=True)
        if row >= 0
    }
    random, sources = [], []
    for source, row in zip(subtasks["u"].sources, rows["u"], strict=True):
        if row >= 0:
            random.append(results.sd[row])
            sources.append(spread.get(source or "", np.nan))
    compared = paired(np.array(random), np.array(sources))
    return [
        _row(locator, None, "rsd_paired", value=compared.value, n=compared.pairs),
        _row(locator, None, "rsd_paired_p_value", value=compared.p_value, n=compared.pairs),
    ]


def _row(locator: str, subtask: str | None, measure: str, **values: Any) -> dict[str, Any]:
    row = dict.fromkeys(MEASURES.names) | {"locator": locator, "subtask": subtask, "measure": measure}
    return row | values
