"""Batches that are halved when they do not fit into the memory of the device. Imports torch."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_batches(items: Sequence[Item], size: int, work: Callable[[Sequence[Item]], Result]) -> list[Result]:
    """Results of `work` for consecutive batches of at most `size` items, in their order.

    A batch that runs out of memory is halved and tried again; later batches keep the smaller size. Raises
    OutOfMemoryError if a single item does not fit.
    """
    results: list[Result] = []
    start = 0
    while start < len(items):
        batch = items[start : start + size]
        try:
            results.append(work(batch))
        except torch.OutOfMemoryError:
            if len(batch) == 1:
                raise
            size = len(batch) // 2
        else:
            start += len(batch)
            continue
        # Outside of the except block, so that the tensors of the failed attempt are freed.
        torch.cuda.empty_cache()
    return results


def free_bytes(device: torch.device, otherwise: int) -> int:
    """Free bytes of a GPU, including what torch has reserved but not used; `otherwise` for other devices."""
    if device.type != "cuda":
        return otherwise
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return free + unused
