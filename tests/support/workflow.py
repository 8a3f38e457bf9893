"""Runs of the real workflow, each in a directory of its own, and their output."""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from factdrift import cli
from support import forked

ROOT = Path(__file__).resolve().parents[2]

TERMINAL = "terminal.txt"
STAGES = "stages.txt"
"""What the run of the fixture `built` printed."""

Once = Callable[[str, Callable[[Path], object]], Path]
"""The type of the fixture `once`, for builds that several tests share."""


def command(directory: Path, *arguments: str, cores: int = 2, jobs: bool = True, **config: Any) -> list[str]:
    """The command line of a run, which prints all its `jobs`, or progress by stage as it does for users.

    `config` is passed with `--config`, as JSON.
    """
    directory.mkdir(parents=True, exist_ok=True)
    line = [sys.executable, "-m", "snakemake", "--snakefile", str(ROOT / "Snakefile")]
    line += ["--directory", str(directory), "--cores", str(cores), "--nocolor", *arguments]
    if jobs:
        line.append("--printshellcmds")
    if config:
        line += ["--config", *(f"{key}={json.dumps(value)}" for key, value in config.items())]
    return line


def joined(said: str) -> str:
    """The output of a run with each command on one line."""
    return re.sub(r" \\\n +", " ", said)


def snakemake(
    directory: Path, *arguments: str, cores: int = 2, fails: bool = False, jobs: bool = True, **config: Any
) -> str:
    """The output of a run (see `command`); asserts that it ends as expected."""
    line = command(directory, *arguments, cores=cores, jobs=jobs, **config)
    status, output, errors = forked.run(line[2:], directory, forked.with_forked_jobs())
    said = output + errors
    assert (status != 0) == fails, said[-6000:]
    return said


def run_here(directory: Path, *targets: str, **config: Any) -> None:
    """Does the jobs of a run one after the other in this process, which is several times as fast.

    For small dumps, whose jobs take a tenth of the time in which Python starts. Snakemake only plans them: it
    neither logs and measures them nor knows of them afterwards.
    """
    planned = snakemake(directory, *targets, "--dry-run", **config)
    before = Path.cwd()
    os.chdir(directory)
    try:
        for script in re.findall(r"^Shell command: *\n((?: +.*\n)+)", planned, re.MULTILINE):
            for line in script.replace("\\\n", " ").splitlines():
                words = shlex.split(line)
                if words[:1] == ["factdrift"]:
                    assert cli.main(words[1:]) == 0, line
                elif words and words[0] != "exec":
                    subprocess.run(["bash", "-c", line], check=True)
    finally:
        os.chdir(before)


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
