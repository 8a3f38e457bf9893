"""Waiting for another process or thread, on a machine that may be busy."""

import subprocess
import time
from collections.abc import Callable
from typing import Any

LONGEST = 600.0
"""Seconds before a test gives up; what it waits for takes a few seconds on a quiet machine."""


def comes_true(reached: Callable[[], object], seconds: float) -> bool:
    """Whether `reached()` is true before so many seconds have passed."""
    end = time.monotonic() + seconds
    while not reached() and time.monotonic() < end:
        time.sleep(0.1)
    return bool(reached())


def wait_until(reached: Callable[[], object], process: subprocess.Popen[Any] | None = None) -> None:
    """Returns as soon as `reached()` is true; fails if `process` ends before that."""
    end = time.monotonic() + LONGEST
    while not reached():
        assert process is None or process.poll() is None or reached(), "the process ended before"
        assert time.monotonic() < end, f"nothing happened in {LONGEST:.0f} s"
        time.sleep(0.01)
