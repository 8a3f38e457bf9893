"""Batches that are halved when they do not fit into the memory of the device. Imports torch."""

from collections.abc import Callable, Sequence
from typing import TypeVar

import torch

LACKING = (
    *("CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED", "CUSOLVER_STATUS_ALLOC_FAILED"),
    *("CUSOLVER_STATUS_NOT_INITIALIZED", "CUDNN_STATUS_ALLOC_FAILED", "CUSPARSE_STATUS_ALLOC_FAILED"),
    *("CUDA out of memory", "can't allocate memory"),
)
"""In messages of errors: memory was lacking. cuBLAS and cuSOLVER say that they are not initialized if there
is none for their handles, and torch says the last one of the memory of the CPU.
"""

Item = TypeVar("Item")
Result = TypeVar("Result")


def in_batches(items: Sequence[Item], size: int, work: Callable[[Sequence[Item]], Result]) -> list[Result]:
    """Results of `work` for consecutive batches of at most `size` items, in their order.

    A batch that runs out of memory is halved and tried again; later batches keep the smaller size. The error
    is raised if a single item does not fit.
    """
    results: list[Result] = []
    start = 0
    while start < len(items):
        batch = items[start : start + size]
        try:
            results.append(work(batch))
        except RuntimeError as error:
            if len(batch) == 1 or not is_out_of_memory(error):
                raise
            size = len(batch) // 2
        else:
            start += len(batch)
            continue
        # Outside of the except block, so that the tensors of the failed attempt are freed.
        torch.cuda.empty_cache()
    return results


def is_out_of_memory(error: BaseException) -> bool:
    """Whether an error says that memory was lacking: of torch, or of a library that allocates for itself."""
    return isinstance(error, torch.OutOfMemoryError) or (
        isinstance(error, RuntimeError) and any(sign in str(error) for sign in LACKING)
    )


def free_bytes(device: torch.device, otherwise: int) -> int:
    """Free bytes of a GPU, including what torch has reserved but not used; `otherwise` for other devices."""
    if device.type != "cuda":
        return otherwise
    free, _ = torch.cuda.mem_get_info(device)
    unused = torch.cuda.memory_reserved(device) - torch.cuda.memory_allocated(device)
    return free + unused
