"""Assigns each job a GPU that no other job on this machine uses. Imports torch."""

from __future__ import annotations

import contextlib
import fcntl
import os
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO

import torch

WAIT = 1.0
"""Seconds between two attempts to lock a GPU."""


@contextlib.contextmanager
def held(device: str) -> Iterator[str]:
    """Resolves `auto` to a GPU that is locked for this job, or to `cpu` without GPU; keeps other names.

    Waits until one of the GPUs (those in CUDA_VISIBLE_DEVICES, if it is set) is free. The lock is a file lock
    of the user, which the kernel releases when the process ends.
    """
    if device != "auto" or not torch.cuda.is_available():
        yield "cpu" if device == "auto" else device
        return
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    names = visible.split(",") if visible else [str(place) for place in range(torch.cuda.device_count())]
    folder = Path(tempfile.gettempdir()) / f"factdrift-gpus-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context((folder / name.strip()).open("w")) for name in names]
        while (place := _free(files)) is None:
            time.sleep(WAIT)
        torch.cuda.set_device(place)
        yield f"cuda:{place}"


def _free(files: Sequence[IO[str]]) -> int | None:
    """The index of the first file that could be locked; None if all are locked by others."""
    for place, file in enumerate(files):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            return place
    return None
