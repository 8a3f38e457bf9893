"""What killed runs leave (Snakemake's lock, unfinished files), and what `factdrift clean` removes.

What was made says Snakemake's own record of this directory, and the lists of folders (`core/owned.py`). So a
stranger's file stays wherever it lies, also where `results` is a link to another disk.
"""

import base64
import contextlib
import json
import os
import stat
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path

import psutil

from factdrift.core.errors import InputError
from factdrift.core.owned import (
    LIST,
    listed_files,
    node,
    remove_unfinished,
    try_lock,
    writer_of_name,
    writer_of_scratch,
)

PROGRESS = Path("logs/progress.txt")
"""Where a run says how far it is."""

FORGOTTEN = 24 * 3600.0
"""Seconds without a change after which no job of another node can still be writing a file: longer than clocks
of two nodes differ, and than any command is silent."""

CLOCK = 2.0
"""Seconds by which the beginning of a process, computed from the machine's start, may be wrong."""

STAYS = ("results/releases", "results/fetched", "results/recent")
"""Folders of what cannot be had again, or from servers only: released copies, answers, page views; plans of
`factdrift recent`, which people edit."""
BEGUN = ".refresh.json"
"""The file in the folders that `factdrift refresh` has begun, which its next release needs."""
_RECORDS = Path(".snakemake/metadata")
_STAMP = ".snakemake_timestamp"

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
        raise InputError(
            f"a Snakemake run is at work in this directory (process {runs[0]}); wait for it or stop it, with "
            f"`kill -KILL {runs[0]}` where it hangs, and run the same command again"
        )
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


# --- clean ----------------------------------------------------------------------------------------------


def clean() -> Iterator[str]:
    """Removes what was made under `results` and `logs`; yields what was removed, and what stays and why.

    Raises InputError if a run is at work in the directory.
    """
    unlock()
    removed, dumps, others = _remove(PROGRESS), set(), []
    for output, logs, ended in _records():
        for log in map(Path, logs):
            removed += _remove(log) + _remove(log.with_suffix(".tsv"))
        if output.name.startswith("wikidata.json"):
            dumps.add(output)
        elif output.is_file() and abs(output.stat().st_mtime - ended) > 0.01:  # both are its time of change
            others.append(output)
        elif not _stays(output):
            removed += sum(map(_remove, _of_folder(output) if output.is_dir() else [output]))
    for path in sorted(Path("results").rglob(LIST)):
        if not _stays(path):
            removed += sum(map(_remove, [*listed_files(path.parent), path]))
    yield f"{removed:,} files removed"
    if others:
        yield f"{len(others):,} files stay that were changed since they were made here, such as {others[0]}"
    begun = {path.parent for path in Path("results").glob(f"**/{BEGUN}")}
    for path in sorted(path for path in {*dumps, *begun, *map(Path, STAYS)} if path.exists()):
        yield f"{path} stays; remove it by hand if it is needed no more (results/README.md)"


def _records() -> Iterator[tuple[Path, list[str], float]]:
    """Each output that Snakemake has recorded, with the logs of its job and the time of its last change."""
    for file in sorted(path for path in _RECORDS.rglob("*") if path.is_file()):
        name = "".join(part.removeprefix("@") for part in file.relative_to(_RECORDS).parts)
        with contextlib.suppress(ValueError):  # of a file that is no record
            output = Path(base64.urlsafe_b64decode(name).decode())
            record = json.loads(file.read_text("utf-8"))
            yield output, record.get("log") or [], record.get("endtime") or 0.0


def _of_folder(folder: Path) -> Iterator[Path]:
    """The files of a folder that were there when its job ended; all of them are the job's."""
    with contextlib.suppress(FileNotFoundError):
        ended = (folder / _STAMP).stat().st_ctime
        yield from (
            path for path in folder.rglob("*") if not path.is_dir() and path.lstat().st_ctime <= ended
        )


def _stays(path: Path) -> bool:
    above = [path, *path.parents]
    return any(str(folder) in STAYS or (folder / BEGUN).is_file() for folder in above)


def _remove(path: Path) -> int:
    """Removes a file or link below `results` or `logs`, and the folders above it that this leaves empty.

    Returns the number of files removed.
    """
    if path.parts[:1] not in (("results",), ("logs",)) or not (path.is_file() or path.is_symlink()):
        return 0
    path.unlink()
    with contextlib.suppress(OSError):  # the first one that has anything else
        for folder in path.parents[:-1]:
            folder.rmdir()
    return 1
