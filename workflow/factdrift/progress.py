"""Progress of long work on standard error: a line every few seconds, readable in terminal and log."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable, Iterator
from typing import TypeVar

T = TypeVar("T")


class Progress:
    """Counts work done and says, at most every `every` seconds, how much, how fast and how long still.

    `total` is in the unit of `advance` (None if it is not known), and so is `before`: what an earlier run
    has done.
    """

    def __init__(
        self,
        what: str,
        total: float | None = None,
        unit: str = "rows",
        every: float = 5.0,
        before: float = 0.0,
    ):
        self.what, self.total, self.unit, self.every = what, total, unit, every
        self.done = self.before = before
        self.started = self._said = time.monotonic()

    def advance(self, amount: float = 1, note: str = "") -> None:
        self.done += amount
        if time.monotonic() - self._said >= self.every:
            self.say(note)

    def say(self, note: str = "") -> None:
        now = self._said = time.monotonic()
        rate = (self.done - self.before) / max(now - self.started, 1e-9)
        line = f"{self.what}: {self.done:,.0f}"
        if self.total:
            line += f" of {self.total:,.0f} {self.unit} ({self.done / self.total:.0%})"
            if rate:
                line += f", {max(self.total - self.done, 0) / rate:,.0f} s left"
        else:
            line += f" {self.unit}"
        print(f"{line}, {rate:,.1f} {self.unit}/s{', ' + note if note else ''}", file=sys.stderr, flush=True)


def tracked(items: Iterable[T], what: str, total: float | None = None, unit: str = "rows") -> Iterator[T]:
    """The items, with progress said as they pass."""
    progress = Progress(what, total, unit)
    for item in items:
        yield item
        progress.advance()
