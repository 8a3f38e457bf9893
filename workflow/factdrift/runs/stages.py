"""Progress of a run: one line per stage, from the logs and benchmark files of its jobs.

A stage is a rule; its jobs run in parallel, here or on other machines that share the disk. Only files are
read: a job that has begun has a new log, with lines of progress, and one that has succeeded a new benchmark
file.
"""

import contextlib
import datetime
import re
import shutil
import sys
import threading
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple, Self

from factdrift.core.exhausted import is_full
from factdrift.core.files import write_text
from factdrift.core.progress import read_line
from factdrift.core.screen import ERASE, is_terminal, styled
from factdrift.core.text import printable

POLL_SECONDS = 2.0
"""Seconds between two readings of the jobs' files."""

PAUSE = 120.0
"""Seconds between two lines of a stage that is running; the first comes after a quarter of them."""

SHORT = 60.0
"""Seconds of a run within which no line is printed of stages that have ended: a run that ends by then has a
line for all of them."""

_COMMAND = re.compile(r"\bfactdrift ([\w-]+(?: \w[\w-]*)?)")
_WARNING = re.compile(r"(?:^|\s)\w*[Ww]arning: |: skipped[,:] ")


class Job(NamedTuple):
    """A job that is going to run: rule, what the rule does in words, shell command, and the files that it
    always writes."""

    rule: str
    words: str
    shell: str
    log: Path
    benchmark: Path

    @property
    def command(self) -> str:
        """The command of factdrift that it runs, such as `statements extract`; empty if it runs none."""
        match = _COMMAND.search(self.shell)
        return match[1] if match else ""


class _Running:
    """A job and its progress."""

    def __init__(self, job: Job) -> None:
        self.job = job
        # Clocks of machines differ; whether a time has changed does not depend on them.
        self._before = (_changed(job.log), _changed(job.benchmark))
        self.begun = self.ended = 0.0
        self.share = 0.0
        self.warnings: list[str] = []

    def read(self) -> None:
        """Reads the job's files, if it has begun in this run and not ended."""
        log, benchmark = _changed(self.job.log), _changed(self.job.benchmark)
        if self.ended or log in (0.0, self._before[0]):
            return
        with contextlib.suppress(OSError):  # a job that starts again removes its files, maybe on another node
            lines = self.job.log.read_text("utf-8", "replace").splitlines()
            self.warnings = [line for line in lines if _WARNING.search(line)]
            # The newest line of each piece of work that has a known total.
            newest = {line.what: line.share for line in map(read_line, lines) if line}
            # Of what is inside of work that has begun to be done, that work has the share.
            outer = [what for what in newest if not any(what.startswith(f"{other}: ") for other in newest)]
            shares = [share for what in outer if (share := newest[what]) is not None]
            self.share = sum(shares) / max(len(shares), 1)
            self.begun = self.begun or time.time()
            if benchmark not in (0.0, self._before[1]):
                row = self.job.benchmark.read_text("utf-8").splitlines()[1:]
                if row:  # else it is being written
                    self.begun, self.ended = benchmark - float(row[0].split("\t")[0]), benchmark
                    self.share = 1.0


def _changed(path: Path) -> float:
    """When a file was last changed; 0 if it does not exist."""
    try:
        return path.stat().st_mtime
    except OSError:
        return 0.0


def _line(rule: str, jobs: Sequence[_Running], begun: float) -> str:
    """The line of a stage: its jobs, the time that it took or has left, and what it does."""
    ended = [job.ended for job in jobs if job.ended]
    text = f"{rule}: {len(ended):,} of {len(jobs):,} jobs"
    if len(ended) == len(jobs):
        text += f"; took {_clock(max(ended) - begun)}"
    else:
        share = sum(job.share for job in jobs) / len(jobs)
        text += f", {sum(bool(job.begun) for job in jobs) - len(ended):,} at work ({share:.0%})"
        if share:
            text += f"; {_clock((time.time() - begun) * (1 - share) / share)} left"
    return f"{text} - {jobs[0].job.words}"


def _clock(seconds: float) -> str:
    return str(datetime.timedelta(seconds=round(seconds)))


