"""Samples of rows: which are drawn, and how they are read and named."""

import hashlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.audit.kinds import QUESTIONS
from factdrift.core.columns import Row


def chosen(strata: Sequence[Sequence[str]], rows: int, seed: int) -> list[int]:
    """The positions of `rows` rows, or of all if there are fewer, ascending.

    `strata`: the keys of each row, the coarsest first and last one that is unique. A systematic sample: the
    rows in the order of their strata, within a stratum in the order of a seeded hash, every n-th of them from
    a seeded start. Each row has the same chance, so shares in the sample estimate shares in the dataset.
    """
    if rows >= len(strata):
        return list(range(len(strata)))
    ordered = sorted(
        range(len(strata)), key=lambda position: (*strata[position][:-1], rank_of(seed, strata[position][-1]))
    )
    step = len(strata) / rows
    start = int(rank_of(seed, "start")[:12], 16) / 16**12 * step
    return sorted(ordered[int(start + step * number)] for number in range(rows))


def rank_of(seed: int, text: str) -> str:
    """The position of a name in the order that a seed gives, as hexadecimal digits."""
    return hashlib.sha256(f"{seed}|{text}".encode()).hexdigest()


def rows_at(path: Path, positions: Sequence[int]) -> Iterator[dict[str, Any]]:
    """The rows of a Parquet file at ascending positions; the file is read in batches."""
    begin, waiting = 0, list(positions)
    for batch in pq.ParquetFile(path).iter_batches(batch_size=4096):
        end = begin + batch.num_rows
        inside = [position - begin for position in waiting if position < end]
        waiting = waiting[len(inside) :]
        if inside:
            yield from batch.take(inside).to_pylist()
        begin = end


def name_of(dataset: str, row: Row) -> str:
    """The name of a row in an audit: `Q30 P6`, or the id of an item."""
    return str(row["item_id"]) if dataset == QUESTIONS else f"{row['subject']['id']} {row['relation']['id']}"
