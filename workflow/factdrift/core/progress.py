"""Progress of long work on standard error: a line every few seconds, for terminals and logs.

A line gives for one piece of work the amount done, the speed and the time left:

    a.json.gz: 1,234 of 2,460 MB (50%), 310,200 entities; 96.4 MB/s, 24,234.4 entities/s; 13 s left

`read_line` parses it, so that the progress of a run (`factdrift.runs.stages`) can be read from the logs
alone. Work that is inside of other work has the name of that before its own.
"""

import re
import sys
import threading
import time
from collections.abc import Iterable, Iterator, Sequence
from functools import cache
from typing import NamedTuple, Self, TypeVar

T = TypeVar("T")


EVERY = 5.0
"""Seconds between two lines at least."""
_LOOK = 1.0
"""Seconds between two looks whether a line is due."""
_open: list["Progress"] = []
"""The work of `with` blocks that goes on, the inner after the outer."""


class Progress:
    """Counts the work done and prints a line from time to time.

    `total` (None if unknown) and `before`, the work of an earlier run, are in the unit of `advance`. `beside`
    is the unit of a second count without a known total. In a `with` block lines are printed by a thread, too,
    however long one advance takes.
    """

    _newest = 0.0
    """When the last line of any work was printed."""

    def __init__(
        self, what: str, total: float | None = None, unit: str = "rows", before: float = 0.0, beside: str = ""
    ):
        self.what, self.total, self.unit, self.beside = what, total, unit, beside
        self.done = self.before = before
        self.done_beside = 0.0
        self.started = self._printed = time.monotonic()
        self._whole: tuple[float, str] | None = None
        """The amount and the note of the line that said that all is done."""

    def __enter__(self) -> Self:
        if _open:
            self.what = f"{_open[-1].what}: {self.what}"
        _open.append(self)
        _watcher()
        return self

    def __exit__(self, *error: object) -> None:
        _open.remove(self)

    def advance(self, amount: float = 1, note: str = "", beside: float = 0) -> None:
        self.done += amount
        self.done_beside += beside
        if time.monotonic() - self._printed >= EVERY:
            self.say(note)

    def say(self, note: str = "") -> None:
        now = time.monotonic()
        self._printed = Progress._newest = now
        if self.total and self.done >= self.total:
            if self._whole == (self.done, note):
                return
            self._whole = self.done, note
        seconds = max(now - self.started, 1e-9)
        rate = (self.done - self.before) / seconds
        done = f"{figure(self.done)} {self.unit}"
        if self.total:
            of = f"{figure(self.done)} of {figure(self.total)}"
            done = f"{of} {self.unit} ({self.done / self.total:.0%})"
        rates = f"{rate:,.1f} {self.unit}/s"
        if self.beside:
            done += f", {figure(self.done_beside)} {self.beside}"
            rates += f", {self.done_beside / seconds:,.1f} {self.beside}/s"
        parts = [done, rates]
        if self.total and rate:
            parts.append(f"{max(self.total - self.done, 0) / rate:,.0f} s left")
        if note:
            parts.append(note)
        print(f"{self.what}: {'; '.join(parts)}", file=sys.stderr, flush=True)


@cache
def _watcher() -> None:
    """Starts the thread, once a process."""
    threading.Thread(target=_watch, name="lines of progress", daemon=True).start()


def _watch() -> None:
    """Prints the line of the innermost work that goes on, where none was printed for a while."""
    while True:
        time.sleep(_LOOK)
        for work in _open[-1:]:
            if time.monotonic() - max(_open[0].started, Progress._newest) >= max(EVERY, _LOOK):
                work.say()


def figure(amount: float) -> str:
    """An amount as text, with one decimal place if it is below 10 and not whole."""
    return f"{amount:,.0f}" if amount >= 10 or amount == int(amount) else f"{amount:.1f}"


def counted(amount: float, unit: str) -> str:
    """An amount with its unit, whose plural ends in s: `1 part`, `2,460 MB`."""
    return f"{figure(amount)} {unit.removesuffix('s') if amount == 1 else unit}"


def size_text(size: float) -> str:
    """Bytes as text: `1.2 MB`, `340.0 kB`."""
    return f"{size / 1e6:,.1f} MB" if size >= 1e5 else f"{size / 1e3:,.1f} kB"


def tracked(items: Iterable[T], what: str, total: float | None = None, unit: str = "rows") -> Iterator[T]:
    """Yields the items, and prints progress meanwhile and at the end."""
    progress = Progress(what, total, unit)
    for item in items:
        yield item
        progress.advance()
    progress.say()


def watched(items: Sequence[T], what: str, unit: str) -> Iterator[T]:
    """Yields the items of a loop; prints progress while it lasts, and nothing of a short one."""
    with Progress(what, len(items), unit) as progress:
        for item in items:
            yield item
            progress.advance()


class ProgressLine(NamedTuple):
    """What a line of progress is about, and the share of it that is done; None if the total is unknown."""

    what: str
    share: float | None


_LINE = re.compile(
    r"(?P<what>.+): [\d,.]+(?: of [\d,.]+)? \S+(?: \((?P<share>\d+)%\))?(?:, [\d,.]+ \S+)?; [\d,.]+ \S+/s"
)


def read_line(line: str) -> ProgressLine | None:
    """Parses a line that `Progress.say` printed; None for any other line."""
    match = _LINE.match(line)
    if not match:
        return None
    return ProgressLine(match["what"], int(match["share"]) / 100 if match["share"] else None)
