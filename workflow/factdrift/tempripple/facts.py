"""Mutable facts: what changed in the period, and what it was before."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterator
from typing import NamedTuple

import pyarrow as pa

from factdrift.tempripple.claims import groups
from factdrift.tempripple.dates import ALWAYS, NEVER, arrow_day, packed_day
from factdrift.tempripple.kinds import Kinds
from factdrift.tempripple.method import Method
from factdrift.tempripple.names import Names
from factdrift.tempripple.parallels import mark_facts
from factdrift.tempripple.phrases import holder_phrase, ordinal_text, question, statement
from factdrift.tempripple.relations import Mutable, Relations
from factdrift.tempripple.schemas import Row, dropped, row_id
from factdrift.tempripple.sources import Source
from factdrift.tempripple.timelines import Dropped, Holding, Timeline, timeline
from factdrift.tempripple.types import Match, Types, ids
from factdrift.wikidata.ids import entity_id, property_id


class Found(NamedTuple):
    """Rows of TR_FACTS and TR_DROPPED, and counts for the statistics."""

    facts: list[Row]
    dropped: list[Row]
    counts: dict[str, int]


class _Kept(NamedTuple):
    subject: int
    timeline: Timeline
    match: Match
    values: list[str]


def find_facts(source: Source, relations: Relations, method: Method, types: Types, names: Names) -> Found:
    """All facts of the timelines that changed in the period, one row for each holding."""
    found = Found([], [], Counter())
    candidates = _candidates(source, relations, method, found.counts)
    kinds = Kinds(source, types)
    for relation in relations.mutable.values():
        statements = candidates.get(relation.property, {})
        if not statements:
            continue
        found.counts["candidates"] += len(statements)
        types.fetch(statements)
        matches = {subject: types.of(subject, relation.subjects) for subject in statements}
        for subject, match in matches.items():
            if match is None:
                _drop(found, relation, subject, "no_type", statements[subject], " ".join(relation.subjects))
        typed = {subject: match for subject, match in matches.items() if match is not None}
        kept = list(_timelines(source, relation, method, types, typed, found))
        items = {kept_one.subject for kept_one in kept}
        items |= {holding.object for kept_one in kept for holding in kept_one.timeline.holdings}
        names.fetch(items)
        kinds.fetch(items)
        for kept_one in kept:
            _add(found, relation, kept_one, method, names, kinds, types)
    mark_facts(found.facts)
    return found


def _candidates(
    source: Source, relations: Relations, method: Method, counts: dict[str, int]
) -> dict[int, dict[int, list[str]]]:
    """Property -> subject -> ids of its statements that begin or end in the period, within the cap."""
    first, until = (packed_day(day.toordinal()) for day in (method.change_start, method.change_end))
    table = source.candidates(ids(relations.mutable), first, until)
    by_property: dict[int, list[tuple[str, int]]] = defaultdict(list)
    for relation, subject, name in zip(*(column.to_pylist() for column in table.columns), strict=True):
        by_property[relation].append((name, subject))
    found: dict[int, dict[int, list[str]]] = {}
    for relation, statements in by_property.items():
        statements.sort()
        counts["candidate_statements"] += len(statements)
        counts["capped_statements"] += max(0, len(statements) - method.cap_per_property)
        subjects: dict[int, list[str]] = defaultdict(list)
        for name, subject in statements[: method.cap_per_property]:
            subjects[subject].append(name)
        found[relation] = dict(sorted(subjects.items()))
    return found


def _timelines(
    source: Source, relation: Mutable, method: Method, types: Types, subjects: dict[int, Match], found: Found
) -> Iterator[_Kept]:
    """The timelines that pass all tests except the one for labels, which needs names."""
    restrictive = ids(method.numbers("restrictive_qualifiers"))
    table = source.statements(ids(subjects), ids([relation.property]), restrictive)
    excluded = _excluded(table, method, types)
    for subject, _, claims in groups(table):
        counted = [claim for claim in claims if not claim.restricted and claim.object not in excluded]
        result = timeline(counted, method)
        if isinstance(result, Dropped):
            _drop(found, relation, subject, result.reason, result.statements, result.detail)
            continue
        values = sorted({claim.value for claim in claims if claim.value is not None})
        yield _Kept(subject, result, subjects[subject], values)


def _excluded(table: pa.Table, method: Method, types: Types) -> set[int]:
    """The objects of classes that the configuration excludes."""
    if not method.exclude_object_classes:
        return set()
    objects = set(table["object"].drop_null().to_pylist())
    types.fetch(objects)
    classes = set(method.numbers("exclude_object_classes"))
    return {item for item in objects if not classes.isdisjoint(types.reached(item))}


def _add(
    found: Found,
    relation: Mutable,
    kept: _Kept,
    method: Method,
    names: Names,
    kinds: Kinds,
    types: Types,
) -> None:
    """Adds the rows of one timeline, or drops it if its subject or any object has no label."""
    holdings = kept.timeline.holdings
    named = [kept.subject, *(holding.object for holding in holdings)]
    nameless = sorted({item for item in named if names.label(item) is None})
    if nameless:
        statements = sorted(name for holding in holdings for name in holding.statements)
        _drop(found, relation, kept.subject, "no_label", statements, " ".join(map(entity_id, nameless)))
        return
    found.counts["timelines"] += 1
    for place, holding in enumerate(holdings, start=1):
        subject, value = (
            names.in_sentence(item, types.instances(item)) for item in (kept.subject, holding.object)
        )
        row = _fact(relation, kept, place, method, names, (subject, value))
        found.facts.append(row | {"o_kinds": kinds.of(kept.subject, holding.object)})


def _fact(
    relation: Mutable,
    kept: _Kept,
    place: int,
    method: Method,
    names: Names,
    inside: tuple[str, str],
) -> Row:
    """The row of the holding at a place, from 1; `inside`: names of subject and object inside a sentence."""
    holding, (subject, value) = kept.timeline.holdings[place - 1], inside
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
        "duration_days": _duration(holding, method),
        "n_timeline": len(kept.timeline.holdings),
        "n_changes": kept.timeline.changes,
        "returning": kept.timeline.returning(holding),
        "s_type": kept.match.type,
        "stmt_ids": list(holding.statements),
        "statement": statement(phrase, value),
        "question": question(relation.wh, phrase, "is" if is_new else "was"),
        "s_class": entity_id(kept.match.class_number),
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


def _drop(
    found: Found,
    relation: Mutable,
    subject: int,
    reason: str,
    statements: tuple[str, ...] | list[str],
    detail: str,
) -> None:
    s, p = entity_id(subject), property_id(relation.property)
    found.dropped.append(dropped(s, p, reason, statements, detail, "mutable"))
