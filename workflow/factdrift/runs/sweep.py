"""Removal of the unfinished files of killed runs."""

from __future__ import annotations

import contextlib
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Iterable, Iterator
from pathlib import Path

from factdrift.nodes import node

FORGOTTEN = 24 * 3600.0
"""Seconds without a change after which no job of another node can still be writing a file: longer than clocks
of two nodes differ, and than any command is silent."""

CLOCK = 2.0
"""Seconds by which the beginning of a process, computed from the machine's start, may be wrong."""


def sweep(results: Path) -> tuple[int, float]:
    """Removes the unfinished files of processes that are gone; returns their number and bytes.

    These are `.NAME.NODE-PID.part` under `results` and the folders to which queries of this user spilled.
    Whether a process of another node is gone cannot be asked here: its files are removed when they have not
    changed for `FORGOTTEN`. What another process removes meanwhile is left to it.
    """
    number, freed = 0, 0.0
    parts = [path for path in _inside(results) if path.match(".*.part")]
    for path in (*parts, *_own(Path(tempfile.gettempdir()).glob("factdrift-*-*"))):
        named = re.search(r"\.(\w+)-(\d+)\.part$|^factdrift-(\w+)-(\d+)-", path.name)
        if named is None:
            continue
        where, process = named[1] or named[3], int(named[2] or named[4])
        if _writes(process, path) if where == node() else _changed_lately(path):
            continue
        size = _bytes(path) + sum(_bytes(each) for each in _inside(path))
        with contextlib.suppress(FileNotFoundError):
            if path.is_dir():
                shutil.rmtree(path)
            else:
                path.unlink()
            number, freed = number + 1, freed + size
    return number, freed


def _writes(process: int, path: Path) -> bool:
    """Whether the process can be the one that writes a file.

    A killed process keeps its number until its parent has asked for its end, which in many containers nobody
    does; and a number is given again to a process that began after the last change of the file.
    """
    import psutil

    try:
        found = psutil.Process(process)
        if found.status() == psutil.STATUS_ZOMBIE:
            return False
        return found.create_time() < path.stat().st_mtime + CLOCK
    except (psutil.NoSuchProcess, FileNotFoundError):
        return False
    except psutil.AccessDenied:
        return True


def _changed_lately(path: Path) -> bool:
    """Whether a file, or anything in a folder, has changed since `FORGOTTEN`."""
    with contextlib.suppress(FileNotFoundError):
        newest = max(each.stat().st_mtime for each in (path, *_inside(path)))
        return time.time() - newest < FORGOTTEN
    return True


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
