"""Overlaps of locating results, counted without comparing all pairs.

The overlap of two results is the sum over the units of the products of their weights; without shared places
it is the number of units that both have. Summed over a population it follows from the population's counts:
sum_i |x_i & x| = sum_{u in x} cnt[u].
"""

from __future__ import annotations

import itertools
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from factdrift.klob.scoring.selection import Selection

_ENTRIES = 4_000_000
"""The number of chosen units that are in memory at a time, at some 100 bytes each."""


def total_overlap(
    results: Selection,
    rows: NDArray[np.int64],
    labels: NDArray[np.int64],
    among: NDArray[np.bool_] | None = None,
) -> NDArray[np.float64]:
    """For each row the sum of its overlaps with all rows of the same label, itself included, [rows].

    `rows`: rows of `results`. `labels`: the label of each, [rows]. `among`: which of them are the population
    (default: all). Time grows with the number of chosen units, memory with the number of units.
    """
    among = np.ones(len(rows), bool) if among is None else among
    _, labels = np.unique(labels, return_inverse=True)
    order = np.argsort(labels, kind="stable")
    background = np.bincount(labels[among], results.background[rows[among]], labels.max(initial=-1) + 1)
    mass = np.bincount(labels[among], results.mass[rows[among]], labels.max(initial=-1) + 1)
    # The products with the background, which all units have; those of deviations from it are added below.
    mine = results.background[rows]
    total = results.units * mine * background[labels] + mine * mass[labels]
    total += results.mass[rows] * background[labels]
    sizes = results.sizes(rows)[order]
    bounds = np.concatenate([np.flatnonzero(np.diff(labels[order], prepend=-1)), [len(order)]])
    entries = np.concatenate([np.zeros(1, np.int64), np.cumsum(sizes)])
    small: list[NDArray[np.int64]] = []
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


def _count_large(
    results: Selection,
    rows: NDArray[np.int64],
    places: NDArray[np.int64],
    among: NDArray[np.bool_],
    total: NDArray[np.float64],
) -> None:
    """Adds to `total` the overlaps of rows of one label, counted in an array of all units."""
    counts = np.zeros(results.units)
    for part in _parts(results, rows, places[among[places]]):
        values = results.part(rows[part])
        counts += np.bincount(values.indices, values.data, results.units)
    for part in _parts(results, rows, places):
        total[part] += results.part(rows[part]) @ counts


def _count_small(
    results: Selection,
    rows: NDArray[np.int64],
    places: NDArray[np.int64],
    labels: NDArray[np.int64],
    among: NDArray[np.bool_],
    total: NDArray[np.float64],
) -> None:
    """Adds to `total` the overlaps of rows of several labels, by sorting their pairs (label, unit)."""
    part = results.part(rows[places])
    at = np.repeat(np.arange(len(places)), np.diff(part.indptr))
    keys = labels[places[at]] * np.int64(results.units) + part.indices
    _, same = np.unique(keys, return_inverse=True)
    counts = np.bincount(same, part.data * among[places[at]])
    total[places] += np.bincount(at, part.data * counts[same], len(places))


def pair_overlap(
    results: Selection, left: NDArray[np.int64], right: NDArray[np.int64]
) -> NDArray[np.float64]:
    """The overlap of each row of `left` with the row of `right` at the same position, [pairs]."""
    total = results.units * results.background[left] * results.background[right]
    total += results.background[left] * results.mass[right] + results.mass[left] * results.background[right]
    for part in _parts(results, left, np.arange(len(left))):
        common = results.part(left[part], True).multiply(results.part(right[part], True))
        total[part] += common.sum(axis=1)
    return total


def weighed(results: Selection, rows: NDArray[np.int64], weights: NDArray[np.float64]) -> NDArray[np.float64]:
    """For each row the sum of `weights` [units] over its units, [rows]."""
    total = results.background[rows] * weights.sum()
    for part in _parts(results, rows, np.arange(len(rows))):
        total[part] += results.part(rows[part]) @ weights
    return np.asarray(total)


def _parts(
    results: Selection, rows: NDArray[np.int64], places: NDArray[np.int64]
) -> Iterator[NDArray[np.int64]]:
    """The places in consecutive parts whose results fit into memory."""
    entries = np.cumsum(results.sizes(rows[places]))
    cuts = np.searchsorted(entries, np.arange(_ENTRIES, entries.max(initial=0), _ENTRIES))
    for part in np.split(places, cuts):
        if len(part):
            yield part
