"""Locating results: the K best of each sentence's N units."""

import re
import tempfile
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from factdrift.core.errors import InputError
from factdrift.klob.scoring.inputs import Flags, Floats, Ints, Scores


def how_many(units: int, percent: Fraction) -> int:
    """K = min(N, max(1, floor(N k / 100 + 1/2))), in exact arithmetic."""
    return min(units, max(1, (units * percent / 100 + Fraction(1, 2)).__floor__()))


class Selection(NamedTuple):
    """The locating results of all sentences for one K, as weights [sentences x units]: 1 for a chosen unit.

    With fractional ties the units that tie share the last of a sentence's K choices. `tie_share`: the share
    of the choices that ties decide, [sentences]. The weights are stored either as they are (`shared`) or as
    the first K columns of `top` [sentences x at least K].
    """

    chosen: int
    units: int
    tie_share: Floats
    top: NDArray[np.integer] | None = None
    shared: sparse.csr_array | None = None

    def sizes(self, rows: Ints) -> Ints:
        """The number of units with a weight in some rows, [rows]."""
        if self.shared is None:
            return np.full(len(rows), self.chosen, np.int64)
        sizes: Ints = np.diff(self.shared.indptr)[rows].astype(np.int64)
        return sizes

    def part(self, rows: Ints, ascending: bool = False) -> sparse.csr_array:
        """Some rows of weights, [rows x units]; `ascending` sorts the units of a row."""
        if self.shared is not None:
            return self.shared[rows]
        assert self.top is not None
        chosen = self.top[rows, : self.chosen]
        indices = np.sort(chosen, axis=1).ravel() if ascending else chosen.ravel()
        bounds = np.arange(len(rows) + 1, dtype=np.int64) * self.chosen
        return sparse.csr_array((np.ones(len(indices)), indices, bounds), shape=(len(rows), self.units))


class Located(NamedTuple):
    """The results of one pass over a locating method's scores.

    `usable`: whether all scores of a sentence are finite. `selections`: one for each k. `mean`, `sd` and
    `concentration` are those of all units' scores of each sentence, [sentences]; the last is log N minus the
    entropy of the shifted, normalised scores, and NaN if only the best units are given.
    """

    usable: Flags
    selections: list[Selection]
    mean: Floats
    sd: Floats
    concentration: Floats


def locate(
    scores: Scores, percents: Sequence[Fraction], ties: str = "index", scratch: Path | None = None
) -> Located:
    """Chooses the best units of every sentence for each k; `ties` is `index` or `fractional`.

    Results are kept in unnamed files under `scratch`, so memory does not grow with the sentences. Raises
    InputError for a k beyond the units that are listed.
    """
    chosen = [how_many(scores.units, percent) for percent in percents]
    if scores.dense is None:
        return _listed(scores, chosen, percents, ties)
    sentences = len(scores.sentences)
    usable = np.zeros(sentences, bool)
    mean, sd, concentration = (np.full(sentences, np.nan) for _ in range(3))
    shares = np.zeros((len(chosen), sentences))
    shared = [_SharedRows(scratch) for _ in chosen] if ties == "fractional" else []
    top = _scratch(scratch, (sentences, max(chosen)))
    for first, rows in scores.chunks():
        for sentence, row in enumerate(rows, start=first):
            usable[sentence] = bool(np.isfinite(row).all())
            order = best_units(row, max(chosen)) if usable[sentence] else np.empty(0, np.int64)
            for weights, number in zip(shared, chosen, strict=False):
                weights.add(row, order[:number])
            if usable[sentence]:
                mean[sentence], sd[sentence], concentration[sentence] = _moments(row)
                top[sentence] = order
                shares[:, sentence] = _tie_shares(row, order, chosen)
    selections = [
        shared[index].selection(number, scores.units, shares[index])
        if shared
        else Selection(number, scores.units, shares[index], top)
        for index, number in enumerate(chosen)
    ]
    return Located(usable, selections, mean, sd, concentration)


def _listed(scores: Scores, chosen: Sequence[int], percents: Sequence[Fraction], ties: str) -> Located:
    assert scores.top is not None
    assert scores.mean is not None
    assert scores.sd is not None
    listed = scores.top.shape[1]
    if ties == "fractional":
        raise InputError(
            f"{scores.name}: fractional ties need all scores (scores.npy), not the best units alone"
        )
    for number, percent in zip(chosen, percents, strict=True):
        if number > listed:
            raise InputError(
                f"{scores.name}: k = {float(percent):g} % of {scores.units:,} units are {number:,}, but "
                f"units.npy lists {listed:,}; list more units or leave this k out (--k)"
            )
    usable = np.isfinite(scores.mean) & np.isfinite(scores.sd)
    unknown = np.full(len(usable), np.nan)
    selections = [Selection(number, scores.units, unknown, scores.top) for number in chosen]
    return Located(usable, selections, scores.mean, scores.sd, unknown)


