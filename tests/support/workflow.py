"""Runs of the real workflow, each in a directory of its own, and their output."""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]

TERMINAL = "terminal.txt"
"""What the run of the fixture `built` printed."""

Once = Callable[[str, Callable[[Path], object]], Path]
"""The type of the fixture `once`, for builds that several tests share."""


def command(directory: Path, *arguments: str, cores: int = 2, jobs: bool = True, **config: Any) -> list[str]:
    """The command line of a run, which prints all its `jobs`, or progress by stage as it does for users.

    `config` is passed with `--config`, as JSON.
    """
    directory.mkdir(parents=True, exist_ok=True)
    line = [
        *(
            sys.executable,
            "-m",
            "snakemake",
            "--snakefile",
            str(ROOT / "Snakefile"),
            "--directory",
            str(directory),
        ),
        *("--cores", str(cores), "--nocolor", *arguments),
    ]
    if jobs:
        line.append("--printshellcmds")
    if config:
        line += ["--config", *(f"{key}={json.dumps(value)}" for key, value in config.items())]
    return line


def snakemake(
    directory: Path, *arguments: str, cores: int = 2, fails: bool = False, jobs: bool = True, **config: Any
) -> str:
    """The output of a run (see `command`); asserts that it ends as expected."""
    done = subprocess.run(
        command(directory, *arguments, cores=cores, jobs=jobs, **config),
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    said = done.stdout + done.stderr
    assert (done.returncode != 0) == fails, said[-6000:]
    return said


def copied(directory: Path, to: Path) -> Path:
    """A copy of a run's directory, in which Snakemake can continue; `to` may exist."""
    shutil.copytree(directory, to, symlinks=True, dirs_exist_ok=True)
    return to


def jobs(said: str) -> dict[str, int]:
    """Rule -> number of jobs, from the table that Snakemake prints first; empty if nothing is to be done."""
    _, _, table = said.partition("Job stats:")
    rows = [line.split() for line in table.partition("total")[0].splitlines()]
    return {row[0]: int(row[1]) for row in rows if len(row) == 2 and row[1].isdigit()}


def rules_of(text: str) -> dict[str, str]:
    """Name -> body of each rule of a file, whether it is at the beginning of its line or inside a block."""
    found = re.finditer(r"^( *)(?:rule|checkpoint) (\w+):\n((?:\1 +.*\n|[ ]*\n)+)", text, re.MULTILINE)
    return {rule[2]: rule[3] for rule in found}
