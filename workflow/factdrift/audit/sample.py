"""Rows of a dataset, chosen so that each has the same chance and every stratum its share."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq


def chosen(strata: Sequence[Sequence[str]], rows: int, seed: int) -> list[int]:
    """The places of `rows` rows, or of all if there are fewer, ascending.

    `strata`: the keys of each row, the coarsest first and last one that is unique. A systematic sample: the
    rows in the order of their strata, within a stratum in the order of a seeded hash, every n-th of them from
    a seeded start. Each row has the same chance, so shares in the sample estimate shares in the dataset.
    """
    if rows >= len(strata):
        return list(range(len(strata)))
    ordered = sorted(
        range(len(strata)), key=lambda place: (*strata[place][:-1], place_of(seed, strata[place][-1]))
    )
    step = len(strata) / rows
    start = int(place_of(seed, "start")[:12], 16) / 16**12 * step
    return sorted(ordered[int(start + step * number)] for number in range(rows))


def place_of(seed: int, text: str) -> str:
    """The place of a name in the order that a seed gives, as hexadecimal digits."""
    return hashlib.sha256(f"{seed}|{text}".encode()).hexdigest()


def rows_at(path: Path, places: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file at ascending places; the file is read in batches."""
    begin, waiting = 0, list(places)
    for batch in pq.ParquetFile(path).iter_batches(batch_size=4096):
        end = begin + batch.num_rows
        inside = [place - begin for place in waiting if place < end]
        waiting = waiting[len(inside) :]
        if inside:
            yield from batch.take(inside).to_pylist()
        begin = end
