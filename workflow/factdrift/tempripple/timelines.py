"""Timelines: the holders of one (s, p) in order, or the reason why they have none."""

from collections.abc import Iterable, Sequence
from itertools import combinations, pairwise
from typing import NamedTuple

from factdrift.tempripple.claims import ONGOING, UNSTARTED, Claim, Span
from factdrift.tempripple.settings import TempRippleSettings


class Holding(NamedTuple):
    """One object over one stretch of time; `start` and `end`: intervals of their possible days."""

    object: int
    start: Span
    end: Span
    start_precision: int | None
    end_precision: int | None
    statements: tuple[str, ...]

    @property
    def key(self) -> tuple[Span, Span, tuple[str, ...]]:
        """Sorting key, so that results do not depend on the order of rows."""
        return self.start, self.end, self.statements


class Dropped(NamedTuple):
    """The first reason why there is no timeline or no immutable value, and the statements that show it."""

    reason: str
    statements: tuple[str, ...]
    detail: str = ""


class Timeline(NamedTuple):
    """Holdings, newest first; the first is the new fact. `changes`: how many began in the period."""

    holdings: tuple[Holding, ...]
    changes: int


def timeline(claims: Iterable[Claim], settings: TempRippleSettings) -> Timeline | Dropped:
    """The timeline of one (s, p) inside the window, in six steps (docs/tempripple.md, docs/decisions.md)."""
    holdings = _in_window(claims, settings)
    if isinstance(holdings, Dropped):
        return holdings
    if settings.infer_end_from_next:
        holdings = _with_inferred_ends(holdings)
    if settings.unite_same_object:
        holdings = _united(holdings)
    ordered = _ordered(holdings, settings)
    if isinstance(ordered, Dropped):
        return ordered
    return _uncovered(ordered, settings) or _changed(_merged(ordered), settings)


def before(first: Holding, second: Holding) -> bool:
    """Whether the first may have ended when the second began; intervals are half-open."""
    return first.end.lo <= second.start.hi


def ordered_pair(first: Holding, second: Holding) -> bool:
    """Whether exactly one of the two can come before the other."""
    return before(first, second) != before(second, first)


def _in_window(claims: Iterable[Claim], settings: TempRippleSettings) -> list[Holding] | Dropped:
    """Step 1: the holdings that may touch the window; dropped if one has a bad date or an unknown object."""
    window_start, last = settings.window_start.toordinal(), settings.last_day.toordinal()
    holdings, bad, unnamed = [], [], []
    for claim in sorted(claims, key=lambda claim: claim.statement):
        if claim.snak == "novalue":
            continue
        start, end = claim.start, claim.end
        if (end is not None and end.hi <= window_start) or start.lo > last:
            continue
        if end is None or claim.has_bad_date:
            bad.append(claim.statement)
        elif claim.object is None:
            unnamed.append(claim.statement)
        else:
            start_precision = claim.starts[0].precision if start != UNSTARTED else None
            end_precision = claim.ends[0].precision if end != ONGOING else None
            holding = Holding(claim.object, start, end, start_precision, end_precision, (claim.statement,))
            holdings.append(holding)
    if bad:
        detail = "several starts or ends, an unknown end, or an end before the start"
        return Dropped("bad_date", tuple(bad), detail)
    if unnamed:
        return Dropped("unknown_object", tuple(unnamed), "its object is unknown")
    return holdings


def _with_inferred_ends(holdings: list[Holding]) -> list[Holding]:
    """The holdings; one without an end that has a successor ends where the successor begins."""
    inferred = []
    for holding in holdings:
        # Two that begin together are not each other's successors.
        after = max(holding.start.hi, holding.start.lo + 1)
        later = [other for other in holdings if other.start.lo >= after]
        if holding.end == ONGOING and later:
            following = min(later, key=lambda other: other.key)
            holding = holding._replace(end=following.start, end_precision=following.start_precision)
        inferred.append(holding)
    return inferred


def _united(holdings: list[Holding]) -> list[Holding]:
    """Step 2: duplicates are united, in the order of `key`, because one union can settle the next pair."""
    while True:
        holdings = sorted(holdings, key=lambda holding: holding.key)
        for first, second in combinations(holdings, 2):
            if first.object == second.object and not ordered_pair(first, second):
                break
        else:
            return holdings
        rest = [holding for holding in holdings if holding not in (first, second)]
        holdings = [*rest, _union(first, second)]


