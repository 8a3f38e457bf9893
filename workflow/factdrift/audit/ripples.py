"""TempRIPPLE's timelines and chains once more, from the lines of a dump."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby, pairwise
from typing import Any, NamedTuple

from qwikidata.claim import WikidataClaim

from factdrift.audit.dates import date_id, day_number, span
from factdrift.audit.filters import closure
from factdrift.audit.lines import Entity
from factdrift.audit.phrases import TempRippleWording, contains, date_text
from factdrift.audit.values import END, START, entity_of, times

FOREVER = 10**9
Days = tuple[int, int]
"""The first and the last day number that a date may mean."""

_WIDE = {8: 9, 7: 99, 6: 999}


class Moment(NamedTuple):
    """A date of a statement: the days that it may mean, and how it is written (year without a year 0)."""

    days: Days
    precision: int
    written: tuple[int, int, int]
    gregorian: tuple[int, int, int]


def moment(value: Mapping[str, Any]) -> Moment | None:
    """A `time` value; None if it cannot be read or is coarser than a millennium."""
    date, precision = span(value), value.get("precision")
    if date is None or not isinstance(precision, int) or precision < 6:
        return None
    text = str(value["time"])
    year, month, day = (int(part) for part in text[1:].partition("T")[0].split("-"))
    year *= -1 if text[0] == "-" else 1
    written = (year, month or 1, day or 1)
    gregorian = date.first if precision >= 11 else written
    counted = gregorian[0] + (gregorian[0] < 0)
    if precision >= 11:
        number = day_number(counted, *gregorian[1:])
        days = (number, number)
    elif precision == 10:
        begin = day_number(counted, written[1], 1)
        later = (counted, written[1] + 1) if written[1] < 12 else (counted + 1, 1)
        days = (begin, day_number(*later, 1) - 1)
    else:
        wide = _WIDE.get(precision, 0)
        days = (day_number(counted - wide, 1, 1), day_number(counted + wide, 12, 31))
    return Moment(days, min(precision, 11), written, gregorian)


class DatedValue(NamedTuple):
    """A statement as the method reads it. `end`: None if unknown; `bad`: several dates, or an empty span."""

    name: str
    rank: str
    snak: str
    value: str | None
    item: str | None
    date: Moment | None
    start: Days
    end: Days | None
    has_start: bool
    bad: bool
    qualifiers: frozenset[str]


def statement_of(claim: WikidataClaim) -> DatedValue:
    """Reads a statement."""
    starts, ends = ([moment(value) for value in times(claim, name)] for name in (START, END))
    start = _hull(starts) or (-FOREVER, -FOREVER)
    end: Days | None = (FOREVER, FOREVER)
    if END in claim.qualifiers:
        unknown = any(qualifier.snak.snaktype != "novalue" for qualifier in claim.qualifiers[END])
        end = _hull(ends) if ends else (None if unknown else end)
    distinct = [{(holder.days, holder.precision) for holder in dates if holder} for dates in (starts, ends)]
    bad = max(map(len, distinct)) > 1 or end is None or end[1] < start[0]
    main = claim.mainsnak
    item = entity_of(main) if main.snaktype == "value" else None
    date = (
        moment(main.datavalue.value) if main.snaktype == "value" and main.value_datatype == "time" else None
    )
    prefix, dollar, rest = claim.claim_id.partition("$")
    name, qualifiers = f"{prefix.upper()}{dollar}{rest}", frozenset(claim.qualifiers)
    value = value_of(claim), item if item and item[0] == "Q" else None, date
    return DatedValue(name, claim.rank, main.snaktype, *value, start, end, any(starts), bad, qualifiers)


def value_of(claim: WikidataClaim) -> str | None:
    """The id by which answers are compared: an item, a Gregorian date, a text, `en:Text`; or None."""
    main = claim.mainsnak
    if main.snaktype != "value":
        return None
    if name := entity_of(main):
        return name
    value: Any = main.datavalue.value
    if isinstance(value, str):
        return value
    if main.value_datatype == "time":
        date = moment(value)
        return date_id(date.gregorian, date.precision) if date else None
    if main.value_datatype == "monolingualtext":
        return f"{value.get('language')}:{value.get('text')}"
    return None


def _hull(dates: Sequence[Moment | None]) -> Days | None:
    known = [date.days for date in dates if date]
    if not known or len(known) < len(dates):
        return None
    return min(days[0] for days in known), max(days[1] for days in known)


# --- timelines ------------------------------------------------------------------------------------------


class Holder(NamedTuple):
    """Who or what held over one stretch of time, and the statements that say so."""

    item: str
    start: Days
    end: Days
    names: tuple[str, ...]

    def before(self, other: Holder) -> bool:
        """Whether this one may have ended when the other began."""
        return self.end[0] <= other.start[1]

    def is_ordered(self, other: Holder) -> bool:
        """Whether only one of the two may come first."""
        return self.before(other) != other.before(self)


def timeline(claims: Sequence[DatedValue], method: TempRippleWording) -> list[Holder] | str:
    """The holders inside the window, newest first; the reason if there is no order or no change."""
    settings, window, last = method.settings, method.window_start, method.last_day.toordinal()
    holders: list[Holder] = []
    for claim in claims:
        if claim.snak == "novalue" or claim.qualifiers & {*settings["restrictive_qualifiers"]}:
            continue
        if (claim.end is not None and claim.end[1] <= window) or claim.start[0] > last:
            continue
        if claim.bad or claim.end is None:
            return "bad_date"
        if claim.item is None:
            return "unknown_object"
        holders.append(Holder(claim.item, claim.start, claim.end, (claim.name,)))
    if settings["unite_same_object"]:
        holders = _united(holders)
    for index, holder in enumerate(holders):
        if not all(holder.is_ordered(other) for other in holders[index + 1 :]):
            return "overlap"
    # In a total order each holder is after as many others as its position says.
    holders.sort(key=lambda holder: sum(other.before(holder) for other in holders if other is not holder))
    if settings["coverage"] != "off" and holders:
        first, gap = holders[0].start, settings["gap_days"]
        if first[0] - window >= gap or (settings["coverage"] == "strict" and first[1] > window):
            return "left_gap"
        if any(later.start[0] - earlier.end[1] >= gap for earlier, later in pairwise(holders)):
            return "gap"
    merged: list[Holder] = []
    for item, group in groupby(holders, key=lambda holder: holder.item):
        stretch = list(group)
        names = tuple(sorted({name for holder in stretch for name in holder.names}))
        merged.append(Holder(item, stretch[0].start, stretch[-1].end, names))
    if not merged or not method.changed(merged[-1].start, merged[-1].end):
        return "no_change"
    return merged[::-1] if len(merged) > 1 else "no_old"


def _united(holders: list[Holder]) -> list[Holder]:
    """Statements about one holder that overlap, or whose order is open, are united."""
    holders = sorted(holders, key=lambda holder: (holder.start, holder.end, holder.names))
    for index, earlier in enumerate(holders):
        for other in holders[index + 1 :]:
            if earlier.item == other.item and not earlier.is_ordered(other):
                start = (min(earlier.start[0], other.start[0]), min(earlier.start[1], other.start[1]))
                end = (max(earlier.end[0], other.end[0]), max(earlier.end[1], other.end[1]))
                union = Holder(earlier.item, start, end, tuple(sorted({*earlier.names, *other.names})))
                return _united([*(holder for holder in holders if holder not in (earlier, other)), union])
    return holders


# --- what follows from a holder -------------------------------------------------------------------------


class Step(NamedTuple):
    """A hop: relation, start, value, statement, the value in words, the item or the date that it is."""

    relation: str
    start: str
    value: str
    name: str
    label: str
    item: str | None
    date: Moment | None


class Chain(NamedTuple):
    """A path from a holder; `holder` counts from 0, the newest."""

    holder: int
    steps: tuple[Step, ...]

    def id_in(self, subject: str, relation: str, holder: Holder) -> str:
        """The id of the related fact."""
        steps = (f"{step.relation} {step.start} {step.value} {step.name}" for step in self.steps)
        return row_id(subject, relation, holder.item, " ".join(holder.names), *steps)


def row_id(*parts: str) -> str:
    """The first 16 hexadecimal digits of the SHA-256 of the parts."""
    return hashlib.sha256("|".join(parts).encode()).hexdigest()[:16]


class Graph:
    """The edges of items along immutable facts; the lines are those read so far."""

    def __init__(
        self, dump: Mapping[str, Entity], classes: Any, method: TempRippleWording, supplied: Mapping[str, str]
    ):
        self._dump, self._classes, self._method, self._supplied = dump, classes, method, supplied
        self._edges: dict[str, list[Step]] = {}

    def label(self, name: str) -> str | None:
        """The label of an item; None without one."""
        line = self._dump.get(name)
        return (line.label if line else None) or self._supplied.get(name)

    def is_a(self, name: str, types: Sequence[str]) -> bool:
        """Whether an item is of one of the types, as far as P31 and P279 reach."""
        line = self._dump.get(name)
        if "any" in types or line is None:
            return "any" in types
        reached = closure(self._classes, line.best_classes, self._method.settings["type_depth"])
        return any(class_ in types for number in reached for class_ in self._method.classes.get(number, ()))

    def values(self, name: str) -> Iterator[str]:
        """The items that the immutable relations of an item state, whether or not they are edges."""
        if (line := self._dump.get(name)) is not None:
            claims = (claim for relation in self._method.immutable for claim in line.of(relation))
            yield from (item for claim in claims if (item := statement_of(claim).item) is not None)

    def edges(self, name: str) -> list[Step]:
        """The edges from an item."""
        if name not in self._edges:
            self._edges[name] = list(self._steps(name))
        return self._edges[name]

    def _steps(self, name: str) -> Iterator[Step]:
        line, own = self._dump.get(name), self.label(name)
        if line is None:
            return
        for relation, (types, guard) in self._method.immutable.items():
            claims = _best(line, relation)
            if not claims or not self.is_a(name, types):
                continue
            chosen = self._lasting(claims, guard)
            if chosen is None or not self._guarded(line, name, chosen, guard):
                continue
            label = self.label(chosen.item) if chosen.item else _text(chosen)
            if not label or (self._method.settings["leak_check"] and own and contains(own, label)):
                continue
            assert chosen.value is not None
            yield Step(relation, name, chosen.value, chosen.name, label, chosen.item, chosen.date)

    def _lasting(self, claims: Sequence[DatedValue], guard: str) -> DatedValue | None:
        """The statement of the one value that held over the whole window."""
        first, last = self._method.immutable_span
        rivals = [
            claim
            for claim in claims
            if (claim.end is None or claim.end[1] > first) and claim.start[0] <= last
        ]
        if len({rival.value for rival in rivals}) != 1 or rivals[0].value is None:
            return None
        lasting = [
            rival
            for rival in rivals
            if not rival.bad and rival.end and rival.start[1] <= first and rival.end[0] >= last
            and (rival.has_start or not (self._method.settings["immutable"]["require_start"] or guard == "S"))
        ]  # fmt: skip
        return min(lasting, key=lambda claim: claim.name, default=None)

    def _guarded(self, line: Entity, name: str, chosen: DatedValue, guard: str) -> bool:
        before = self._method.immutable_span[0]
        if chosen.snak == "value" and chosen.item is None and chosen.date is not None:
            if chosen.date.precision < 9 or (guard == "V" and chosen.date.days[1] > before):
                return False
        elif guard == "V":
            return False
        if guard == "D":
            deaths = [death.date.days[1] for death in _best(line, "P570") if death.date]
            if not deaths or max(deaths) > before:
                return False
        births = _best(line, "P569" if self.is_a(name, ["human"]) else "P571")
        dates = [birth.date.days for birth in births if birth.date]
        return not dates or min(dates)[1] <= before

    def chains(self, subject: str, holders: Sequence[Holder]) -> Iterator[Chain]:
        """All chains of up to three hops from the holders of a timeline."""
        own = self.label(subject) if self._method.settings["leak_check"] else None
        for number, holder in enumerate(holders):
            waiting: list[tuple[Chain, tuple[str, ...]]] = [(Chain(number, ()), (subject, holder.item))]
            while waiting:
                chain, nodes = waiting.pop()
                for step in self.edges(nodes[-1]):
                    if step.item in nodes or contains(own or "", step.label):
                        continue
                    longer = Chain(number, (*chain.steps, step))
                    yield longer
                    if step.item and len(longer.steps) < 3:
                        waiting.append((longer, (*nodes, step.item)))


def _best(line: Entity, relation: str) -> list[DatedValue]:
    """The statements of best rank that do not say that there is no value."""
    claims = [statement_of(claim) for claim in line.of(relation)]
    preferred = [claim for claim in claims if claim.rank == "preferred"]
    return [claim for claim in preferred or claims if claim.snak != "novalue"]


def _text(chosen: DatedValue) -> str | None:
    if chosen.date is not None:
        return date_text(chosen.date.written, chosen.date.precision)
    value = chosen.value or ""
    code, colon, text = value.partition(":")
    has_language = colon and 1 < len(code) <= 12 and code == code.lower() and " " not in code
    return text if has_language else value
