"""The difference, the rules and the scenarios once more: what the updates of two dumps must be.

`updates` gives the triples of two dumps with their labels and what becomes of them, decided one triple at a
time by if and else, with the constants written here again; nothing comes from the stage itself. The audit
decides about sampled subjects with it, and the tests compare it with the stage on random small worlds.
"""

import operator
from collections import defaultdict
from collections.abc import Mapping, Set
from dataclasses import dataclass, field
from typing import Any

from factdrift.audit.conclusions import Group, Triple, finish, leaks
from factdrift.audit.filters import Dump, How, Span, Statement, filtered, temporal_functional

CREATION = {571, 569, 580, 575, 1619, 6949, 585, 577}
DEATH = {570, 4602}


# --- the difference -------------------------------------------------------------------------------------


def pairing(old: list[Statement], new: list[Statement]) -> list[tuple[Statement, Statement]]:
    """The statements of one value, matched one to one, the closest pairs first."""

    def closeness(pair: tuple[Statement, Statement]) -> tuple[Any, ...]:
        a, b = pair
        dates = ([(c.start, c.start_unknown), (c.end, c.end_unknown), c.pit] for c in pair)
        equal = sum(map(operator.eq, *dates))
        return (a.id != b.id, -equal, -len(a.qualifiers & b.qualifiers), a.id, b.id)

    chosen: list[tuple[Statement, Statement]] = []
    for a, b in sorted(((a, b) for a in old for b in new), key=closeness):
        if all(a is not taken for taken, _ in chosen) and all(b is not taken for _, taken in chosen):
            chosen.append((a, b))
    return chosen


def difference(old: list[Statement], new: list[Statement], how: How) -> dict[tuple[int, int], Group]:
    """The triples by (subject, property): in the old dump's order, then what only the new dump has."""

    def value(statement: Statement) -> tuple[Any, ...]:
        exact = statement.json if how.variant == "reference" and statement.json is not None else statement.key
        return (statement.subject, statement.property, statement.datatype, exact)

    values: dict[tuple[Any, ...], tuple[list[Statement], list[Statement]]] = defaultdict(lambda: ([], []))
    for which, statements in enumerate((old, new)):
        for statement in statements:
            values[value(statement)][which].append(statement)
    partner: dict[str, Statement] = {}
    taken: set[str] = set()
    for both in values.values():
        for a, b in pairing(*both):
            partner[a.id] = b
            taken.add(b.id)
    groups: dict[tuple[int, int], Group] = defaultdict(list)
    for statement in old:
        match = partner.get(statement.id)
        triple = Triple("F0" if match else "F-", statement, match)
        groups[statement.subject, statement.property].append(triple)
    for statement in new:
        if statement.id not in taken:
            groups[statement.subject, statement.property].append(Triple("F+", None, statement))
    return groups


# --- new entities ---------------------------------------------------------------------------------------


Dates = list[tuple[int, Span, int]]
"""The dates of an entity, in the order of its statements: property, days, precision."""


def is_new(dates: Dates, how: How) -> bool:
    """Whether the dates of an entity, of the properties CREATION, make it one that began after T_old."""
    coarse: list[int] = []  # the last days of publications whose dates say less than a year
    if how.variant == "revised":
        coarse = [time.high for property_, time, precision in dates if precision < 9 and property_ == 577]
        dates = [date for date in dates if date[2] >= 9]
    if how.variant == "reference" and dates:
        first = dates[0][0]
        dates = [date for date in dates if date[0] == first] if first == 577 else dates[:1]
    days = [time.low for property_, time, _ in dates if property_ != 577]
    published = [time.low for property_, time, _ in dates if property_ == 577]
    # A later edition of an older work is no new one.
    if published and not any(last < min(published) for last in coarse):
        days.append(min(published))
    return any(day > how.t_old for day in days)


def new_entities(old: Dump, new: Dump, groups: Mapping[tuple[int, int], Group], how: How) -> set[int]:
    known = {t.any.subject for group in groups.values() for t in group if t.change in ("F-", "F0")}
    dates: dict[int, Dates] = defaultdict(list)
    for statement in new.statements:
        if (
            statement.property in CREATION
            and statement.rank != "deprecated"
            and statement.snak == "value"
            and statement.time
            and statement.precision is not None
        ):
            dates[statement.subject].append((statement.property, statement.time, statement.precision))
    return {
        subject
        for subject, dated in dates.items()
        if subject not in known
        and not (how.variant == "revised" and subject in old.entities)
        and is_new(dated, how)
    }


# --- the rules ------------------------------------------------------------------------------------------


@dataclass
class Case:
    """The properties of one triple on which the rules depend."""

    how: How
    triple: Triple
    group: Group
    born: bool
    only_removed: bool
    merged: bool
    object_born: bool
    functional: bool
    single_value: bool
    start: Span | None = field(init=False)
    end: Span | None = field(init=False)
    ended: bool = field(init=False)
    """Whether an end is stated; an unknown date (`somevalue`) counts."""
    pit: Span | None = field(init=False)

    def __post_init__(self) -> None:
        source = self.triple.new
        if source is None and self.how.variant != "reference":
            source = self.triple.old
        if source is None:
            self.start = self.end = self.pit = None
            self.ended = False
            return
        self.pit = source.pit
        self.start = None if source.start_unknown else source.start
        if self.how.variant != "reference" and source.start is None and not source.start_unknown:
            self.start = source.pit
        self.end = None if source.end_unknown else source.end
        self.ended = source.end is not None or source.end_unknown

    def inside(self, span: Span | None) -> bool:
        return span is not None and span.after(self.how.t_old) and span.before(self.how.t_new)

    def before(self, span: Span | None) -> bool:
        return span is not None and span.before(self.how.t_old)

    def after(self, span: Span | None) -> bool:
        return span is not None and span.after(self.how.t_new)


