"""Removes Snakemake's lock on this directory if the run that held it is gone."""

import contextlib
from pathlib import Path

from factdrift.core.errors import InputError


def unlock() -> None:
    """Raises InputError if the run that holds the lock is at work, or may be."""
    locks = Path(".snakemake/locks")
    if not locks.is_dir() or not any(locks.iterdir()):
        return
    for process in runs_in(Path.cwd()):
        raise InputError(_refusal(process))
    print("The run that held the lock on this directory is gone; clearing the lock.")
    # What `snakemake --unlock` does, without reading the workflow.
    for lock in locks.iterdir():
        lock.unlink()


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
