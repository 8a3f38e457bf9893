"""What the rules make of sampled subjects, worked out from the dumps, and how the dataset differs from it."""

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import NamedTuple

from factdrift.audit.conclusions import Triple
from factdrift.audit.expected import is_new, updates
from factdrift.audit.filters import Dump, How, relevant_in
from factdrift.audit.kinds import FAILED, PASSED, UNCHECKED
from factdrift.audit.lines import Entity
from factdrift.audit.of_tables import differing
from factdrift.audit.of_updates import Finding, outcomes
from factdrift.audit.world import read
from factdrift.core.columns import Row

Key = tuple[str, str]
"""Subject and relation."""


class Groups(NamedTuple):
    """`due`: what must be in the dataset; `dropped`: why other groups are not; `open`: not decided here."""

    due: Mapping[Key, Sequence[Triple]]
    dropped: Mapping[Key, str]
    open: Set[Key]


def groups_of(
    old: Dump,
    new: Dump,
    how: How,
    objects: tuple[Mapping[str, Entity], Mapping[str, Entity]],
    supplied: Mapping[str, str],
) -> Groups:
    """The groups of all subjects whose statements the two dumps have.

    `objects`: of the old and of the new dump, the lines of the entities that these statements name.
    """
    born, unsure = _born(objects[0], objects[1], old, how)
    names = {int(id_[1:]): label for id_, label in supplied.items() if id_[:1] == "Q" and id_[1:].isdigit()}
    by_key: dict[Key, list[Triple]] = defaultdict(list)
    for update in updates(old, new, how, born, names):
        by_key[f"Q{update.any.subject}", f"P{update.any.property}"].append(update)
    due = {key: [triple for triple in group if triple.dropped_by is None] for key, group in by_key.items()}
    dropped = {
        key: "; ".join(dict.fromkeys(f"{triple.dropped_by} ({triple.rule})" for triple in by_key[key]))
        for key, left in due.items()
        if not left
    }
    unclear = {
        key
        for key, group in by_key.items()
        if any(
            triple.change == "F+" and triple.rule == "undecided" and triple.any.object in unsure
            for triple in group
        )
    }
    return Groups({key: left for key, left in due.items() if left}, dropped, unclear)


def _born(
    before: Mapping[str, Entity], after: Mapping[str, Entity], old: Dump, how: How
) -> tuple[set[int], set[int]]:
    """The objects that are new entities, and those for which it is unknown: these had an article before, and
    nothing but statements about entities, whose own relevance is not known here."""
    born, unsure = set(), set()
    for name, entity in after.items():
        if name[:1] != "Q" or not entity.has_article:
            continue
        number = int(name[1:])
        if how.variant == "revised" and name in before:
            continue
        dates = [
            (int(property_[1:]), date, value["precision"])
            for property_, values in entity.born.items()
            for value in values
            if (date := read(value, how))
        ]
        if not is_new(dates, how):
            continue
        line = before.get(name)
        if line is None or not relevant_in(old, number, how) or not line.says_anything:
            born.add(number)
        elif not line.says_something:
            unsure.add(number)
    return born, unsure


def missing(groups: Groups, drawn: Set[str], rows: Set[Key], narrowed: bool) -> Iterator[tuple[Key, Finding]]:
    """A finding for each group of the drawn subjects that must be in the dataset.

    `rows`: all keys of the dataset. `narrowed`: the build was asked for some groups only.
    """
    for key in sorted(groups.due):
        if key[0] not in drawn or key in groups.open:
            continue
        if key in rows:
            yield key, ("missing", PASSED, "")
        elif narrowed:
            yield key, ("missing", UNCHECKED, "the build was asked for some groups only (`only`)")
        else:
            labels = ", ".join(f"{triple.label} by {triple.rule}" for triple in groups.due[key])
            yield key, ("missing", FAILED, f"the rules make it an update ({labels}), but there is no row")


def against_rules(row: Row, groups: Groups) -> Iterator[Finding]:
    """Kinds `rules` and `scenario` of one row."""
    key = row["subject"]["id"], row["relation"]["id"]
    if key in groups.open:
        for kind in ("rules", "scenario"):
            yield kind, UNCHECKED, "whether an object is a new entity cannot be said"
        return
    triples = groups.due.get(key)
    if triples is None:
        why = groups.dropped.get(key, "no statement passes the filters")
        yield "rules", FAILED, f"the rules make no update of it: {why}"
        return
    yield from outcomes("rules", _objects(row, triples))
    first = triples[0]
    columns = ("scenario", "is_replace", "subject_is_ph_new", "relation_is_temp_func")
    due = {name: getattr(first, name) for name in columns}
    yield from outcomes("scenario", differing(row, due, "rules"))


def _objects(row: Row, triples: Sequence[Triple]) -> Iterator[str]:
    """Objects are known by their statements; their order is that of the old dump, then of the new one."""

    def name(old: str | None, new: str | None) -> Key:
        return (old or "").upper(), (new or "").upper()

    by_name = {
        name(triple.old.id if triple.old else None, triple.new.id if triple.new else None): triple
        for triple in triples
    }
    keys: list[Key] = []
    for value in row["objects"]:
        own = name(value["old_statement"], value["new_statement"])
        triple = by_name.get(own)
        if triple is None:
            yield f"{value['label']}: by the rules no object of the update has the statements {' '.join(own)}"
            continue
        if own in keys:
            yield f"{value['label']}: it occurs twice"
        keys.append(own)
        due = {name: getattr(triple, name) for name in ("rule", "announced", "leaks")}
        due["decision"] = triple.label
        yield from (f"{value['label']}: {reason}" for reason in differing(value, due, "rules"))
    for own in sorted(by_name.keys() - set(keys)):
        yield f"the object of {' '.join(filter(None, own))} ({by_name[own].label}) is missing"
    order = [own for own in by_name if own in keys]
    if order != keys and sorted(order) == sorted(keys):
        yield "the objects are not in the order of their statements"
