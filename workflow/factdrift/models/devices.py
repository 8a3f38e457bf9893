"""GPUs that no other job of this machine uses, and batches that fit into their memory. Imports torch."""

import contextlib
import fcntl
import os
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, TypeVar

import torch

from factdrift.core.errors import InputError
from factdrift.core.owned import machine, private_folder, try_lock

WAIT = 1.0
"""Seconds between two attempts to lock a GPU."""

LACKING = (
    *("CUBLAS_STATUS_ALLOC_FAILED", "CUBLAS_STATUS_NOT_INITIALIZED", "CUSOLVER_STATUS_ALLOC_FAILED"),
    *("CUSOLVER_STATUS_NOT_INITIALIZED", "CUDNN_STATUS_ALLOC_FAILED", "CUSPARSE_STATUS_ALLOC_FAILED"),
    *("CUDA out of memory", "can't allocate memory"),
)
"""In messages of errors: memory was lacking. cuBLAS and cuSOLVER say that they are not initialized if there
is none for their handles, and torch says the last one of the memory of the CPU."""

FAST = "avx512_bf16", "amx_bf16"
"""What a CPU has that multiplies bfloat16 at least twice as fast as float32."""
LARGE = 50_000_000
"""Numbers in the blocks of a model that takes minutes for thousands of questions in float32."""

Item = TypeVar("Item")
Result = TypeVar("Result")


@contextlib.contextmanager
def reserved_device(device: str, gpus: int = 1) -> Iterator[str]:
    """Resolves `auto` to GPUs that are locked for this job, or to `cpu` without GPU; keeps other names.

    Several GPUs are joined by commas, `cuda:0,cuda:1`. Waits until this many of the visible GPUs are
    free, and locks none while it waits. The locks are file locks of the user on this node, which the kernel
    releases when the process ends. Raises InputError if there are fewer than `gpus`.
    """
    if device != "auto" or not torch.cuda.is_available():
        yield "cpu" if device == "auto" else device
        return
    names = _names()
    if gpus > len(names):
        raise InputError(f"edit.gpus: {gpus} GPUs are wanted for a model, and a job sees {len(names)} here")
    folder = private_folder(f"gpus-{machine()}")
    with contextlib.ExitStack() as stack:
        files = {folder / name: stack.enter_context((folder / name).open("a")) for name in names}
        while not (indices := _free(files, gpus)):
            time.sleep(WAIT)
        torch.cuda.set_device(indices[0])
        yield ",".join(f"cuda:{index}" for index in indices)


def _names() -> list[str]:
    """A key for each visible GPU, unique on the node.

    It is the UUID, since a scheduler with control groups shows every job its own GPU as number 0, and
    CUDA_VISIBLE_DEVICES may have numbers in one job and names in another. Slices of one GPU share its UUID,
    and are distinguished by their names in CUDA_VISIBLE_DEVICES, which may be more than CUDA lets a process
    use.
    """
    count = torch.cuda.device_count()
    named = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    if named[0].startswith("MIG-"):
        # Older drivers name a slice MIG-GPU-UUID/INSTANCE/SLICE.
        return [name.replace("/", "-") for name in named[:count]]
    return [str(torch.cuda.get_device_properties(index).uuid) for index in range(count)]


def _free(files: Mapping[Path, IO[str]], count: int) -> list[int]:
    """The indices of the first `count` files that could be locked; none, and no lock, if there are fewer."""
    reserved_device: dict[int, IO[str]] = {}
    for index, (path, file) in enumerate(files.items()):
        if try_lock(file, path):
            reserved_device[index] = file
            if len(reserved_device) == count:
                return list(reserved_device)
    for file in reserved_device.values():
        fcntl.flock(file, fcntl.LOCK_UN)
    return []


def fast_type(numbers: int) -> torch.dtype:
    """The type of a CPU for likelihoods that are compared: bfloat16 for a large model where that is fast.

    `numbers`: those in the blocks of the model.
    """
    fast = numbers > LARGE and any(torch.cpu.get_capabilities().get(name) for name in FAST)
    return torch.bfloat16 if fast else torch.float32


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
            # Libraries that allocate for themselves say so in the text alone.
            lacking = any(sign in str(error) for sign in LACKING)
            if len(batch) == 1 or not (lacking or isinstance(error, torch.OutOfMemoryError)):
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
