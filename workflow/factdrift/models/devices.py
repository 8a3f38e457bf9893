"""Assigns each job GPUs that no other job on this machine uses. Imports torch."""

import contextlib
import fcntl
import os
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

import torch

from factdrift.core.errors import InputError
from factdrift.core.owned import node, private_folder, try_lock

WAIT = 1.0
"""Seconds between two attempts to lock a GPU."""


@contextlib.contextmanager
def held(device: str, gpus: int = 1) -> Iterator[str]:
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
    folder = private_folder(f"gpus-{node()}")
    with contextlib.ExitStack() as stack:
        files = {folder / name: stack.enter_context((folder / name).open("a")) for name in names}
        while not (places := _free(files, gpus)):
            time.sleep(WAIT)
        torch.cuda.set_device(places[0])
        yield ",".join(f"cuda:{place}" for place in places)


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
    return [str(torch.cuda.get_device_properties(place).uuid) for place in range(count)]


def _free(files: Mapping[Path, IO[str]], count: int) -> list[int]:
    """The indices of the first `count` files that could be locked; none, and no lock, if there are fewer."""
    held: dict[int, IO[str]] = {}
    for place, (path, file) in enumerate(files.items()):
        if try_lock(file, path):
            held[place] = file
            if len(held) == count:
                return list(held)
    for file in held.values():
        fcntl.flock(file, fcntl.LOCK_UN)
    return []
