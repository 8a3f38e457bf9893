"""RSim: how much more similar the results of one fact are than those of different facts.

Overlaps of results are counted without comparing all pairs. The overlap of two results is the sum over the
units of the products of their weights; without fractional ties it is the number of units that both have.
Summed over a population it follows from the population's counts: sum_i |x_i & x| = sum_{u in x} cnt[u].
"""

import itertools
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from factdrift.klob.scoring.inputs import Examples, Flags, Floats, Ints, Scores
from factdrift.klob.scoring.selection import Selection, best_units, tied_weights

POPULATIONS = {
    "c": ("all", "same_relation", "same_subject", "permuted"),
    "r": ("all", "singles", "chains", "cross", "same_relation", "same_subject", "permuted"),
}
"""Populations with which Sim_all compares: `all` other results of the subtask; those of `singles` or
`chains` only; `cross`, singles with other chains and the reverse; results of the `same_relation` (removes the
effect of the template) or the `same_subject` (that of the subject's words); `permuted`, sentences shuffled
among the examples."""


class Similarity(NamedTuple):
    """Sim_cand and Sim_all, [examples]; NaN for an example that is left out."""

    candidate: Floats
    population: Floats

    def raw(self) -> Floats:
        """(Sim_cand - Sim_all) / (1 - Sim_all), [examples]; 0 where Sim_all is 1."""
        gap = 1 - self.population
        gains = (self.candidate - self.population) / np.where(gap < _SAME, 1, gap)
        return np.where(self.degenerate(), 0.0, gains)

    def rsim(self) -> Floats:
        """The raw values, negative ones replaced by 0, [examples]."""
        return np.maximum(self.raw(), 0)

    def degenerate(self) -> Flags:
        """Whether Sim_all is 1, [examples]."""
        return self.population > 1 - _SAME


_SAME = 1e-12

_ENTRIES = 4_000_000
"""The number of chosen units that are in memory at a time, at some 100 bytes each."""


class Results(NamedTuple):
    """The results of a subtask's sentences for one K.

    `rows`: each sentence's row in the selection, [sentences]; -1 if it has no usable scores.
    """

    examples: Examples
    results: Selection
    rows: Ints


def similarity(outputs: Results, population: str, exclude: str = "fact", seed: int = 0) -> Similarity:
    """Sim_cand and exact Sim_all of every example, averaged over its sentences.

    An example is left out if a sentence has no scores, if it has no pair of sentences, or if its population
    is empty. `exclude`: the results that are not in an example's population: those of the same `fact`, of the
    `example` itself, or `none` (the paper's formula).
    """
    examples, results, rows = outputs
    if population == "permuted":
        there = np.flatnonzero(rows >= 0)
        rows = rows.copy()
        rows[there] = rows[np.random.default_rng(seed).permutation(there)]
    outputs = Results(examples, results, rows)
    if population == "cross":
        singles = _averages(examples, _population(outputs, "chains", exclude), ~examples.chain)
        chains = _averages(examples, _population(outputs, "singles", exclude), examples.chain)
        return Similarity(_candidates(outputs), (singles + chains) / 2)
    return Similarity(_candidates(outputs), _averages(examples, _population(outputs, population, exclude)))


def _population(outputs: Results, population: str, exclude: str) -> Floats:
    """Sim_all of each sentence, [sentences]; NaN if its population is empty."""
    examples, results, rows = outputs
    scored = np.flatnonzero(rows >= 0)
    groups = {"same_relation": examples.relation, "same_subject": examples.subject}
    within = groups.get(population, np.zeros(len(rows), np.int64))[scored]
    own = {"fact": examples.fact, "example": examples.example, "none": None}[exclude]
    among = np.ones(len(scored), bool)
    if population in ("singles", "chains"):
        among = examples.chain[scored] == (population == "chains")
    total = total_overlap(results, rows[scored], within, among)
    number = _counts(within, among)
    if own is not None:
        # A fact can be in several pairs of relations; its results in other pairs are not in the population.
        mine = within * (own.max(initial=0) + 1) + own[scored]
        total -= total_overlap(results, rows[scored], mine, among)
        number = number - _counts(mine, among)
    similarities = np.full(len(rows), np.nan)
    similarities[scored] = np.where(number > 0, total / np.maximum(number, 1) / results.chosen, np.nan)
    return similarities


def _counts(labels: Ints, among: Flags) -> Ints:
    """For each entry the number of entries in `among` with the same label."""
    _, label = np.unique(labels, return_inverse=True)
    return np.bincount(label[among], minlength=label.max(initial=-1) + 1)[label]


def _candidates(outputs: Results) -> Floats:
    """Sim_cand, [examples]: the mean over all pairs of wordings in c, over (single, chain) in r."""
    examples, results, rows = outputs
    left, right = _pairs(examples)
    usable = (rows[left] >= 0) & (rows[right] >= 0)
    means = np.full(len(left), np.nan)
    means[usable] = pair_overlap(results, rows[left[usable]], rows[right[usable]]) / results.chosen
    number = np.bincount(examples.example[left], minlength=len(examples.names))
    total = np.bincount(examples.example[left], means, len(examples.names))
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def _pairs(examples: Examples) -> tuple[Ints, Ints]:
    """The pairs of sentences that Sim_cand compares, as two arrays of their indices [pairs]."""
    pairs: list[tuple[int, int]] = []
    bounds = np.searchsorted(examples.example, np.arange(len(examples.names) + 1))
    for first, last in itertools.pairwise(bounds):
        for left, right in itertools.combinations(range(first, last), 2):
            if examples.subtask == "c" or examples.chain[left] != examples.chain[right]:
                pairs.append((left, right))
    columns = np.array(pairs, np.int64).reshape(-1, 2).T
    return columns[0], columns[1]