class Follower:
    """The jobs of a run. A thread prints progress lines and the jobs' warnings to standard error, and keeps
    the newest line of each stage in a file. A run that ends within SHORT has a single line.

    On a terminal, the last line counts the jobs and names the stages at work; it changes in its place.
    """

    def __init__(self, jobs: Sequence[Job], file: Path) -> None:
        self._jobs: dict[str, list[_Running]] = {}
        for job in jobs:
            self._jobs.setdefault(job.rule, []).append(_Running(job))
        self._file = file
        self._due: dict[str, float] = {}
        self._printed: dict[str, int] = {}
        """Rule -> the number of jobs in its line that counts as the last."""
        self._warned: set[tuple[str, str]] = set()
        self._begun = time.monotonic()
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._run, name="progress", daemon=True)

    def start(self) -> Self:
        self._thread.start()
        return self

    def end(self) -> None:
        """Stops the thread and prints the lines that are not printed yet.

        Also stops the timers by which Snakemake's scheduler would look for more jobs: Python would wait for
        the last one for up to a second.
        """
        self._stop.set()
        self._thread.join()
        self._report(last=True)
        for thread in threading.enumerate():
            if isinstance(thread, threading.Timer) and thread.function.__module__.startswith("snakemake."):
                thread.cancel()

    def lines(self) -> dict[str, str]:
        """Rule -> line of progress as the files are now, for stages that have begun, the earliest first."""
        for job in self._every():
            job.read()
        begun = {rule: [job.begun for job in jobs if job.begun] for rule, jobs in self._jobs.items()}
        ordered = sorted((min(times), rule) for rule, times in begun.items() if times)
        return {rule: _line(rule, self._jobs[rule], first) for first, rule in ordered}

    def _every(self) -> list[_Running]:
        return [job for jobs in self._jobs.values() for job in jobs]

    def _run(self) -> None:
        while not self._stop.wait(POLL_SECONDS):
            self._report()

    def _report(self, last: bool = False) -> None:
        lines, jobs = self.lines(), self._every()
        now = time.monotonic()
        for warning in dict.fromkeys((job.job.rule, text) for job in jobs for text in job.warnings):
            if warning not in self._warned:
                self._warned.add(warning)
                rule, text = warning
                _print(f"{styled(rule, 'yellow', sys.stderr)}: {printable(text)}")
        complete = len(lines) > 1 and all(job.ended for job in jobs)
        if last and complete and now - self._begun < SHORT:
            took = _clock(max(job.ended for job in jobs) - min(job.begun for job in jobs))
            _print(f"progress: {len(jobs):,} jobs in {len(lines):,} stages took {took} ({self._file})")
        else:
            for rule, line in lines.items():
                if self._is_due(rule, now, last):
                    name, _, rest = line.partition(": ")
                    _print(f"progress: {styled(name, 'bold', sys.stderr)}: {rest}")
        if is_terminal(sys.stderr):
            ended = sum(bool(job.ended) for job in jobs)
            at_work = dict.fromkeys(job.job.rule for job in jobs if job.begun and not job.ended)
            text = f"{_clock(now - self._begun)}  {ended:,} of {len(jobs):,} jobs; {', '.join(at_work)}"
            width = shutil.get_terminal_size().columns - 1
            status = "" if last else styled(text[:width], "dim", sys.stderr)
            sys.stderr.write(f"{ERASE}{status}")
            sys.stderr.flush()
        try:
            write_text("".join(f"{line}\n" for line in lines.values()), self._file)
        except OSError as error:
            if not is_full(error):  # the jobs report a full disk
                raise

    def _is_due(self, rule: str, now: float, last: bool) -> bool:
        """Whether the stage's line is to be printed: it has ended since the last one, or runs for long.

        Lines of stages that end within SHORT come after it.
        """
        ended = sum(bool(job.ended) for job in self._jobs[rule])
        if ended == len(self._jobs[rule]) and not last and now - self._begun < SHORT:
            return False
        if last or ended == len(self._jobs[rule]):
            before, self._printed[rule] = self._printed.get(rule, 0), ended
            return ended > before
        if now < self._due.setdefault(rule, now + PAUSE / 4):
            return False
        self._due[rule] = now + PAUSE
        return True


def _print(line: str) -> None:
    before = ERASE if is_terminal(sys.stderr) else ""
    print(f"{before}{line}", file=sys.stderr, flush=True)


def words_of(rule: Any) -> str:
    """What a rule of Snakemake does, in words: its message, or else the first line of its docstring."""
    text: str = rule.message or rule.docstring or rule.name
    return text.strip().partition("\n")[0].rstrip(".")
