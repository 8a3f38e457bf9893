"""A stand-in for LSF's `bsub`, `bjobs` and `bkill`: jobs are processes here, with a limit of memory.

`install(folder)` puts the three into a folder for PATH. What they know is in `folder`/jobs: NUMBER.json is
what was asked, NUMBER.state the state. With `nodes`, jobs run on two nodes in turns (support/nodes.py).
"""

import argparse
import contextlib
import json
import os
import shlex
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import psutil

ROOT = Path(__file__).resolve().parents[1]
LOOK = 0.2
"""Seconds between two looks at a job's memory."""

# Snakemake gives a cancellation two seconds, in which two Pythons may not start on a busy machine.
_BKILL = """#!/bin/sh
for number; do
    read -r state process < {jobs}/"$number".state
    [ "$state" != RUN ] || kill -s KILL -- "-$process"
done
"""


def install(folder: Path, nodes: bool = False) -> dict[str, str]:
    """Environment variables with which the three commands are found."""
    (folder / "jobs").mkdir(parents=True)
    (folder / "bin").mkdir()
    for name in ("bsub", "bjobs"):
        call = [sys.executable, __file__, str(folder), str(int(nodes)), name]
        (folder / "bin" / name).write_text(f'#!/bin/sh\nexec {shlex.join(call)} "$@"\n')
    (folder / "bin/bkill").write_text(_BKILL.format(jobs=shlex.quote(str(folder / "jobs"))))
    for program in (folder / "bin").iterdir():
        program.chmod(0o755)
    path = f"{folder / 'bin'}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, "PATH": path, "FACTDRIFT_SCHEDULER": "lsf"}


def asked(folder: Path) -> list[dict[str, Any]]:
    """What was asked for each job, in the order of their numbers, with its `state`."""
    files = sorted((folder / "jobs").glob("*.json"), key=lambda path: int(path.stem))
    return [json.loads(path.read_text()) | {"state": _state(path)} for path in files]


def _state(path: Path) -> str:
    return path.with_suffix(".state").read_text()


def _say(path: Path, state: str) -> None:
    part = path.with_suffix(".part")
    part.write_text(state)
    part.rename(path.with_suffix(".state"))


def _bsub(folder: Path, nodes: bool, arguments: list[str]) -> None:
    parser = argparse.ArgumentParser()
    for option in ("-J", "-n", "-M", "-R", "-W", "-gpu", "-cwd", "-o"):
        parser.add_argument(option)
    parser.add_argument("script")
    job = vars(parser.parse_args(arguments))
    job["text"] = Path(job["script"]).read_text(encoding="utf-8")
    number = len(list((folder / "jobs").glob("*.json"))) + 1
    path = folder / "jobs" / f"{number}.json"
    with path.open("x") as file:
        json.dump(job, file)
    _say(path, "PEND")
    call = [sys.executable, __file__, str(folder), str(int(nodes)), "run", str(number)]
    subprocess.Popen(
        call,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )
    print(f"Job <{number}> is submitted to default queue <normal>.")


def _run(folder: Path, nodes: bool, arguments: list[str]) -> None:
    path = folder / "jobs" / f"{arguments[0]}.json"
    job = json.loads(path.read_text())
    line = ["bash", job["script"]]
    if nodes:
        from support.nodes import Node

        line = Node(("one", "two")[int(arguments[0]) % 2], folder).line(line)
    limit = int(job["M"].removesuffix("MB")) * 1e6
    with Path(job["o"]).open("ab") as log:
        process = subprocess.Popen(
            line, cwd=job["cwd"], stdout=log, stderr=subprocess.STDOUT, start_new_session=True
        )
        _say(path, f"RUN {process.pid}")
        while process.poll() is None:
            if _memory(process.pid) > limit:
                log.write(b"TERM_MEMLIMIT: job killed after reaching LSF memory usage limit.\n")
                os.killpg(process.pid, signal.SIGKILL)
            time.sleep(LOOK)
    _say(path, "DONE" if process.returncode == 0 else "EXIT")


def _memory(process: int) -> float:
    total = 0.0
    with contextlib.suppress(psutil.NoSuchProcess):
        first = psutil.Process(process)
        for each in (first, *first.children(recursive=True)):
            with contextlib.suppress(psutil.NoSuchProcess):
                total += each.memory_info().rss
    return total


def _bjobs(folder: Path, nodes: bool, arguments: list[str]) -> None:
    path = folder / "jobs" / f"{arguments[-1]}.json"
    if not path.exists():
        sys.exit(f"Job <{arguments[-1]}> is not found")
    print(_state(path).split()[0])


if __name__ == "__main__":
    sys.path.insert(0, str(ROOT))
    verbs = {"bsub": _bsub, "bjobs": _bjobs, "run": _run}
    verbs[sys.argv[3]](Path(sys.argv[1]), sys.argv[2] == "1", sys.argv[4:])