def measured(triple: Triple) -> bool:
    """The new dump states a quantity with a point in time and nothing else about its time."""
    statement = triple.new
    if statement is None or statement.datatype != "quantity" or statement.pit is None:
        return False
    return not (statement.start or statement.start_unknown or statement.end or statement.end_unknown)


def decide(case: Case) -> tuple[str, str]:
    """(rule, label) of the first rule that holds."""
    change, start, end = case.triple.change, case.start, case.end
    changes = [claim.change for claim in case.group]
    swap = sorted(changes) == ["F+", "F-"]
    reference, revised = case.how.variant == "reference", case.how.variant == "revised"
    stands = change in ("F0", "F+")
    if case.born:
        return "new_subject", "new"
    if case.only_removed:
        return "subject_gone", "unknown"
    if case.triple.any.property in DEATH:
        if change == "F+" and len(case.group) == 1 and case.inside(case.triple.any.time):
            return "death", "new"
        return "death_unclear", "unknown"
    if case.merged:
        return "merged_or_deleted", "unknown"
    if start is not None and end is not None and start.low > end.high:
        return "ends_before_start", "unknown"
    if case.functional and swap and change == "F+":
        if case.inside(case.pit):
            return "replaced_at", "new"
        if case.inside(start) and (not case.ended or case.after(end)):
            return "replaced_from", "new"
    if reference and case.single_value:
        return "undecided", "unknown"
    if revised and measured(case.triple):
        series = [claim.any.pit for claim in case.group if measured(claim)]
        later = [claim for claim in series if claim and case.pit and claim.low > case.pit.high]
        if case.before(case.pit):
            if any(case.before(claim) for claim in later):
                return "outdated", "ignore"
            if any(case.inside(claim) for claim in series):
                return "superseded", "obsolete"
        elif case.inside(case.pit) and any(case.inside(claim) for claim in later):
            return "outdated", "ignore"
    if change == "F+" and case.inside(case.pit):
        return "measured_inside", "new"
    if case.before(end):
        return "ended_before", "ignore"
    if not case.ended and case.before(start) and stands:
        return "still_holds", "static"
    if not case.ended and case.inside(start) and stands:
        return "began_inside", "new"
    if revised and case.after(end) and case.inside(start) and stands:
        return "began_inside", "new"
    if case.after(start):
        return "begins_after", "ignore"
    if case.inside(start) and case.inside(end):
        return "began_and_ended", "ignore"
    if case.before(start) and case.inside(end):
        return "ended_inside", "obsolete"
    if case.before(start) and case.after(end) and stands:
        return "planned_end", "static"
    if case.inside(end):
        return "end_inside", "obsolete"
    if case.after(end) and stands:
        return "end_after", "static"
    if reference and change == "F-":
        assert case.triple.old is not None
        if not case.triple.old.end_unknown and case.before(case.triple.old.end):
            return "removed_after_end", "ignore"
    if change == "F+" and case.object_born:
        return "new_object", "new"
    return "undecided", "unknown"


def second_pass(group: Group, functional: bool, how: How) -> None:
    if len(group) != 2 or not functional:
        return
    for one, other in (group, reversed(group)):
        if one.label != "new" or other.change != "F-" or other.rule == "merged_or_deleted":
            continue
        if other.label == "unknown" or (how.variant != "reference" and other.label != "obsolete"):
            other.rule, other.label = "replaced", "obsolete"


def updates(
    old: Dump,
    new: Dump,
    how: How,
    born_objects: Set[int] = frozenset(),
    supplied: Mapping[int, str] | None = None,
) -> list[Triple]:
    """All triples of two dumps as the stage should leave them, group by group.

    `born_objects`: new entities among the objects whose own statements are not in the dumps given here.
    `supplied`: labels for entities that the dumps lack.
    """
    old_dropped = filtered(old, new, new if how.variant == "reference" else old, how.t_old, how)
    new_dropped = filtered(new, old, new, how.t_new, how)
    groups = difference(
        [statement for statement in old.statements if old_dropped[statement.id] is None],
        [statement for statement in new.statements if new_dropped[statement.id] is None],
        how,
    )
    born = new_entities(old, new, groups, how) | born_objects
    present = {t.any.subject for group in groups.values() for t in group if t.change in ("F0", "F+")}

    def vanished(entity: int | None) -> bool:
        return how.merges == "detect" and entity in old.entities and entity not in new.entities

    def names_of(entity: int) -> tuple[str, ...]:
        for dump in (new, old):
            line = dump.entities.get(entity) if entity > 0 else dump.relations.get(-entity)
            if line is not None and line.label is not None:
                return (line.label, *line.aliases)
        label = (supplied or {}).get(entity)
        return () if label is None else (label,)

    def label_of(entity: int) -> str | None:
        return next(iter(names_of(entity)), None)

    for (subject, property_), group in groups.items():
        functional = temporal_functional(new.relation(property_), how)
        for triple in group:
            removed = triple.change == "F-"
            case = Case(
                how=how,
                triple=triple,
                group=group,
                born=subject in born,
                only_removed=subject not in present,
                merged=removed and (vanished(triple.any.object) or vanished(subject)),
                object_born=triple.any.object in born,
                functional=functional,
                single_value=new.relation(property_).single_value,
            )
            triple.rule, triple.label = decide(case)
            triple.announced = triple.rule == "began_inside" and triple.change == "F0"
            triple.leaks = leaks(triple.any, names_of)
            triple.subject_is_ph_new = subject in born
            triple.relation_is_temp_func = functional
        second_pass(group, functional, how)
        finish(group, label_of, how)
    return [triple for _, group in sorted(groups.items()) for triple in group]
