"""One run of Snakemake inside a refresh: its start, and its end with the refresh."""

import contextlib
import signal
import subprocess
from collections.abc import Sequence
from typing import IO

import psutil

GRACE = 60.0
"""Seconds that Snakemake has to end its jobs and itself when the refresh is asked to end."""

_ENDING = (signal.SIGTERM, signal.SIGHUP, signal.SIGINT)


def run(line: Sequence[str], lock: IO[str]) -> int:
    """Runs a command and returns its exit status; 128 + N if it, or this process, was ended by signal N.

    The command holds the open file `lock` too, and with it the lock on it, even if this process is killed.
    A signal that asks this process to end ends the command and its child processes first.
    """
    received: list[int] = []
    # Handlers are set before the command starts, so that it begins with the default ones, also where this
    # process was started to ignore Ctrl-C, as shells do in the background.
    before = {ending: signal.signal(ending, lambda number, _: received.append(number)) for ending in _ENDING}
    try:
        process = subprocess.Popen(line, pass_fds=[lock.fileno()])
        while not received:
            with contextlib.suppress(subprocess.TimeoutExpired):
                process.wait(0.2)
                break
        if received:
            _end(process, interrupt=received[0] != signal.SIGINT)
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if received:
        return 128 + received[0]
    return process.returncode if process.returncode >= 0 else 128 - process.returncode


def _end(process: subprocess.Popen[bytes], interrupt: bool) -> None:
    """Ends Snakemake as Ctrl-C does, which also cancels jobs on a cluster, and the jobs on this machine, for
    which it would wait.

    `interrupt`: neither Snakemake nor its jobs have received a signal yet; at Ctrl-C in a terminal they have.
    Whatever is left after GRACE is killed.
    """
    # Not what it starts from now on, such as the command that cancels a job: at Ctrl-C it may already run.
    jobs = _children(process.pid) if interrupt else []
    if interrupt:
        process.send_signal(signal.SIGINT)
    for job in jobs:
        with contextlib.suppress(psutil.Error):
            job.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        process.wait(GRACE)
    if process.poll() is None:
        for child in _children(process.pid):
            with contextlib.suppress(psutil.Error):
                child.kill()
        process.kill()
    process.wait()


def _children(process: int) -> list[psutil.Process]:
    with contextlib.suppress(psutil.Error):
        return psutil.Process(process).children(recursive=True)
    return []
