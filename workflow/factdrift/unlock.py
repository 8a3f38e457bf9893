"""`factdrift unlock`: removes Snakemake's lock on this directory if the run that held it is gone."""

from __future__ import annotations

import argparse
from pathlib import Path

from factdrift.settings import InputError


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    help_ = "clear the lock that a killed run has left on this directory"
    commands.add_parser("unlock", help=help_, description=help_).set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    locks = Path(".snakemake/locks")
    if not locks.is_dir() or not any(locks.iterdir()):
        return
    running = runs_in(Path.cwd())
    if running:
        raise InputError(
            f"a Snakemake run is at work in this directory (process {running[0]}); wait for it or stop it"
        )
    print("The run that held the lock on this directory is gone; clearing the lock.")
    # What `snakemake --unlock` does, without reading the workflow.
    for lock in locks.iterdir():
        lock.unlink()


def runs_in(directory: Path) -> list[int]:
    """Ids of the Snakemake processes, of this user or visible to him, whose working directory is this one."""
    import psutil

    found = []
    for process in psutil.process_iter(["pid", "cmdline", "cwd"]):
        command = process.info["cmdline"] or []
        if any(Path(part).name == "snakemake" for part in command[:3]) and process.info["cwd"] == str(
            directory
        ):
            found.append(int(process.info["pid"]))
    return sorted(found)
