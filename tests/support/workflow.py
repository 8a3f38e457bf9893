"""Runs of the real workflow, each in a directory of its own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[2]


def command(directory: Path, *arguments: str, cores: int = 2, **config: Any) -> list[str]:
    """The command line of a run; `config` goes to `--config`, as JSON, which is YAML."""
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
    if config:
        line += ["--config", *(f"{key}={json.dumps(value)}" for key, value in config.items())]
    return line


def snakemake(directory: Path, *arguments: str, cores: int = 2, fails: bool = False, **config: Any) -> str:
    """What a run says; asserts that it ends as expected."""
    done = subprocess.run(
        command(directory, *arguments, cores=cores, **config),
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        env={**os.environ, "PYTHONWARNINGS": "ignore"},
    )
    said = done.stdout + done.stderr
    assert (done.returncode != 0) == fails, said[-6000:]
    return said
