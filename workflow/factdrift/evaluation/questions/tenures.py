"""On which days each holder of a chain counts, from what the dumps prove. Days are packed (YYYYMMDD)."""

import datetime
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import NamedTuple

from factdrift.streams.timelines import EVER, NEVER_ENDS, day_number
from factdrift.streams.timelines import Tenure as StatementTenure
from factdrift.wikidata.time import pack_date


class Tenure(NamedTuple):
    """Days on which a holder counts; None where nothing limits them."""

    first: int | None
    last: int | None
    share: float


class Several(Exception):
    """Two holders certainly held on more days than that of the change."""


def tenures(timeline: Iterable[StatementTenure], first: int, last: int) -> dict[int, list[Tenure]]:
    """The tenures of the values that certainly held on a day from `first` to `last`, in the order of time.

    Days between two successive holders on which both may have held count half for each, days on which only
    one of them may have, for that one. The first tenure has no beginning, the last one no end. Raises
    Several.
    """
    spans = _spans([each for each in timeline if each.certain and not each.doubted])
    spans = [span for span in spans if span.last >= day_number(first) and span.first <= day_number(last)]
    parts: list[tuple[int, int | None, int | None, float]] = []
    for place, span in enumerate(spans):
        begin: int | None = span.first
        if place == 0:
            begin = None
        elif spans[place - 1].last == span.first:
            begin = span.first + 1
        end: int | None = span.last
        if place + 1 == len(spans):
            end = None
        elif spans[place + 1].first == span.last:
            end = span.last - 1
        if begin is None or end is None or begin <= end:
            parts.append((span.value, begin, end, 1.0))
    for before, after in pairwise(spans):
        parts += _between(before, after)
    parts.sort(key=lambda part: (-(10**9) if part[1] is None else part[1], part[3], part[0]))
    found: dict[int, list[Tenure]] = defaultdict(list)
    for value, begin, end, share in parts:
        own = found[value]
        meets = own and own[-1].share == share and own[-1].last is not None and begin is not None
        if meets and own[-1].last == begin - 1:  # type: ignore[operator]
            own[-1] = own[-1]._replace(last=end)
        else:
            own.append(Tenure(begin, end, share))
    return {
        value: [Tenure(first and _packed(first), last and _packed(last), share) for first, last, share in own]
        for value, own in found.items()
    }


class _Span(NamedTuple):
    """Ordinals of the days on which a value certainly held, and of the first and last possible one."""

    first: int
    last: int
    value: int
    earliest: int
    latest: int


def _spans(held: Sequence[StatementTenure]) -> list[_Span]:
    """The spans of time of each value, by their first day; those of one value that meet are one."""
    spans: list[_Span] = []
    for each in sorted(held, key=lambda one: (one.certain or (0, 0), one.value)):
        assert each.certain
        earliest, latest = each.possible
        own = _Span(
            day_number(each.certain[0]),
            day_number(each.certain[1]),
            each.value,
            EVER if earliest == EVER else day_number(earliest),
            NEVER_ENDS if latest == NEVER_ENDS else day_number(latest),
        )
        same = spans[-1] if spans and spans[-1].value == own.value else None
        if same and own.first <= same.last + 1:
            spans[-1] = same._replace(last=max(same.last, own.last), latest=max(same.latest, own.latest))
        else:
            spans.append(own)
    for before, after in pairwise(spans):
        # The day of the change may be one of both.
        if after.first < before.last or after.last <= before.last:
            raise Several
    return spans


def _between(before: _Span, after: _Span) -> list[tuple[int, int | None, int | None, float]]:
    """The days from the last certain one of a holder to the first certain one of the next."""
    if before.last == after.first:
        return [(span.value, before.last, before.last, 0.5) for span in (before, after)]
    first, last = before.last + 1, after.first - 1
    until, since = min(last, before.latest), max(first, after.earliest)
    parts: list[tuple[int, int | None, int | None, float]] = []
    values = dict.fromkeys((before.value, after.value))
    if first <= min(until, since - 1):
        parts.append((before.value, first, min(until, since - 1), 1.0))
    if since <= until:
        parts += [(value, since, until, 1 / len(values)) for value in values]
    if max(since, until + 1) <= last:
        parts.append((after.value, max(since, until + 1), last, 1.0))
    return parts


def _packed(ordinal: int) -> int:
    return pack_date(datetime.date.fromordinal(ordinal))
