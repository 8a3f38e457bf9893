"""Assigns each job a GPU that no other job on this machine uses. Imports torch."""

from __future__ import annotations

import contextlib
import os
import tempfile
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO

import torch

from factdrift.nodes import node, try_lock

WAIT = 1.0
"""Seconds between two attempts to lock a GPU."""


@contextlib.contextmanager
def held(device: str) -> Iterator[str]:
    """Resolves `auto` to a GPU that is locked for this job, or to `cpu` without GPU; keeps other names.

    Waits until one of the GPUs that the job sees is free. The lock is a file lock of the user on this node,
    which the kernel releases when the process ends.
    """
    if device != "auto" or not torch.cuda.is_available():
        yield "cpu" if device == "auto" else device
        return
    folder = Path(tempfile.gettempdir()) / f"factdrift-gpus-{os.getuid()}-{node()}"
    folder.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        files = {folder / name: stack.enter_context((folder / name).open("w")) for name in _names()}
        while (place := _free(files)) is None:
            time.sleep(WAIT)
        torch.cuda.set_device(place)
        yield f"cuda:{place}"


def _names() -> list[str]:
    """What tells each visible GPU from the others of the node.

    Numbers do not: a scheduler with control groups shows every job its own GPU as number 0. Slices of one GPU
    share its UUID, and are told apart by their names in CUDA_VISIBLE_DEVICES.
    """
    named = [name.strip() for name in os.environ.get("CUDA_VISIBLE_DEVICES", "").split(",")]
    if all(name.startswith(("GPU-", "MIG-")) for name in named):
        return named
    return [str(torch.cuda.get_device_properties(place).uuid) for place in range(torch.cuda.device_count())]


def _free(files: Mapping[Path, IO[str]]) -> int | None:
    """The index of the first file that could be locked; None if all are locked by others."""
    for place, (path, file) in enumerate(files.items()):
        if try_lock(file, path):
            return place
    return None
