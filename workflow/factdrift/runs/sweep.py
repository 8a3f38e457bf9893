"""Removal of the unfinished files of killed runs."""

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

from factdrift.core.nodes import node
from factdrift.core.owned import remove_unfinished, writer_of_name, writer_of_scratch

FORGOTTEN = 24 * 3600.0
"""Seconds without a change after which no job of another node can still be writing a file: longer than clocks
of two nodes differ, and than any command is silent."""

CLOCK = 2.0
"""Seconds by which the beginning of a process, computed from the machine's start, may be wrong."""


def sweep(results: Path) -> tuple[int, float]:
    """Removes the unfinished files of processes that are gone; returns their number and bytes.

    These are what `owned.unfinished` names under `results`, and the temporary folders of this user in which
    `owned.scratch` has written its process. Nothing else is removed, whatever its name, and no link is
    followed. Whether a process of another node is gone cannot be asked here: its files are removed when they
    have not changed for `FORGOTTEN`. What another process removes meanwhile is left to it.
    """
    number, freed = 0, 0.0
    for path, where, process, began in (*_parts(results), *_scratch(Path(tempfile.gettempdir()))):
        if _writes(process, began) if where == node() else _changed_lately(path):
            continue
        if not os.path.lexists(path):  # another process has removed it, or it was in a folder that is gone
            continue
        size = _bytes(path) + sum(_bytes(file) for file in _inside(path))
        with contextlib.suppress(FileNotFoundError):
            remove_unfinished(path)
            number, freed = number + 1, freed + size
    return number, freed


def _parts(results: Path) -> list[tuple[Path, str, int, float]]:
    """The unfinished files and folders under `results`: path, machine, process, time of the last change."""
    parts = []
    for path in _inside(results):
        written = writer_of_name(path.name)
        if written and not path.is_symlink():
            with contextlib.suppress(FileNotFoundError):
                parts.append((path, *written, path.stat().st_mtime))
    return parts


def _scratch(folder: Path) -> Iterator[tuple[Path, str, int, float]]:
    """The temporary folders that factdrift has made: path, machine, process, time of the process's start."""
    for path in folder.glob("factdrift-*"):
        if written := writer_of_scratch(path):
            yield path, *written


def _writes(process: int, when: float) -> bool:
    """Whether a process is at work that had begun by a time.

    A killed process keeps its number until its parent has asked for its end, which in many containers nobody
    does; and a number is given again to a process that began later.
    """
    import psutil

    try:
        running = psutil.Process(process)
        if running.status() == psutil.STATUS_ZOMBIE:
            return False
        return running.create_time() < when + CLOCK
    except psutil.NoSuchProcess:
        return False
    except psutil.AccessDenied:
        return True


def _changed_lately(path: Path) -> bool:
    """Whether a file, or anything in a folder, has changed since `FORGOTTEN`."""
    with contextlib.suppress(FileNotFoundError):
        newest = max(file.lstat().st_mtime for file in (path, *_inside(path)))
        return time.time() - newest < FORGOTTEN
    return True


def _inside(folder: Path) -> Iterator[Path]:
    """All that is in a folder, at any depth."""
    for above, folders, files in os.walk(folder):
        yield from (Path(above, name) for name in (*folders, *files))


def _bytes(path: Path) -> int:
    """The size of a file; 0 for a folder, or if it has vanished."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return 0
    return status.st_size if stat.S_ISREG(status.st_mode) else 0
