"""Time, CPU and memory of the jobs of a run of the workflow, by the command of each (`statements extract`).

Snakemake's own benchmark files look at a job twice a second for 15 seconds and then once in 30 seconds, so
that they miss much of the CPU time of longer jobs, and their peak. Here every process is looked at twenty
times a second, and its peak is the kernel's own.
"""

import re
import threading
import time
from pathlib import Path
from typing import NamedTuple

import psutil

_EVERY = 0.05


class Job(NamedTuple):
    stage: str
    """The command's first two words after `factdrift`."""
    seconds: float
    cpu: float
    megabytes: float
    """Peak resident memory."""


class Stage(NamedTuple):
    """The jobs of one command: their number, the sums of their times, the memory of the largest."""

    jobs: int
    seconds: float
    cpu: float
    megabytes: float


class Watch:
    """Looks at the descendants of a process in a thread of its own until `stages` is asked for."""

    def __init__(self, root: int) -> None:
        self._root = psutil.Process(root)
        self._jobs: dict[tuple[int, float], Job] = {}
        self._ended = threading.Event()
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    def stages(self) -> dict[str, Stage]:
        """All that was seen, in the order in which the stages began."""
        self._ended.set()
        self._thread.join()
        found: dict[str, list[Job]] = {}
        for job in self._jobs.values():
            found.setdefault(job.stage, []).append(job)
        return {
            stage: Stage(
                len(jobs),
                sum(job.seconds for job in jobs),
                sum(job.cpu for job in jobs),
                max(job.megabytes for job in jobs),
            )
            for stage, jobs in found.items()
        }

    def _run(self) -> None:
        while not self._ended.wait(_EVERY):
            try:
                processes = self._root.children(recursive=True)
            except psutil.NoSuchProcess:
                return
            for process in processes:
                self._look(process)

    def _look(self, process: psutil.Process) -> None:
        try:
            with process.oneshot():
                stage = stage_of(process.cmdline())
                if stage is None:
                    return
                times, began = process.cpu_times(), process.create_time()
                peak = _peak(process)
        except (psutil.NoSuchProcess, psutil.ZombieProcess, FileNotFoundError):
            return
        self._jobs[process.pid, began] = Job(stage, time.time() - began, times.user + times.system, peak)


def stage_of(command: list[str]) -> str | None:
    """`python .../factdrift statements extract --dump ...` -> `statements extract`; None for others."""
    for index, word in enumerate(command[:2]):
        if Path(word).name == "factdrift":
            stage = " ".join(command[index + 1 : index + 3])
            return stage if re.fullmatch(r"\w+ [\w-]+", stage) else None
    return None


def _peak(process: psutil.Process) -> float:
    """Megabytes (10**6 bytes)."""
    status = Path(f"/proc/{process.pid}/status")
    if not status.parent.parent.joinpath("self").exists():
        return float(process.memory_info().rss) / 1e6
    for line in status.read_text("utf-8").splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024 / 1e6
    return 0.0