def _averages(examples: Examples, values: Floats, of: Flags | slice = slice(None)) -> Floats:
    """The mean of `values` over an example's sentences, [examples]; NaN if one of them is NaN.

    `of`: the sentences that count, [sentences]; without any of them an example's mean is NaN.
    """
    number = np.bincount(examples.example[of], minlength=len(examples.names))
    total = np.bincount(examples.example[of], values[of], len(examples.names))
    return np.where(number > 0, total / np.maximum(number, 1), np.nan)


def approximate(outputs: Results, scores: Scores) -> Similarity:
    """Sim_all as the paper approximates it: by the K best units of the mean score vector of all results.

    `scores` has those of all units. A mean has fewer ties than the scores, so `outputs` needs fractional ties
    if scores tie: else sentences would be similar to each other and not to the mean, and random scores would
    have an RSim above 0. Units that tie in the mean vector share its last choices.
    """
    examples, results, rows = outputs
    scored = np.flatnonzero(rows >= 0)
    # Sentences of several examples count several times.
    times = np.bincount(rows[scored], minlength=len(scores.sentences))
    total = np.zeros(scores.units)
    for first, part in scores.chunks():
        number = times[first : first + len(part)]
        total += number[number > 0] @ part[number > 0].astype(np.float64)
    units, weights = tied_weights(total, best_units(total, results.chosen))
    typical = np.zeros(scores.units)
    typical[units] = weights
    overlaps = np.zeros(len(scored))
    for some in _parts(results, rows[scored], np.arange(len(scored))):
        overlaps[some] = results.part(rows[scored][some]) @ typical
    similarities = np.full(len(rows), np.nan)
    similarities[scored] = overlaps / results.chosen
    return Similarity(_candidates(outputs), _averages(examples, similarities))


def total_overlap(results: Selection, rows: Ints, labels: Ints, among: Flags | None = None) -> Floats:
    """For each row the sum of its overlaps with all rows of the same label, itself included, [rows].

    `rows`: rows of `results`. `labels`: the label of each, [rows]. `among`: which of them are the population
    (default: all). Time grows with the number of chosen units, memory with the number of units.
    """
    among = np.ones(len(rows), bool) if among is None else among
    _, labels = np.unique(labels, return_inverse=True)
    order = np.argsort(labels, kind="stable")
    total = np.zeros(len(rows))
    bounds = np.concatenate([np.flatnonzero(np.diff(labels[order], prepend=-1)), [len(order)]])
    entries = np.concatenate([np.zeros(1, np.int64), np.cumsum(results.sizes(rows)[order])])
    small: list[Ints] = []
    kept = 0
    for first, last in itertools.pairwise(bounds):
        size = int(entries[last] - entries[first])
        if size > _ENTRIES or 8 * size >= results.units:
            _count_large(results, rows, order[first:last], among, total)
            continue
        if kept + size > _ENTRIES and small:
            _count_small(results, rows, np.concatenate(small), labels, among, total)
            small, kept = [], 0
        small.append(order[first:last])
        kept += size
    if small:
        _count_small(results, rows, np.concatenate(small), labels, among, total)
    return total


def _count_large(results: Selection, rows: Ints, indices: Ints, among: Flags, total: Floats) -> None:
    """Adds to `total` the overlaps of rows with the same label, counted in an array of all units."""
    counts = np.zeros(results.units)
    for part in _parts(results, rows, indices[among[indices]]):
        values = results.part(rows[part])
        counts += np.bincount(values.indices, values.data, results.units)
    for part in _parts(results, rows, indices):
        total[part] += results.part(rows[part]) @ counts


def _count_small(
    results: Selection, rows: Ints, indices: Ints, labels: Ints, among: Flags, total: Floats
) -> None:
    """Adds to `total` the overlaps of rows of several labels, by sorting their pairs (label, unit)."""
    part = results.part(rows[indices])
    row = np.repeat(np.arange(len(indices)), np.diff(part.indptr))
    keys = labels[indices[row]] * np.int64(results.units) + part.indices
    _, same = np.unique(keys, return_inverse=True)
    counts = np.bincount(same, part.data * among[indices[row]])
    total[indices] += np.bincount(row, part.data * counts[same], len(indices))


def pair_overlap(results: Selection, left: Ints, right: Ints) -> Floats:
    """The overlap of each row of `left` with the row of `right` at the same index, [pairs]."""
    total = np.zeros(len(left))
    for part in _parts(results, left, np.arange(len(left))):
        total[part] = results.part(left[part], True).multiply(results.part(right[part], True)).sum(axis=1)
    return total


def _parts(results: Selection, rows: Ints, indices: Ints) -> Iterator[Ints]:
    """The indices in consecutive parts whose results fit into memory."""
    entries = np.cumsum(results.sizes(rows[indices]))
    cuts = np.searchsorted(entries, np.arange(_ENTRIES, entries.max(initial=0), _ENTRIES))
    for part in np.split(indices, cuts):
        if len(part):
            yield part
