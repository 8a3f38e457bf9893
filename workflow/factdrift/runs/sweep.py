"""Removal of the unfinished files of killed runs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
from collections.abc import Iterable, Iterator
from pathlib import Path


def sweep(results: Path) -> tuple[int, float]:
    """Removes the unfinished files of processes that are gone; returns their number and bytes.

    These are `.NAME.PID.part` under `results` (no run may be writing there) and the folders to which queries
    of this user spilled. What another process removes meanwhile is left to it.
    """
    import psutil

    number, freed = 0, 0.0
    parts = [path for path in _inside(results) if path.match(".*.part")]
    for path in (*parts, *_own(Path(tempfile.gettempdir()).glob("factdrift-*-*"))):
        process = re.search(r"\.(\d+)\.part$|^factdrift-(\d+)-", path.name)
        if process is None or psutil.pid_exists(int(process[1] or process[2])):
            continue
        size = _bytes(path) + sum(_bytes(each) for each in _inside(path))
        with contextlib.suppress(FileNotFoundError):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            number, freed = number + 1, freed + size
    return number, freed


def _inside(folder: Path) -> Iterator[Path]:
    """All that is in a folder, at any depth."""
    for above, folders, files in os.walk(folder):
        yield from (Path(above, name) for name in (*folders, *files))


def _own(paths: Iterable[Path]) -> Iterator[Path]:
    """Those that belong to this user."""
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            if path.stat().st_uid == os.getuid():
                yield path


def _bytes(path: Path) -> int:
    """The size of a file; 0 for a folder, or if it has vanished."""
    try:
        status = path.stat()
    except FileNotFoundError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
