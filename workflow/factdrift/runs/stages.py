"""Progress of a run: one line per stage, from the logs and benchmark files of its jobs.

A stage is a rule; its jobs run in parallel, here or on other machines that share the disk. Only files are
read: a job that has begun has a new log, with lines of progress, and one that has succeeded a new benchmark
file.
"""

from __future__ import annotations

import contextlib
import datetime
import sys
import threading
import time
from collections import Counter
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from factdrift.disk import is_full
from factdrift.progress import figure, read_line
from factdrift.tables import atomic_path

LOOK = 2.0
"""Seconds between two looks."""

SAY = 30.0
"""Seconds between two lines of a running stage while none of its jobs ends."""

PAUSE = 5.0
"""Least seconds between two lines of one stage."""


class Job(NamedTuple):
    """A job that is going to run: rule, command (`statements extract`), and the files that it always
    writes."""

    rule: str
    command: str
    log: Path
    benchmark: Path


class _Running:
    """A job and its progress."""

    def __init__(self, job: Job) -> None:
        self.job = job
        # Clocks of machines differ; whether a time has changed does not depend on them.
        self._before = (_changed(job.log), _changed(job.benchmark))
        self.begun = self.ended = 0.0
        self.share = 0.0
        self.amounts: Counter[str] = Counter()

    def look(self) -> None:
        if not self.ended:
            # A job that starts again removes its files.
            with contextlib.suppress(FileNotFoundError):
                self._look()

    def _look(self) -> None:
        log, benchmark = _changed(self.job.log), _changed(self.job.benchmark)
        if log in (0.0, self._before[0]):
            return
        self._read()
        self.begun = self.begun or time.time()
        if benchmark not in (0.0, self._before[1]):
            row = self.job.benchmark.read_text("utf-8").splitlines()[1:]
            if row:  # else it is being written
                self.begun, self.ended, self.share = benchmark - float(row[0].split("\t")[0]), benchmark, 1.0

    def _read(self) -> None:
        """Sums the amounts in the newest progress line of each piece of work in the log."""
        lines = self.job.log.read_text("utf-8", "replace").splitlines()
        said = {line.what: line for line in map(read_line, lines) if line}
        # Lines with a known total (what is read) count if there are any, else all (what is written).
        counted = [line for line in said.values() if line.share is not None] or list(said.values())
        self.amounts = Counter()
        for line in counted:
            self.amounts.update(line.amounts)
        self.share = sum(line.share or 0.0 for line in counted) / max(len(counted), 1)


def _changed(path: Path) -> float:
    """When a file was last changed; 0 if it does not exist."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


class Stages:
    """The stages of a run."""

    def __init__(self, jobs: Sequence[Job]) -> None:
        self._jobs: dict[str, list[_Running]] = {}
        for job in jobs:
            self._jobs.setdefault(job.rule, []).append(_Running(job))

    def look(self) -> None:
        """Reads logs and benchmark files that have changed."""
        for jobs in self._jobs.values():
            for job in jobs:
                job.look()

    def lines(self) -> dict[str, str]:
        """Rule -> line of progress, for each stage that has begun, in the order of their beginning."""
        begun = {
            rule: min(job.begun for job in jobs if job.begun)
            for rule, jobs in self._jobs.items()
            if any(job.begun for job in jobs)
        }
        return {
            rule: _line(rule, self._jobs[rule], begun[rule]) for rule in sorted(begun, key=begun.__getitem__)
        }

    def ended(self, rule: str) -> int:
        """How many jobs of a stage have succeeded."""
        return sum(bool(job.ended) for job in self._jobs[rule])

    def jobs(self, rule: str) -> int:
        return len(self._jobs[rule])


def _line(rule: str, jobs: Sequence[_Running], begun: float) -> str:
    ended = [job for job in jobs if job.ended]
    whole = len(ended) == len(jobs)
    seconds = max((max(job.ended for job in ended) if whole else time.time()) - begun, 0.01)
    share = sum(job.share for job in jobs) / len(jobs)
    amounts: Counter[str] = Counter()
    for job in jobs:
        amounts.update(job.amounts)
    parts = [f"{len(ended):,} of {len(jobs):,} jobs"]
    if not whole:
        parts[0] += f", {sum(bool(job.begun) for job in jobs) - len(ended):,} at work ({share:.0%})"
    if amounts:
        parts.append(", ".join(f"{figure(amount)} {unit}" for unit, amount in amounts.items()))
        parts.append(", ".join(f"{amount / seconds:,.1f} {unit}/s" for unit, amount in amounts.items()))
    if whole:
        parts.append(f"took {_clock(seconds)}")
    elif share:
        parts.append(f"{_clock(seconds * (1 - share) / share)} left")
    return f"{rule}: {'; '.join(parts)}"


def _clock(seconds: float) -> str:
    return str(datetime.timedelta(seconds=round(seconds)))


class Follower:
    """A thread that prints progress lines to standard error and keeps the newest of each stage in a file."""

    def __init__(self, jobs: Sequence[Job], file: Path) -> None:
        self._stages, self._file = Stages(jobs), file
        self._said: dict[str, tuple[float, int]] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Stops the thread and prints the lines that are not printed yet."""
        self._stop.set()
        self._thread.join()
        self._look(last=True)

    def _run(self) -> None:
        while not self._stop.wait(LOOK):
            self._look()

    def _look(self, last: bool = False) -> None:
        self._stages.look()
        lines = self._stages.lines()
        now = time.monotonic()
        for rule, line in lines.items():
            ended = self._stages.ended(rule)
            when, before = self._said.setdefault(rule, (now, 0))
            whole = ended == self._stages.jobs(rule)
            due = now - when >= (PAUSE if ended > before else SAY)
            if ((whole or last) and before < ended) or (due and not whole):
                self._said[rule] = now, ended
                print(f"progress: {line}", file=sys.stderr, flush=True)
        try:
            with atomic_path(self._file) as temporary:
                temporary.write_text("".join(f"{line}\n" for line in lines.values()), "utf-8")
        except OSError as error:
            if not is_full(error):  # the jobs report a full disk
                raise
