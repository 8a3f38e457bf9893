"""Mutable facts: what changed in the period, and what it was before."""

import sys
from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from factdrift.core.errors import InputError
from factdrift.tempripple.claims import ALWAYS, NEVER, arrow_day, groups
from factdrift.tempripple.method import Method
from factdrift.tempripple.phrases import holder_phrase, ordinal_text, question, statement
from factdrift.tempripple.relations import Relation
from factdrift.tempripple.schemas import Row, row_id
from factdrift.tempripple.search import Found, Match, Search, ids
from factdrift.tempripple.timelines import Dropped, Holding, Timeline, timeline
from factdrift.wikidata.ids import entity_id, property_id
from factdrift.wikidata.time import pack_date


class _Kept(NamedTuple):
    subject: int
    timeline: Timeline
    match: Match
    values: list[str]


def check_presence(search: Search) -> dict[str, list[str]]:
    """What the source lacks of the properties and classes of the method, and what it calls otherwise.

    Lines of text under `missing` and `renamed`, which are printed as warnings. Raises InputError if a
    property has another datatype, and, unless the snapshot is a slice, if a property or class is missing.
    """
    relations = search.relations
    properties = {**relations.immutable, **relations.mutable}
    expected = {property_id(number): properties[number].label for number in sorted(properties)}
    expected |= {entity_id(entry.number): entry.label for entry in relations.types}
    found: dict[str, str | None] = {}
    for row in search.source.declarations(ids(properties)).to_pylist():
        relation = properties[row["id"]]
        name = property_id(relation.property)
        found[name] = row["label"]
        if row["datatype"] != relation.datatype:
            raise InputError(
                f"the snapshot knows {name} ({row['label']}) with the datatype {row['datatype']}, "
                f"TempRIPPLE as {relation.datatype}; correct its row in resources/tempripple/"
            )
    for row in search.source.terms(ids(entry.number for entry in relations.types)).to_pylist():
        found[entity_id(row["id"])] = row["label"]
    missing = [f"{name} {label}" for name, label in expected.items() if name not in found]
    renamed = [
        f"{name}: {label!r} is called {found[name]!r}"
        for name, label in expected.items()
        if name in found and found[name] != label
    ]
    if missing and not search.method.slice:
        raise InputError(
            "the snapshot lacks properties or classes that TempRIPPLE needs: "
            f"{', '.join(missing)}; for a slice of Wikidata set 'tempripple.slice: true', which "
            "takes them from the bundled tables"
        )
    for line in [*(f"not in the snapshot: {name}" for name in missing), *renamed]:
        print(f"warning: {line}", file=sys.stderr)
    return {"missing": missing, "renamed": renamed}


def find_facts(search: Search) -> Found:
    """All facts of the timelines that changed in the period, one row for each holding."""
    found, types = Found("mutable"), search.types
    candidates = _candidates(search, found.counts)
    for relation in search.relations.mutable.values():
        statements = candidates.get(relation.property, {})
        if not statements:
            continue
        found.counts["candidates"] += len(statements)
        types.fetch(statements)
        matches = {subject: types.of(subject, relation.subjects) for subject in statements}
        for subject, match in matches.items():
            if match is None:
                wanted = " ".join(relation.subjects)
                found.drop(subject, relation.property, "no_type", statements[subject], wanted)
        typed = {subject: match for subject, match in matches.items() if match is not None}
        changed = list(_timelines(search, relation, typed, found))
        items = {kept.subject for kept in changed}
        items |= {holding.object for kept in changed for holding in kept.timeline.holdings}
        search.names.fetch(items)
        types.fetch_kinds(items)
        for kept in changed:
            _add(found, relation, kept, search)
    found.mark(found.rows)
    return found


def _candidates(search: Search, counts: Counter[str]) -> dict[int, dict[int, list[str]]]:
    """Property -> subject -> ids of its statements that begin or end in the period, within the cap."""
    method = search.method
    period = pack_date(method.change_start), pack_date(method.change_end)
    table = search.source.candidates(ids(search.relations.mutable), *period)
    by_property: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for relation, subject, name in zip(*(column.to_pylist() for column in table.columns), strict=True):
        by_property[relation].append((name, subject))
    candidates: dict[int, dict[int, list[str]]] = {}
    for relation, statements in by_property.items():
        statements.sort()
        counts["candidate_statements"] += len(statements)
        counts["capped_statements"] += max(0, len(statements) - method.cap_per_property)
        subjects: dict[int, list[str]] = defaultdict(list)
        for name, subject in statements[: method.cap_per_property]:
            subjects[subject].append(name)
        candidates[relation] = dict(sorted(subjects.items()))
    return candidates


