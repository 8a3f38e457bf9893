"""Values of statements: which are equal, how the datasets write them, when a statement holds."""

import json
import math
from collections.abc import Hashable, Iterator, Mapping
from decimal import Decimal, InvalidOperation
from typing import Any

from qwikidata.claim import WikidataClaim
from qwikidata.snak import WikidataSnak

from factdrift.audit.dates import Day, Span, packed, span
from factdrift.audit.lines import Entity
from factdrift.core.text import clean

START, END, POINT = "P580", "P582", "P585"
DATES = frozenset({START, END, POINT})

TOLERANCE = 5.1e-10
"""Half of the last of the nine decimals that are written, and what sums in another order may differ by."""


def entity_of(snak: WikidataSnak) -> str | None:
    """The item or property that is the value; old dumps give its kind and number only."""
    if snak.value_datatype != "wikibase-entityid":
        return None
    value = snak.datavalue.value
    if value.get("id"):
        return str(value["id"])
    return f"{'P' if value.get('entity-type') == 'property' else 'Q'}{value.get('numeric-id')}"


def raw_of(snak: WikidataSnak) -> str | None:
    """The value as the datasets write it raw: an id, a timestamp, an amount, a text; None without a value."""
    if snak.snaktype != "value":
        return None
    value = snak.datavalue.value
    if isinstance(value, str):
        return clean(value)
    if entity := entity_of(snak):
        return entity
    raw = next((value[name] for name in ("time", "amount", "text", "id") if name in value), None)
    return clean(raw) if isinstance(raw, str) else raw


def identity(snak: WikidataSnak) -> Hashable:
    """Equal for equal values: amounts as decimals without bounds, dates by the days that they cover, texts by
    what a reader sees of them."""
    if snak.snaktype != "value":
        return str(snak.snaktype)
    value: Any = snak.datavalue.value
    kind = snak.value_datatype
    if entity := entity_of(snak):
        return kind, entity
    if isinstance(value, str):
        return kind, clean(value)
    if kind == "quantity" and (amount := decimal(value.get("amount"))) is not None:
        return kind, amount, str(value.get("unit", "1")).rpartition("/")[2]
    if kind == "time" and (covered := span(value)):
        return kind, covered.first, covered.last, value.get("precision"), value.get("calendarmodel")
    if kind == "monolingualtext":
        return kind, value.get("language"), clean(str(value.get("text")))
    return kind, json.dumps(value, sort_keys=True)


def decimal(text: Any) -> Decimal | None:
    try:
        return Decimal(str(text)).normalize()
    except InvalidOperation:
        return None


def close(value: float | None, due: float) -> bool:
    """Whether two numbers are equal to the nine decimals that are written."""
    return value is not None and math.isclose(value, due, rel_tol=0, abs_tol=TOLERANCE)


def times(claim: WikidataClaim, qualifier: str) -> Iterator[Mapping[str, Any]]:
    """The `time` values of a qualifier, those that cannot be read included."""
    snaks = (entry.snak for entry in claim.qualifiers.get(qualifier, []))
    return (snak.datavalue.value for snak in snaks if snak.value_datatype == "time")


def spans(claim: WikidataClaim, qualifier: str) -> list[Span]:
    """The dates of a qualifier that can be read."""
    return [date for value in times(claim, qualifier) if (date := span(value))]


def birth_texts(entity: Entity) -> set[str]:
    """The dates by which an entity began, as the datasets write them."""
    dates = (span(value) for values in entity.born.values() for value in values)
    return {date.text for date in dates if date}


def is_unknown(claim: WikidataClaim, qualifier: str) -> bool:
    """Whether a qualifier says `unknown value` and gives no date."""
    snaks = [entry.snak for entry in claim.qualifiers.get(qualifier, [])]
    return any(snak.snaktype == "somevalue" for snak in snaks) and not spans(claim, qualifier)


def ended_by(claim: WikidataClaim, day: Day, before: bool = False) -> bool:
    """Whether a statement says that it ended by a day (or `before` it), or on an unknown one.

    The latest end counts.
    """
    ends = spans(claim, END)
    if not ends:
        return is_unknown(claim, END)
    last = max(span.first for span in ends)
    return last < day or (last == day and not before)


def holds(claim: WikidataClaim, day: Day) -> bool:
    """Whether a statement without a point in time holds on a day by its own dates.

    A statement without dates holds always.
    """
    if claim.mainsnak.snaktype != "value" or spans(claim, POINT) or ended_by(claim, day, before=True):
        return False
    starts = spans(claim, START)
    return not starts or min(span.first for span in starts) <= day


def may_hold(claim: WikidataClaim, first: int, last: int) -> bool:
    """Whether no date of a statement says that it did not hold on a day from `first` to `last` (20210104)."""
    starts, ends = spans(claim, START), spans(claim, END)
    began = not starts or min(packed(span.first) for span in starts) <= first
    return began and (not ends or max(packed(span.last) for span in ends) >= last)


def surely_held(claim: WikidataClaim, first: int, last: int) -> bool:
    """Whether start and end of a statement say that it held on some day from `first` to `last` (20210104)."""
    starts, ends = spans(claim, START), spans(claim, END)
    if not starts or not ends:
        return False
    begin, end = max(packed(span.last) for span in starts), min(packed(span.first) for span in ends)
    return begin < last and end > first and begin < end


def others(claim: WikidataClaim) -> Iterator[tuple[str, WikidataSnak]]:
    """The qualifiers and the snaks of the references of a statement, each with a name for people."""
    for name, qualifiers in claim.qualifiers.items():
        for qualifier in qualifiers:
            yield f"qualifier {name}", qualifier.snak
    for reference in claim.references:
        for name, snaks in reference.snaks.items():
            for snak in snaks:
                yield f"reference {name}", snak


def plain(text: str | None) -> str:
    """What a reader sees of a text, with single blanks."""
    return " ".join(clean(text or "").split())
