"""Removes Snakemake's lock on this directory if the run that held it is gone."""

import contextlib
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

from factdrift.core.errors import InputError
from factdrift.core.nodes import try_lock


def _locks() -> Sequence[Path]:
    """The files of Snakemake's lock, which stay when a run is killed."""
    return sorted(Path(".snakemake/locks").glob("*"))


def hold() -> None:
    """Locks the files of Snakemake's lock until this process ends; `unlock` sees that on any machine."""
    for path in _locks():
        with contextlib.suppress(OSError):  # a file system without locks
            fcntl.flock(os.open(path, os.O_RDWR), fcntl.LOCK_EX | fcntl.LOCK_NB)


def unlock() -> None:
    """Raises InputError if the run that holds the lock is at work, or may be."""
    locks = _locks()
    if not locks:
        return
    for process in runs_in(Path.cwd()):
        raise InputError(_refusal(process))
    if any(map(_is_held, locks)):
        raise InputError(
            "a Snakemake run is at work in this directory, on another machine, in another container or as "
            "another user; wait for it, or stop it there"
        )
    print("The run that held the lock on this directory is gone; clearing the lock.")
    # What `snakemake --unlock` does, without reading the workflow.
    for path in locks:
        path.unlink()


def _is_held(path: Path) -> bool:
    """Whether a process holds a file (`hold`)."""
    with contextlib.suppress(InputError), path.open("a") as file:  # a file system without locks
        return not try_lock(file, path)
    return False


def _refusal(process: int) -> str:
    """Why the lock of a living run stays, and what to do where that run hangs."""
    import psutil

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
    import psutil

    runs = []
    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        command = process.info["cmdline"] or []
        if any(Path(part).name == "snakemake" for part in command[:3]) and process.info["cwd"] == str(
            directory
        ):
            runs.append(int(process.info["pid"]))
    return sorted(runs)
