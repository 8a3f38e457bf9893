"""The order of the items in a dump: where the numbers jump, a part of the dump may be missing.

Wikidata writes its dumps in a few shards, each in the order of the pages, so the numbers of the items rise
from one entity to the next, by about as many as there are shards. A part that is missing between two lines,
as a lost member of an archive is, leaves no trace but a jump. So do many items in a row that were deleted
from Wikidata, so a jump is no proof.
"""

import statistics
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

JUMPS_KEPT = 20
_LONG_STEPS = 30
"""How many times as far as usual the numbers must rise to be called a jump."""

LEAST_MISSING = 1000
"""Entities that must seem to be missing for a jump to be named."""

_LEAST_LINES = 100
"""Places of a dump that must have been looked at for its order to be known."""

_IN_ORDER = 0.95
"""Share of these places at which the number must rise; lists of items are in another order."""

_DENSE = 30
"""How far the numbers rise from line to line at most, by the median, in a dump that has all items; in a
slice, and in the bundled sample, most numbers lack."""

_FALLS_OF_A_SHARD = 3


class Jump(NamedTuple):
    """The item numbers `before` and `after` on two lines, `lines` apart, the second of which is `line`."""

    line: int
    lines: int
    before: int
    after: int


@dataclass
class Course:
    """The item numbers at some lines of one part of a dump.

    `seen`: how many lines were looked at, `rises`: at how many the number rose. `step`: how far it usually
    rises a line. `jumps`: where it rose most. `first`, `last`: the item at the first of these lines, and the
    highest up to the last one.
    """

    seen: int = 0
    rises: int = 0
    step: float = 0.0
    jumps: list[Jump] = field(default_factory=list)
    first: int = 0
    last: int = 0


class Reader:
    """Looks at the lines of one part of a dump, in their order."""

    def __init__(self) -> None:
        self._line = self._low = 0
        self._steps: list[float] = []
        self._read = Course()

    def see(self, line: int, item: int) -> None:
        """Takes the number of the item on a line."""
        read = self._read
        read.seen += 1
        if read.seen > 1 and item > read.last:
            lines = max(line - self._line, 1)
            read.rises += 1
            self._steps.append((item - read.last) / lines)
            read.jumps.append(Jump(line, lines, read.last, item))
            if len(read.jumps) > 10 * JUMPS_KEPT:
                read.jumps = _longest(read.jumps)
        elif read.seen > 1:
            # A page that was restored comes late; where Wikidata's next shard begins, all numbers are low.
            self._low += 1
            if self._low < _FALLS_OF_A_SHARD:
                return
        read.first = read.first or item
        self._low = 0
        self._line, read.last = line, item

    def course(self) -> Course:
        step = statistics.median(self._steps) if self._steps else 0.0
        return replace(self._read, step=step, jumps=sorted(_longest(self._read.jumps)))


def _longest(jumps: Sequence[Jump]) -> list[Jump]:
    return sorted(jumps, key=lambda jump: (jump.before - jump.after, jump))[:JUMPS_KEPT]


def suspicious(parts: Sequence[dict[str, Any]]) -> list[tuple[int, Jump, int]]:
    """Part, jump and roughly how many entities may be missing there, for the courses of all parts of a dump.

    Empty if the dump is too small, a slice, or in another order than Wikidata's own.
    """
    seen, rises = sum(part["seen"] for part in parts), sum(part["rises"] for part in parts)
    if seen < _LEAST_LINES or rises < _IN_ORDER * seen:
        return []
    usual = statistics.median(part["step"] for part in parts if part["seen"] > 1)
    if usual > _DENSE:
        return []
    gaps = []
    last = 0
    for number, part in enumerate(parts):
        step = part["step"] if part["seen"] >= _LEAST_LINES else usual
        border = [Jump(1, 1, last, part["first"])] if 0 < last < part["first"] else []
        last = part["last"] or last
        for jump in (*border, *(Jump(*jump_) for jump_ in part["jumps"])):
            missing = int((jump.after - jump.before) / max(step, 1)) - jump.lines
            if missing >= max(LEAST_MISSING, _LONG_STEPS * jump.lines):
                gaps.append((number, jump, missing))
    return gaps
