"""The value of (x, p) that certainly held over the whole window, or the reason why there is none."""

from collections.abc import Mapping

from factdrift.tempripple.claims import Claim, Span, best_rank, covered
from factdrift.tempripple.method import Method
from factdrift.tempripple.relations import BIRTH, DEATH, INCEPTION, Relation
from factdrift.tempripple.timelines import Dropped
from factdrift.wikidata.time import YEAR

REASONS = (
    "outside_window",
    "several_values",
    "unknown_value",
    "bad_date",
    "not_immutable",
    "no_start",
    "coarse_date",
    "late_date",
    "subject_alive",
    "late_existence",
)
"""Why (x, p) gives no related fact; the first reason that applies is recorded."""


def immutable_value(
    relation: Relation, of_subject: Mapping[int, list[Claim]], is_human: bool, method: Method
) -> Claim | Dropped | None:
    """The claim with the one immutable value of a property, or the reason why there is none.

    `of_subject`: all claims of x by property, including the dates of its birth, death and foundation. None if
    x has no statement with this property.
    """
    claims = [claim for claim in best_rank(of_subject.get(relation.property, [])) if claim.snak != "novalue"]
    if not claims:
        return None
    stated = tuple(sorted(claim.statement for claim in claims))
    competing = [claim for claim in claims if _may_hold_inside(claim, method)]
    values = {claim.value for claim in competing}
    if not values:
        return Dropped("outside_window", stated)
    if len(values) > 1:
        return Dropped("several_values", stated)
    if None in values:
        return Dropped("unknown_value", stated)
    lasting = [claim for claim in competing if is_immutable(claim, method)]
    if not lasting:
        faulty = any(claim.has_bad_date for claim in competing)
        return Dropped("bad_date" if faulty else "not_immutable", stated)
    if relation.guard == "S":
        lasting = [claim for claim in lasting if claim.starts]
        if not lasting:
            return Dropped("no_start", stated)
    claim = min(lasting, key=lambda claim: claim.statement)
    reason = _guarded(relation, claim, of_subject, is_human, method)
    return Dropped(reason, stated) if reason else claim


def is_immutable(claim: Claim, method: Method) -> bool:
    """Whether a claim certainly held from `immutable_from` or earlier until `immutable_until` or later."""
    first, last = method.immutable_span
    start, end = claim.start, claim.end
    if claim.has_bad_date or end is None or (method.require_start and not claim.starts):
        return False
    return start.hi <= first and end.lo >= last


def _may_hold_inside(claim: Claim, method: Method) -> bool:
    """Whether a claim may have held on a day after `immutable_from`, up to `immutable_until`."""
    first, last = method.immutable_span
    end = claim.end
    return (end is None or end.hi > first) and claim.start.lo <= last


def _guarded(
    relation: Relation, claim: Claim, of_subject: Mapping[int, list[Claim]], is_human: bool, method: Method
) -> str | None:
    """The reason of the first guard that fails: of the value, of the death of x, of its beginning."""
    before, _ = method.immutable_span
    if claim.date is not None:
        span = covered(claim.date)
        if span is None or claim.date.precision < YEAR:
            return "coarse_date"
        if relation.guard == "V" and span.hi > before:
            return "late_date"
    if relation.guard == "D":
        deaths = _values(of_subject, DEATH)
        if not deaths or max(span.hi for span in deaths) > before:
            return "subject_alive"
    beginnings = _values(of_subject, BIRTH if is_human else INCEPTION)
    if beginnings and min(beginnings).hi > before:
        return "late_existence"
    return None


def _values(of_subject: Mapping[int, list[Claim]], relation: int) -> list[Span]:
    """The intervals of the dates of best rank; dates that may be any day are left out."""
    spans = (covered(claim.date) for claim in best_rank(of_subject.get(relation, [])) if claim.date)
    return [span for span in spans if span is not None]
