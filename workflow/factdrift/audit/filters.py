"""The filters of a dump once more: which filter drops each statement, decided one statement at a time.

A dump is a `Dump` of dataclasses. Everything is decided by if and else, with the constants written here
again; nothing comes from the stage. The audit reads dumps into it (`of_rules.py`), tests the build's tables.
"""

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

PAPER_DATATYPES = {
    "url", "external-id", "commonsMedia", "globe-coordinate", "geo-shape", "tabular-data", "wikibase-lexeme",
    "wikibase-form", "wikibase-sense", "entity-schema", "musical-notation", "math",
}  # fmt: skip
REFERENCE_DATATYPES = {"url", "external-id", "commonsMedia", "globe-coordinate"}
PAGES = {4167410, 13406463, 4167836, 11266439, 14204246, 17362920, 15184295, 17442446}
META, RESTRICTIVE, NOT_RESTRICTIVE, ALWAYS_RESTRICTIVE = 51118821, 61719275, 61719274, 105388954
START, END, PIT = 580, 582, 585


@dataclass(frozen=True)
class How:
    """The method: the variant with its switches, and the two dates as packed days."""

    variant: str
    dates: str
    objects: str
    merges: str
    leaks: str
    t_old: int
    t_new: int


@dataclass(frozen=True, order=True)
class Span:
    """First and last day that a date can mean; the same day twice where dates are read as days."""

    low: int
    high: int

    def before(self, day: int) -> bool:
        return self.high < day

    def after(self, day: int) -> bool:
        return self.low > day


@dataclass(frozen=True)
class Statement:
    subject: int
    property: int
    id: str
    rank: str
    snak: str
    datatype: str
    object: int | None
    key: str
    json: str | None
    time: Span | None
    precision: int | None
    start: Span | None
    start_unknown: bool
    end: Span | None
    end_unknown: bool
    pit: Span | None
    qualifiers: frozenset[int]


@dataclass(frozen=True)
class Entity:
    label: str | None
    article: bool
    classes: tuple[int, ...]
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Relation:
    single_value: bool = False
    separators: frozenset[int] = frozenset()
    classes: tuple[int, ...] = ()
    label: str | None = None
    datatype: str | None = None
    aliases: tuple[str, ...] = ()


@dataclass(frozen=True)
class Dump:
    statements: tuple[Statement, ...]
    entities: Mapping[int, Entity]
    relations: Mapping[int, Relation]
    superclasses: Mapping[int, tuple[int, ...]]
    class_labels: Mapping[int, str | None]

    def relation(self, number: int) -> Relation:
        return self.relations.get(number, Relation())


# --- the filters of one dump ----------------------------------------------------------------------------


def closure(
    superclasses: Mapping[int, tuple[int, ...]], classes: Iterable[int], steps: int | None = None
) -> set[int]:
    """The classes and their superclasses up to `steps` steps away; None for all."""
    reached = set(classes)
    edge, taken = reached, 0
    while edge and taken != steps:
        edge = {parent for class_ in edge for parent in superclasses.get(class_, ())} - reached
        reached |= edge
        taken += 1
    return reached


def relevant_in(dump: Dump, entity: int, how: How) -> bool:
    if entity not in dump.entities or not dump.entities[entity].article:
        return False
    classes = dump.entities[entity].classes
    if how.variant == "reference":
        labels = [dump.class_labels.get(number) or "" for number in classes]
        return not any("Wikimedia" in label or "template" in label for label in labels)
    return not closure(dump.superclasses, classes) & PAGES


def relevant(dump: Dump, other: Dump, entity: int, how: How) -> bool:
    if relevant_in(dump, entity, how):
        return True
    if how.variant == "revised" and entity in dump.entities:
        return relevant_in(other, entity, how)
    return False


def restrictive(dump: Dump, qualifier: int) -> bool:
    if qualifier in (START, END, PIT):
        return False
    if qualifier == 447:
        return True
    types = closure(dump.superclasses, dump.relation(qualifier).classes, 3)
    return ALWAYS_RESTRICTIVE in types or (RESTRICTIVE in types and NOT_RESTRICTIVE not in types)


def temporal_functional(relation: Relation, how: How) -> bool:
    if not relation.single_value:
        return False
    if how.variant == "reference":
        return True
    return not relation.separators or bool(relation.separators & {START, END, PIT})


def latest(statements: Iterable[Statement]) -> list[Statement]:
    """The latest by date, alone; of the same date the preferred one, then the one with the smallest id."""
    by_id = sorted(statements, key=lambda statement: statement.id)
    return [max(by_id, key=lambda statement: (statement.pit, statement.rank == "preferred"))] if by_id else []


def kept_as_latest(group: list[Statement], relation: Relation, day: int, how: How) -> list[Statement]:
    dated = [statement for statement in group if statement.pit is not None]
    if not dated:
        return group
    if how.variant == "reference":
        if not relation.single_value or PIT not in relation.separators:
            return group
        return latest(dated)
    if not temporal_functional(relation, how):
        return group
    preferred = [statement for statement in group if statement.rank == "preferred"]
    if len(dated) < len(group) and len(preferred) == 1:
        return preferred
    return latest(
        statement for statement in dated if statement.pit is not None and not statement.pit.after(day)
    )


def has_text(statement: Statement) -> bool:
    """Whether a value can be written otherwise than as JSON: an entity, a text, or a field that names it."""
    if statement.object is not None:
        return True
    content = json.loads(statement.json or "null")
    if isinstance(content, dict):
        return any(isinstance(content.get(name), str) for name in ("time", "amount", "text", "id"))
    return isinstance(content, str)


def filtered(dump: Dump, other: Dump, constraints: Dump, day: int, how: How) -> dict[str, str | None]:
    """Statement id -> the first filter that drops it, None if it is kept."""
    dropped: dict[str, str | None] = {}
    known: dict[int, bool] = {}

    def is_relevant(entity: int) -> bool:
        if entity not in known:
            known[entity] = relevant(dump, other, entity, how)
        return known[entity]

    groups: dict[tuple[int, int], list[Statement]] = {}
    for statement in dump.statements:
        datatypes = REFERENCE_DATATYPES if how.variant == "reference" else PAPER_DATATYPES
        reason: str | None = None
        if statement.rank == "deprecated":
            reason = "rank"
        elif statement.snak in ("somevalue", "novalue"):
            reason = "snak"
        elif statement.datatype in datatypes or not has_text(statement):
            reason = "datatype"
        elif not is_relevant(statement.subject):
            reason = "subject"
        elif how.objects == "relevant" and statement.object and not is_relevant(statement.object):
            reason = "object"
        elif META in closure(dump.superclasses, dump.relation(statement.property).classes, 3):
            reason = "meta_relation"
        elif any(restrictive(dump, qualifier) for qualifier in statement.qualifiers):
            reason = "restrictive_qualifier"
        else:
            groups.setdefault((statement.subject, statement.property), []).append(statement)
        dropped[statement.id] = reason
    for (_, property_), group in groups.items():
        relation = constraints.relation(property_)
        still = kept_as_latest(group, relation, day, how)
        for statement in group:
            if statement not in still:
                dropped[statement.id] = "keep_latest"
        preferred = [statement for statement in still if statement.rank == "preferred"]
        if relation.single_value and len(still) > 1 and len(preferred) == 1:
            for statement in still:
                if statement not in preferred:
                    dropped[statement.id] = "preferred"
    return dropped
