"""Assigns each job GPUs that no other job on this machine uses. Imports torch."""

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

from factdrift.errors import InputError

WAIT = 1.0
"""Seconds between two attempts to lock a GPU."""


@contextlib.contextmanager
def held(device: str, gpus: int = 1) -> Iterator[str]:
    """Resolves `auto` to GPUs that are locked for this job, or to `cpu` without GPU; keeps other names.

    Several GPUs are joined by commas, `cuda:0,cuda:1`. Waits until so many of the GPUs (those in
    CUDA_VISIBLE_DEVICES, if it is set) are free, and holds none meanwhile. The locks are file locks of the
    user, which the kernel releases when the process ends. Raises InputError if there are fewer than `gpus`.
    """
    if device != "auto" or not torch.cuda.is_available():
        yield "cpu" if device == "auto" else device
        return
    visible = os.environ.get("CUDA_VISIBLE_DEVICES", "")
    names = visible.split(",") if visible else [str(place) for place in range(torch.cuda.device_count())]
    if gpus > len(names):
        raise InputError(f"edit.gpus: {gpus} GPUs are wanted for a model, and a job sees {len(names)} here")
    folder = Path(tempfile.gettempdir()) / f"factdrift-gpus-{os.getuid()}"
    folder.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        files = [stack.enter_context((folder / name.strip()).open("w")) for name in names]
        while not (places := _free(files, gpus)):
            time.sleep(WAIT)
        torch.cuda.set_device(places[0])
        yield ",".join(f"cuda:{place}" for place in places)


def _free(files: Sequence[IO[str]], count: int) -> list[int]:
    """The indices of the first `count` files that could be locked; none, and no lock, if there are fewer."""
    places: list[int] = []
    for place, file in enumerate(files):
        with contextlib.suppress(BlockingIOError):
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
            places.append(place)
            if len(places) == count:
                return places
    for place in places:
        fcntl.flock(files[place], fcntl.LOCK_UN)
    return []
