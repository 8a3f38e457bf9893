"""On which days each holder of a chain counts, from what the dumps prove. Days are packed (YYYYMMDD)."""

import datetime
import math
from collections import defaultdict
from collections.abc import Iterable
from itertools import pairwise
from typing import NamedTuple

from factdrift.core.columns import Row
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
    begin, end = day_number(first), day_number(last)
    spans = [span for span in _spans(timeline) if span.last >= begin and span.first <= end]
    days: list[_Days] = []
    for before, span, after in zip([None, *spans], spans, [*spans[1:], None], strict=False):
        # The day of a change may be one of both holders.
        own = _Days(
            span.value,
            span.first + (before.last == span.first) if before else None,
            span.last - (after.first == span.last) if after else None,
        )
        days += [own] if own.any() else []
        days += _between(span, after) if after else []
    days.sort(key=lambda own: (-math.inf if own.first is None else own.first, own.share, own.value))
    joined: dict[int, list[_Days]] = defaultdict(list)
    for own in days:
        earlier = joined[own.value]
        meets = earlier and own.first is not None and earlier[-1].last == own.first - 1
        if meets and earlier[-1].share == own.share:
            earlier[-1] = earlier[-1]._replace(last=own.last)
        else:
            earlier.append(own)
    return {
        value: [Tenure(_packed(own.first), _packed(own.last), own.share) for own in parts]
        for value, parts in joined.items()
    }


class _Days(NamedTuple):
    """Days on which a value counts, as ordinals; None where nothing limits them."""

    value: int
    first: int | None
    last: int | None
    share: float = 1.0

    def any(self) -> bool:
        return self.first is None or self.last is None or self.first <= self.last


class _Span(NamedTuple):
    """Ordinals of the days on which a value certainly held, and of the first and last possible one."""

    first: int
    last: int
    value: int
    earliest: int
    latest: int


def _spans(timeline: Iterable[StatementTenure]) -> list[_Span]:
    """The spans of certain days of each value, by their first day; those of one value that meet are one."""
    spans: list[_Span] = []
    certain = [(period.certain, period) for period in timeline if period.certain and not period.doubted]
    for days, period in sorted(certain, key=lambda pair: (pair[0], pair[1].value)):
        first, last = map(day_number, days)
        ends = (day if day in (EVER, NEVER_ENDS) else day_number(day) for day in period.possible)
        own = _Span(first, last, period.value, *ends)
        same = spans[-1] if spans and spans[-1].value == own.value else None
        if same and own.first <= same.last + 1:
            spans[-1] = same._replace(last=max(same.last, own.last), latest=max(same.latest, own.latest))
        else:
            spans.append(own)
    for before, after in pairwise(spans):
        if after.first < before.last or after.last <= before.last:
            raise Several
    return spans


def _between(before: _Span, after: _Span) -> list[_Days]:
    """The days from the last certain one of a holder to the first certain one of the next."""
    if before.last == after.first:
        return [_Days(span.value, before.last, before.last, 0.5) for span in (before, after)]
    first, last = before.last + 1, after.first - 1
    until, since = min(last, before.latest), max(first, after.earliest)
    values = dict.fromkeys((before.value, after.value))
    days = [
        _Days(before.value, first, min(until, since - 1)),
        *(_Days(value, since, until, 1 / len(values)) for value in values),
        _Days(after.value, max(since, until + 1), last),
    ]
    return [own for own in days if own.any()]


def _packed(ordinal: int | None) -> int | None:
    return None if ordinal is None else pack_date(datetime.date.fromordinal(ordinal))


def names_of(holder: Row) -> tuple[str, ...]:
    """The label and the aliases of a holder of CHAINS."""
    return holder["label"], *holder["aliases"]


class Change(NamedTuple):
    """A holder after another: the day, and the index of both in the chain."""

    day: int
    before: int
    after: int


def changes(row: Row) -> list[Change]:
    """The changes of holder in a chain, on the first day on which the later holder counts alone."""
    begun = sorted(
        (tenure["first"] or 0, index, tenure["last"])
        for index, holder in enumerate(row["holders"])
        for tenure in holder["tenures"]
        if tenure["share"] == 1
    )
    made = (Change(later[0], earlier[1], later[1]) for earlier, later in pairwise(begun))
    return [change for change in made if change.before != change.after]