def _timelines(
    search: Search, relation: Relation, subjects: dict[int, Match], found: Found
) -> Iterator[_Kept]:
    """The timelines that pass all tests except the one for labels, which needs names."""
    restrictive = ids(search.method.numbers("restrictive_qualifiers"))
    table = search.source.statements(ids(subjects), ids([relation.property]), restrictive)
    excluded = _excluded(table, search)
    for subject, _, claims in groups(table):
        counted = [claim for claim in claims if not claim.restricted and claim.object not in excluded]
        result = timeline(counted, search.method)
        if isinstance(result, Dropped):
            found.drop(subject, relation.property, *result)
            continue
        values = sorted({claim.value for claim in claims if claim.value is not None})
        yield _Kept(subject, result, subjects[subject], values)


def _excluded(table: pa.Table, search: Search) -> set[int]:
    """The objects of classes that the configuration excludes."""
    classes = set(search.method.numbers("exclude_object_classes"))
    if not classes:
        return set()
    objects = set(table["object"].drop_null().to_pylist())
    search.types.fetch(objects)
    return {item for item in objects if not classes.isdisjoint(search.types.reached(item))}


def _add(found: Found, relation: Relation, kept: _Kept, search: Search) -> None:
    """Adds the rows of one timeline, or drops it if its subject or any object has no label."""
    holdings, names = kept.timeline.holdings, search.names
    named = [kept.subject, *(holding.object for holding in holdings)]
    nameless = sorted({item for item in named if not names.label(item)})
    if nameless:
        statements = sorted(name for holding in holdings for name in holding.statements)
        detail = " ".join(map(entity_id, nameless))
        found.drop(kept.subject, relation.property, "no_label", statements, detail)
        return
    found.counts["timelines"] += 1
    for place, holding in enumerate(holdings, start=1):
        row = _fact(relation, kept, place, search)
        found.rows.append(row | {"o_kinds": search.types.kinds(kept.subject, holding.object)})


def _fact(relation: Relation, kept: _Kept, place: int, search: Search) -> Row:
    """The row of the holding at a place, from 1."""
    holding, names = kept.timeline.holdings[place - 1], search.names
    subject, value = (
        names.in_sentence(item, search.types.instances(item)) for item in (kept.subject, holding.object)
    )
    s, p, o = entity_id(kept.subject), property_id(relation.property), entity_id(holding.object)
    words = ordinal_text(place)
    phrase = holder_phrase(relation.phrase, words, subject)
    is_new = place == 1
    return {
        "fact_id": row_id(s, p, o, " ".join(holding.statements)),
        "s": s,
        "p": p,
        "o": o,
        "s_label": names.label(kept.subject),
        "o_label": names.label(holding.object),
        "role": "new" if is_new else "old",
        "ordinal": place,
        "ordinal_text": words,
        "start_lo": arrow_day(holding.start.lo),
        "start_hi": arrow_day(holding.start.hi),
        "end_lo": arrow_day(holding.end.lo),
        "end_hi": arrow_day(holding.end.hi),
        "start_prec": holding.start_precision,
        "end_prec": holding.end_precision,
        "duration_days": _duration(holding, search.method),
        "n_timeline": len(kept.timeline.holdings),
        "n_changes": kept.timeline.changes,
        "returning": kept.timeline.returning(holding),
        "s_type": kept.match.type,
        "stmt_ids": list(holding.statements),
        "statement": statement(phrase, value),
        "question": question(relation.wh, phrase, "is" if is_new else "was"),
        "s_class": kept.match.class_id,
        "phrase": phrase,
        "o_aliases": names.aliases(holding.object),
        "known_values": kept.values,
    }


def _duration(holding: Holding, method: Method) -> int | None:
    """Days from the first possible start to the first possible end or the snapshot; None without a start."""
    if holding.start.lo == ALWAYS:
        return None
    end = method.snapshot_date.toordinal() if holding.end.lo == NEVER else holding.end.lo
    return max(0, end - holding.start.lo)
