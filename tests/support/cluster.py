"""Runs of the workflow through a scheduler: what stops jobs in the middle, and what the tests compare."""

import os
import signal
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from support.waiting import wait_until
from support.workflow import ROOT, command

OLD, NEW = "2021-01-04", "2023-02-27"
SUBMITTED: dict[str, Any] = {
    "cluster": {"local_gb": 0},
    "shards": 1,
    "buckets": 1,
    "neighbors": {"blocks": 1},
}
"""All jobs are sent, and there are as few as can be: neither changes a byte of the results."""

QUICK = ("--seconds-between-status-checks", "1", "--max-jobs-per-timespan", "100/1s", "--latency-wait", "60")
"""What profiles set so as to be kind to a scheduler that others use too."""

FORGOTTEN = 20.0
"""Seconds after which a job that is still there is cancelled by hand: on Ctrl-C Snakemake cancels its jobs,
but not those whose state it is asking for at that moment."""

# Python imports `sitecustomize` when it starts. This one stops a job when it is about to name its output: the
# first attempt waits there to be killed, or takes 2 GB and waits; the next one passes, or waits if a second
# place names the same file.
_HOOK = """
import os, sys, time

def hook(event, arguments):
    if event != "os.rename":
        return
    for at, what in (pair.split("=") for pair in os.environ["STOP_AT"].split(",")):
        if str(arguments[1]).endswith(at):
            marker = os.path.join(os.path.dirname(__file__), what)
            try:
                os.close(os.open(marker, os.O_CREAT | os.O_EXCL))
            except FileExistsError:
                continue
            taken = b"x" * 2_000_000_000 if what.startswith("memory") else b""
            while True:
                time.sleep(1)

if os.environ.get("STOP_AT"):
    sys.addaudithook(hook)
"""


def stopping(folder: Path, env: Mapping[str, str] = os.environ, **places: str) -> dict[str, str]:
    """Environment variables that stop the jobs about to write these files.

    A job that has stopped has made the file `folder`/KEY; a key that begins with `memory` also takes 2 GB.
    """
    folder.mkdir()
    (folder / "sitecustomize.py").write_text(_HOOK, encoding="utf-8")
    paths = [str(folder), *filter(None, [env.get("PYTHONPATH")])]
    at = ",".join(f"{path}={what}" for what, path in places.items())
    return {**env, "PYTHONPATH": os.pathsep.join(paths), "STOP_AT": at}


class Run:
    """A run of Snakemake in the background, in a process group of its own."""

    def __init__(
        self, directory: Path, profile: str, *arguments: str, env: dict[str, str] | None = None, **config: Any
    ) -> None:
        directory.mkdir(parents=True, exist_ok=True)
        line = command(directory, "--profile", str(ROOT / "profiles" / profile), *QUICK, *arguments)
        place = line.index("--cores")
        del line[place : place + 2]
        settings = [f"{key}={value!r}" for key, value in (SUBMITTED | config).items()]
        self.process = subprocess.Popen(
            [*line, "--config", *settings],
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            cwd=directory,
            env=env or dict(os.environ),
            start_new_session=True,
            # A shell lets what it starts in the background ignore Ctrl-C, and so all that begins there.
            preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL),
        )
        self.said = ""

    def ends(self, fails: bool = False) -> str:
        """What it has printed; asserts that it ends as expected."""
        self.said += self.process.communicate(timeout=900)[0]
        assert (self.process.returncode != 0) == fails, self.said[-6000:]
        return self.said

    def interrupt(self) -> str:
        """What Ctrl-C in a terminal does."""
        os.killpg(self.process.pid, signal.SIGINT)
        return self.ends(fails=True)

    def waits_for(self, path: Path) -> None:
        wait_until(lambda: path.exists() or self.process.poll() is not None)
        assert path.exists(), self.process.communicate()[0][-6000:]


def same_files(directory: Path, expected: Path) -> int:
    """How many results of a run there are; asserts that those of another one are the same to the byte."""
    found = 0
    for path in sorted((expected / "results").rglob("*")):
        name = path.relative_to(expected)
        # Of the manifest, versions and settings; of the shards, those that are split otherwise.
        if path.is_file() and path.suffix in (".parquet", ".gz") and "-of-" not in path.name:
            other = directory / name
            if other.exists():
                assert other.read_bytes() == path.read_bytes(), name
                found += 1
    return found


def submitted_by(said: str) -> int:
    """How many jobs a run has submitted."""
    return said.count("has been submitted with SLURM jobid") + said.count("with external jobid")
