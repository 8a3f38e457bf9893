"""Token ids of unequal length as one rectangular tensor, and rows of like length as batches."""

from collections.abc import Iterator, Sequence

import torch
from torch import Tensor


def padded(rows: Sequence[Sequence[int]], device: torch.device) -> Tensor:
    """Rows of numbers, such as token ids, as [rows, longest]; each is continued by its last number.

    Attention is causal, so what follows the end of a row changes nothing before it, and no mask is needed.
    """
    width = max(map(len, rows))
    return torch.tensor([[*row, *[row[-1]] * (width - len(row))] for row in rows], device=device)


def batches(lengths: Sequence[int], budget: int) -> Iterator[list[int]]:
    """Places of consecutive rows, by their lengths, in batches of at most `budget` tokens.

    The padding to the longest row of a batch counts. A batch has at least one row.
    """
    batch: list[int] = []
    longest = 0
    for index, length in enumerate(lengths):
        longest = max(longest, length)
        if batch and longest * (len(batch) + 1) > budget:
            yield batch
            batch, longest = [], length
        batch.append(index)
    if batch:
        yield batch
