"""What the rules make of sampled subjects, worked out from the dumps, and how the dataset differs from it.

Lines of a dump are read as the second implementation of the method takes them.
"""

import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from typing import Any, NamedTuple

from qwikidata.claim import WikidataClaim

from factdrift.audit import filters
from factdrift.audit.conclusions import Triple
from factdrift.audit.dates import Day, packed, span
from factdrift.audit.expected import is_new, updates
from factdrift.audit.filters import Dump, How, Relation, Span, Statement, relevant_in
from factdrift.audit.kinds import FAILED, PASSED, UNCHECKED
from factdrift.audit.lines import Entity, item_number
from factdrift.audit.of_tables import differing
from factdrift.audit.of_updates import Finding, outcomes
from factdrift.audit.survey import Survey
from factdrift.audit.values import END, POINT, START, identity, is_unknown, plain, times
from factdrift.core.columns import Row
from factdrift.core.switches import switches

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
    if (triples := groups.due.get(key)) is None:
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
        if (triple := by_name.get(own)) is None:
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


# --- dumps as the rules read them -----------------------------------------------------------------------


def method_of(configuration: Mapping[str, Any], t_old: Day, t_new: Day) -> How:
    """The variant with its switches, as the configuration of a build chooses them."""
    chosen = switches(configuration)
    own = {name: chosen[name] for name in ("dates", "objects", "merges", "leaks")}
    return How(configuration["variant"], t_old=packed(t_old), t_new=packed(t_new), **own)


def read(value: Mapping[str, Any], how: How) -> Span | None:
    """The days that a date may mean, as the variant reads it; None if it cannot be read."""
    if (date := span(value)) is None:
        return None
    if how.dates == "interval":
        return Span(packed(date.first), packed(date.last))
    if how.variant == "reference":
        day = packed(date.written)
    elif value["precision"] >= 9:
        day = packed(date.first)
    else:
        year = re.match(r"([+-])0*(\d+)-", value["time"])
        assert year is not None  # span() has read it
        day = packed((int(year[2]) * (-1 if year[1] == "-" else 1), 1, 1))
    return Span(day, day)


def dump_of(entities: Mapping[str, Entity], subjects: Mapping[str, Entity], survey: Survey, how: How) -> Dump:
    """A dump that has the statements of `subjects`, and of all `entities` the label, article and classes."""
    statements = [
        _statement(int(entity.id[1:]), claim, survey.relations, how)
        for entity in subjects.values()
        for group in entity.claims.values()
        for claim in group
    ]
    known = {**entities, **subjects}
    briefs = {
        int(name[1:]): filters.Entity(
            plain(entity.label) or None, entity.has_article, entity.classes, tuple(entity.aliases)
        )
        for name, entity in known.items()
        if name[:1] == "Q"
    }
    labels = {int(name[1:]): entity.label for name, entity in known.items() if name[:1] == "Q"}
    return Dump(tuple(statements), briefs, survey.relations, survey.classes, labels)


def _statement(subject: int, claim: WikidataClaim, relations: Mapping[int, Relation], how: How) -> Statement:
    main = claim.mainsnak
    property_ = int(claim.property_id[1:])
    known = relations.get(property_)
    has_value = main.snaktype == "value"
    value: Any = main.datavalue.value if has_value else None
    is_time = has_value and main.value_datatype == "time"
    object_ = item_number(value)
    start, end, pit = (
        [date for value in times(claim, name) if (date := read(value, how))] for name in (START, END, POINT)
    )
    return Statement(
        subject=subject,
        property=property_,
        id=claim.claim_id.upper(),
        rank=claim.rank,
        snak=main.snaktype,
        datatype=main.snak_datatype or (known.datatype if known else None) or "",
        object=object_,
        key=repr(identity(main)),
        json=None if object_ is not None or not has_value else json.dumps(value, sort_keys=True),
        time=read(value, how) if is_time else None,
        precision=value.get("precision") if is_time else None,
        start=min(start, default=None),
        start_unknown=not start and _unknown(claim, START),
        end=max(end, default=None),
        end_unknown=not end and _unknown(claim, END),
        pit=max(pit, default=None),
        qualifiers=frozenset(int(name[1:]) for name in claim.qualifiers),
    )


def _unknown(claim: WikidataClaim, qualifier: str) -> bool:
    """Whether a qualifier without a readable date says `unknown value`, or a date that cannot be read."""
    return is_unknown(claim, qualifier) or any(times(claim, qualifier))