def _union(first: Holding, second: Holding) -> Holding:
    earliest = min(first, second, key=lambda h: (h.start.lo, -(h.start_precision or 0), h.statements))
    latest = max(first, second, key=lambda h: (h.end.hi, h.end_precision or 0, h.statements))
    return Holding(
        first.object,
        Span(min(first.start.lo, second.start.lo), min(first.start.hi, second.start.hi)),
        Span(max(first.end.lo, second.end.lo), max(first.end.hi, second.end.hi)),
        earliest.start_precision,
        latest.end_precision,
        tuple(sorted({*first.statements, *second.statements})),
    )


def _ordered(holdings: list[Holding], settings: TempRippleSettings) -> list[Holding] | Dropped:
    """Step 3: the holdings from the earliest to the latest; dropped unless the dates allow one order only.

    With `on_ambiguous: keep`, `key` decides where they allow several.
    """
    waiting = sorted(holdings, key=lambda holding: holding.key)
    faults: dict[str, Dropped] = {}
    for fault in (_fault(*pair) for pair in combinations(waiting, 2) if not ordered_pair(*pair)):
        faults.setdefault(fault.reason, fault)
    if settings.on_ambiguous == "keep":
        faults.pop("order_ambiguous", None)
    for reason in ("undated", "missing_start", "overlap", "order_ambiguous"):
        if reason in faults:
            return faults[reason]
    ordered = []
    while waiting:
        for holding in waiting:
            others = [other for other in waiting if other is not holding]
            if not any(before(other, holding) and not before(holding, other) for other in others):
                break
        waiting.remove(holding)
        ordered.append(holding)
    return ordered


def _fault(first: Holding, second: Holding) -> Dropped:
    statements = tuple(sorted({*first.statements, *second.statements}))
    if before(first, second):
        return Dropped("order_ambiguous", statements, "either may come first")
    for holding in (first, second):
        if holding.start == UNSTARTED and holding.end == ONGOING:
            return Dropped("undated", statements, "they overlap, and one has no date")
    if UNSTARTED in (first.start, second.start):
        return Dropped("missing_start", statements, "they overlap, and one has no start")
    return Dropped("overlap", statements, "they overlap")


def _uncovered(ordered: Sequence[Holding], settings: TempRippleSettings) -> Dropped | None:
    """Step 4: the reason if no holder is known for a part of the window."""
    if settings.coverage == "off" or not ordered:
        return None
    window_start = settings.window_start.toordinal()
    first = ordered[0]
    missing = first.start.lo - window_start
    if missing >= settings.gap_days or (settings.coverage == "strict" and first.start.hi > window_start):
        return Dropped("left_gap", first.statements, f"the first is known from {max(missing, 0)} days on")
    for earlier, later in pairwise(ordered):
        missing = later.start.lo - earlier.end.hi
        if missing >= settings.gap_days:
            statements = tuple(sorted({*earlier.statements, *later.statements}))
            return Dropped("gap", statements, f"{missing} days between them")
    return None


def _merged(ordered: Sequence[Holding]) -> list[Holding]:
    """Step 5: neighbours with the same object are merged, from the first's start to the last's end."""
    merged: list[Holding] = []
    for holding in ordered:
        if merged and merged[-1].object == holding.object:
            earlier = merged.pop()
            statements = tuple(sorted({*earlier.statements, *holding.statements}))
            holding = earlier._replace(
                end=holding.end, end_precision=holding.end_precision, statements=statements
            )
        merged.append(holding)
    return merged


def _changed(merged: Sequence[Holding], settings: TempRippleSettings) -> Timeline | Dropped:
    """Step 6: dropped unless the newest certainly began in the change period and another held before."""
    period = Span(settings.change_start.toordinal(), settings.change_end.toordinal())
    newest = merged[-1] if merged else None
    changed = newest is not None and (
        _inside(newest.start, period) or (settings.new_rule == "any" and _inside(newest.end, period))
    )
    if newest is None or not changed:
        statements = newest.statements if newest else ()
        return Dropped("no_change", statements, "the newest did not certainly begin in the period")
    if len(merged) == 1:
        return Dropped("no_old", newest.statements, "nobody held it before")
    return Timeline(tuple(reversed(merged)), sum(_inside(holding.start, period) for holding in merged))


def _inside(date: Span, period: Span) -> bool:
    return period.lo <= date.lo and date.hi < period.hi