def word_sets(texts: Sequence[str]) -> Selection:
    """The lexical locator's results: the units are the texts' words, and each text has its own words.

    K is the sentence's number of different words n and not a percentage of the vocabulary, of which a
    sentence has far fewer words than 1 %. Each of its words has the weight 1 / sqrt(n), so that the overlap
    of two results is (common words) / sqrt(n1 n2), which is Sim where both have K words. Case is ignored.
    """
    columns: dict[str, int] = {}
    words = (re.findall(r"\w+", text.casefold()) for text in texts)
    rows = [sorted({columns.setdefault(word, len(columns)) for word in of_text}) for of_text in words]
    sizes = np.array([len(row) for row in rows], np.int64)
    weights = np.repeat(1 / np.sqrt(np.maximum(sizes, 1)), sizes)
    indices = np.array([column for row in rows for column in row], np.int32)
    bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    units = max(1, len(columns))
    shared = sparse.csr_array((weights, indices, bounds), shape=(len(rows), units))
    return Selection(1, units, np.zeros(len(rows)), shared=shared)


def _moments(row: NDArray[np.floating]) -> tuple[float, float, float]:
    """Mean, standard deviation (divided by N) and concentration of one sentence's scores [units]."""
    row = row.astype(np.float64)
    shifted = row - row.min()
    total = shifted.sum()
    concentration = 0.0
    if total > 0:
        shares = shifted[shifted > 0] / total
        concentration = float(np.log(len(row)) + (shares * np.log(shares)).sum())
    return float(row.mean()), float(row.std()), concentration


def best_units(row: NDArray[np.floating], number: int) -> Ints:
    """The `number` units with the largest scores, the largest first; equal scores in the order of units."""
    if number < len(row):
        last = np.partition(row, len(row) - number)[len(row) - number]
        above = np.flatnonzero(row > last)
        units = np.concatenate([above, np.flatnonzero(row == last)[: number - len(above)]])
    else:
        units = np.arange(len(row))
    return units[np.lexsort((units, -row[units]))]


def _tie_shares(row: NDArray[np.floating], order: Ints, chosen: Sequence[int]) -> list[float]:
    """For each K: 0 if all units that tie with the last chosen one are chosen, else their share of places."""
    falling = -row[order]
    last_group = int((row == row[order[-1]]).sum())
    shares = []
    for number in chosen:
        first, last = np.searchsorted(falling, falling[number - 1], "left"), number
        equal = np.searchsorted(falling, falling[number - 1], "right") - first
        if falling[number - 1] == falling[-1]:
            equal = last_group
        shares.append(0.0 if first + equal == last else (last - first) / number)
    return shares


def tied_weights(row: NDArray[np.floating], best: Ints) -> tuple[Ints, Floats]:
    """The units of a row [units] that have a weight, ascending, and their weights, with fractional ties.

    `best`: its best units, the best first. Those that tie with the last of them share what the others leave.
    """
    if not len(best):
        return np.empty(0, np.int64), np.empty(0)
    last = row[best[-1]]
    above, tied = np.flatnonzero(row > last), np.flatnonzero(row == last)
    units = np.concatenate([above, tied])
    weights = np.repeat([1.0, (len(best) - len(above)) / len(tied)], [len(above), len(tied)])
    order = np.argsort(units)
    return units[order], weights[order]


class _SharedRows:
    """Builds a Selection with fractional ties row by row, in unnamed files."""

    def __init__(self, scratch: Path | None):
        # They stay open because the selection's arrays are mapped from them.
        self.files = [tempfile.TemporaryFile(dir=scratch) for _ in range(2)]  # noqa: SIM115
        self.sizes: list[int] = []

    def add(self, row: NDArray[np.floating], best: Ints) -> None:
        units, weights = tied_weights(row, best)
        self.files[0].write(weights.tobytes())
        self.files[1].write(units.astype(np.int32).tobytes())
        self.sizes.append(len(units))

    def selection(self, chosen: int, units: int, shares: Floats) -> Selection:
        bounds = np.concatenate([np.zeros(1, np.int64), np.cumsum(self.sizes, dtype=np.int64)])
        arrays: list[Any] = []
        for file, kind in zip(self.files, (np.float64, np.int32), strict=True):
            file.flush()
            shape = (int(bounds[-1]),)
            arrays.append(np.memmap(file, kind, "r", shape=shape) if shape[0] else np.empty(0, kind))
        shared = sparse.csr_array((*arrays, bounds), shape=(len(self.sizes), units))
        return Selection(chosen, units, shares, shared=shared)


def _scratch(folder: Path | None, shape: tuple[int, int]) -> NDArray[np.int32]:
    """An array [shape] in an unnamed file, which is removed with the array."""
    if not shape[0]:
        return np.zeros(shape, np.int32)
    with tempfile.TemporaryFile(dir=folder) as file:
        file.truncate(4 * shape[0] * shape[1])
        return np.memmap(file, np.int32, "r+", shape=shape)
