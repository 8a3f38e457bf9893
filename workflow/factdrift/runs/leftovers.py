"""What killed runs leave: Snakemake's lock on the directory, and unfinished files."""

import contextlib
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from factdrift.core.errors import InputError
from factdrift.core.owned import node, remove_unfinished, try_lock, writer_of_name, writer_of_scratch

PROGRESS = Path("logs/progress.txt")
"""Where a run says how far it is."""

FORGOTTEN = 24 * 3600.0
"""Seconds without a change after which no job of another node can still be writing a file: longer than clocks
of two nodes differ, and than any command is silent."""

CLOCK = 2.0
"""Seconds by which the beginning of a process, computed from the machine's start, may be wrong."""

_LOCKED = contextlib.ExitStack()
"""The files that this process holds, open until it ends."""


def _locks() -> list[Path]:
    """The files of Snakemake's lock, which stay when a run is killed."""
    return sorted(Path(".snakemake/locks").glob("*"))


def hold() -> None:
    """Locks the files of Snakemake's lock until this process ends; `unlock` sees that on any machine."""
    for path in _locks():
        # Where the file system has no locks, or the file is that of another user's run beside this one.
        with contextlib.suppress(InputError, PermissionError):
            try_lock(_LOCKED.enter_context(path.open("a")), path)


def unlock() -> None:
    """Clears Snakemake's lock on this directory; InputError if its run is at work, or may be."""
    locks = _locks()
    if not locks:
        return
    if runs := runs_in(Path.cwd()):
        raise InputError(_refusal(runs[0]))
    if any(map(_is_locked, locks)):
        raise InputError(
            "a Snakemake run is at work in this directory, on another machine, in another container or as "
            "another user; wait for it, or stop it there"
        )
    print("The run that held the lock on this directory is gone; clearing the lock.")
    # What `snakemake --unlock` does, without reading the workflow.
    for path in locks:
        path.unlink()


def _is_locked(path: Path) -> bool:
    """Whether a process holds a file (`hold`), or may."""
    try:
        with path.open("a") as file:
            return not try_lock(file, path)
    except PermissionError:
        return True  # of another user
    except InputError:
        return False  # a file system without locks


def _refusal(process: int) -> str:
    """Why the lock of a living run stays, and what to do where that run hangs."""
    jobs = 0
    with contextlib.suppress(psutil.NoSuchProcess):
        children = psutil.Process(process).children()
        jobs = sum(child.status() != psutil.STATUS_ZOMBIE for child in children)
    if jobs:
        return (
            f"a Snakemake run is at work in this directory (process {process}, with {jobs} child processes); "
            "wait for it or stop it"
        )
    return (
        f"a Snakemake run holds this directory (process {process}), but none of its jobs is at work on this "
        "machine. If they run on a cluster, wait. If the run was asked to end (SIGTERM) and does not, it "
        "hangs, as Snakemake may when a job ends at that moment: end it with "
        f"`kill -KILL {process}` and run the same command again, which goes on from there"
    )


def runs_in(directory: Path) -> list[int]:
    """Ids of the Snakemake processes with this working directory, as far as this user may see them."""
    return sorted(
        process.pid
        for process in psutil.process_iter(["cmdline", "cwd"])
        if process.info["cwd"] == str(directory)
        and any(Path(part).name == "snakemake" for part in (process.info["cmdline"] or [])[:3])
    )


def sweep(results: Path) -> tuple[int, float]:
    """Removes the unfinished files of processes that are gone; returns their number and bytes.

    These are what `owned.unfinished` names under `results`, and the temporary folders of this user in which
    `owned.scratch` has written its process. Nothing else is removed, whatever its name, and no link is
    followed. Whether a process of another node is gone cannot be asked here: its files are removed when they
    have not changed for `FORGOTTEN`. What another process removes meanwhile is left to it, and what this user
    may not remove, as in folders of another one, stays.
    """
    number, freed = 0, 0.0
    for path, where, process, began in [*_unfinished(results)]:
        if _writes(process, began) if where == node() else _changed_lately(path):
            continue
        if not os.path.lexists(path):  # another process has removed it, or it was in a folder that is gone
            continue
        size = sum(_bytes(file) for file in (path, *_inside(path)))
        with contextlib.suppress(FileNotFoundError, PermissionError):
            remove_unfinished(path)
            number, freed = number + 1, freed + size
    return number, freed


def _unfinished(results: Path) -> Iterator[tuple[Path, str, int, float]]:
    """Unfinished files and folders, and temporary folders: path, machine, process, and a time at which the
    process was at work."""
    for path in _inside(results):
        written = writer_of_name(path.name)
        if written and not path.is_symlink():
            with contextlib.suppress(FileNotFoundError):
                yield path, *written, path.stat().st_mtime
    for path in Path(tempfile.gettempdir()).glob("factdrift-*"):
        if made := writer_of_scratch(path):
            yield path, *made


def _writes(process: int, when: float) -> bool:
    """Whether a process is at work that had begun by a time.

    A killed process keeps its number until its parent has asked for its end, which in many containers nobody
    does; and a number is given again to a process that began later.
    """
    try:
        running = psutil.Process(process)
        return running.status() != psutil.STATUS_ZOMBIE and running.create_time() < when + CLOCK
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
    with contextlib.suppress(FileNotFoundError):
        status = path.lstat()
        return status.st_size if stat.S_ISREG(status.st_mode) else 0
    return 0
