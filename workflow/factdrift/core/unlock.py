"""Removes Snakemake's lock on this directory if the run that held it is gone."""

import contextlib
from collections.abc import Sequence
from pathlib import Path

from factdrift.core.errors import InputError
from factdrift.core.nodes import try_lock

_HELD = contextlib.ExitStack()
"""The files that this process holds, open until it ends."""


def _locks() -> Sequence[Path]:
    """The files of Snakemake's lock, which stay when a run is killed."""
    return sorted(Path(".snakemake/locks").glob("*"))


def hold() -> None:
    """Locks the files of Snakemake's lock until this process ends; `unlock` sees that on any machine."""
    for path in _locks():
        # Where the file system has no locks, or the file is that of another user's run beside this one.
        with contextlib.suppress(InputError, PermissionError):
            try_lock(_HELD.enter_context(path.open("a")), path)


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
