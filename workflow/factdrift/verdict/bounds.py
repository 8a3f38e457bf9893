"""Values that an answer names without saying that they are the answer."""

from __future__ import annotations

from itertools import pairwise

from factdrift.verdict.candidates import Mention
from factdrift.verdict.reading import Reading, Role

_LIMITS = frozenset(("after", "before", "nach", "vor", "under", "unter"))
_RANGES = frozenset(("-", "–", "—", "to", "through", "bis"))


def read_bounds(reading: Reading) -> None:
    """Values that are only limits, `before 1998`, or the ends of a range, `1990-1998`."""
    values = [each for each in reading.named() if each.value]
    for each in values:
        for cue in reading.of("bound", "took_over", "handed_on", "beside"):
            limit = cue.kind == "bound" or reading.tokens[cue.start].key in _LIMITS
            gap = reading.tokens[cue.end : each.start]
            if limit and cue.end <= each.start and all(reading.words.has("article", t.key) for t in gap):
                reading.put(each, Role.BESIDE)
    for first, second in pairwise(values):
        between = [token.key for token in reading.tokens[first.end : second.start]]
        if len(between) == 1 and between[0] in _RANGES and not _changes(reading, first):
            reading.put(first, Role.BESIDE)
            reading.put(second, Role.BESIDE)


def _changes(reading: Reading, first: Mention) -> bool:
    """Whether the values of a range are those before and after a change: `it grew from 1 to 2`."""
    earlier = [token.key for token in reading.tokens[: first.start] if token.is_word]
    led = len(earlier) > 1 and reading.words.has("from", earlier[-1])
    return led and not reading.words.has("verb", earlier[-2])
