"""Mutable facts: what changed in the period, and what it was before."""

import sys
from collections import Counter
from collections.abc import Iterable, Iterator

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.tempripple.claims import ALWAYS, NEVER, arrow_day, groups
from factdrift.tempripple.phrases import holder_phrase, ordinal_text, question, statement
from factdrift.tempripple.relations import Relation
from factdrift.tempripple.schemas import row_id
from factdrift.tempripple.search import Match, Search, StageTables, ids
from factdrift.tempripple.timelines import Dropped, Holding, Timeline, timeline
from factdrift.wikidata.ids import entity_id, property_id
from factdrift.wikidata.time import pack_date


def check_presence(search: Search) -> dict[str, list[str]]:
    """What the source lacks of the properties and classes of the method, and what it calls otherwise.

    Lines of text under `missing` and `renamed`, which are printed as warnings. Raises InputError if a
    property has another datatype, and, unless the snapshot is a slice, if a property or class is missing.
    """
    relations = search.relations
    properties = {**relations.immutable, **relations.mutable}
    expected = {property_id(number): properties[number].label for number in sorted(properties)}
    expected |= {entity_id(entry.number): entry.label for entry in relations.types}
    labels: dict[str, str | None] = {}
    for row in search.source.declarations(ids(properties)).to_pylist():
        relation = properties[row["id"]]
        name = property_id(relation.property)
        labels[name] = row["label"]
        if row["datatype"] != relation.datatype:
            raise InputError(
                f"the snapshot knows {name} ({row['label']}) with the datatype {row['datatype']}, "
                f"TempRIPPLE as {relation.datatype}; correct its row in resources/tempripple/"
            )
    for row in search.source.terms(ids(entry.number for entry in relations.types)).to_pylist():
        labels[entity_id(row["id"])] = row["label"]
    missing = [f"{name} {label}" for name, label in expected.items() if name not in labels]
    known = ((name, label, labels[name]) for name, label in expected.items() if name in labels)
    renamed = [f"{name}: {label!r} is called {now!r}" for name, label, now in known if now != label]
    if missing and not search.settings.slice:
        raise InputError(
            "the snapshot lacks properties or classes that TempRIPPLE needs: "
            f"{', '.join(missing)}; for a slice of Wikidata set 'tempripple.slice: true', which "
            "takes them from the bundled tables"
        )
    for line in [*(f"not in the snapshot: {name}" for name in missing), *renamed]:
        print(f"warning: {line}", file=sys.stderr)
    return {"missing": missing, "renamed": renamed}


def find_facts(search: Search) -> StageTables:
    """All facts of the timelines that changed in the period, one row for each holding."""
    tables, types = StageTables("mutable"), search.types
    candidates = _candidates(search, tables.counts)
    for relation in search.relations.mutable.values():
        if not (statements := candidates.get(relation.property, {})):
            continue
        tables.counts["candidates"] += len(statements)
        types.fetch(statements)
        matches: dict[int, Match] = {}
        for subject in statements:
            if match := types.of(subject, relation.subjects):
                matches[subject] = match
            else:
                wanted = " ".join(relation.subjects)
                tables.drop(subject, relation.property, "no_type", statements[subject], wanted)
        changed = list(_timelines(search, relation, matches, tables))
        items = {subject for subject, _, _ in changed}
        items |= {holding.object for _, kept, _ in changed for holding in kept.holdings}
        search.names.fetch(items)
        types.fetch_kinds(items)
        for subject, kept, values in changed:
            holdings = kept.holdings
            named = [subject, *(holding.object for holding in holdings)]
            if nameless := sorted({item for item in named if not search.names.label(item)}):
                stated = sorted(name for holding in holdings for name in holding.statements)
                detail = " ".join(map(entity_id, nameless))
                tables.drop(subject, relation.property, "no_label", stated, detail)
                continue
            tables.counts["timelines"] += 1
            shared = {
                "n_timeline": len(holdings),
                "n_changes": kept.changes,
                "s_type": matches[subject].type,
                "s_class": matches[subject].class_id,
                "known_values": values,
            }
            times = Counter(holding.object for holding in holdings)
            for ordinal, holding in enumerate(holdings, start=1):
                row = _fact(subject, relation, holding, ordinal, search)
                tables.rows.append(row | shared | {"returning": times[holding.object] > 1})
    tables.mark(tables.rows)
    return tables


def _candidates(search: Search, counts: Counter[str]) -> dict[int, dict[int, list[str]]]:
    """Property -> subject -> ids of its statements that begin or end in the period, within the cap."""
    settings = search.settings
    period = pack_date(settings.change_start), pack_date(settings.change_end)
    table = search.source.candidates(ids(search.relations.mutable), *period)
    numbers = Counter[int]()
    candidates: dict[int, dict[int, list[str]]] = {}
    columns = (table[name].to_pylist() for name in ("statement", "property", "subject"))
    for name, relation, subject in sorted(zip(*columns, strict=True)):
        numbers[relation] += 1
        if numbers[relation] <= settings.cap_per_property:
            candidates.setdefault(relation, {}).setdefault(subject, []).append(name)
    counts["candidate_statements"] += table.num_rows
    counts["capped_statements"] += sum(max(0, n - settings.cap_per_property) for n in numbers.values())
    return candidates


def _timelines(
    search: Search, relation: Relation, subjects: Iterable[int], tables: StageTables
) -> Iterator[tuple[int, Timeline, list[str]]]:
    """Yields the timelines that pass all tests but that for labels: subject, timeline, all known values."""
    settings = search.settings
    restrictive = ids(settings.numbers("restrictive_qualifiers"))
    table = search.source.statements(ids(subjects), ids([relation.property]), restrictive)
    excluded: set[int] = set()
    if classes := set(settings.numbers("exclude_object_classes")):
        objects = set(table["object"].drop_null().to_pylist())
        search.types.fetch(objects)
        excluded = {item for item in objects if not classes.isdisjoint(search.types.reached(item))}
    for subject, _, claims in groups(table):
        counted = [claim for claim in claims if not claim.restricted and claim.object not in excluded]
        result = timeline(counted, settings)
        if isinstance(result, Dropped):
            tables.drop(subject, relation.property, *result)
        else:
            yield subject, result, sorted({claim.value for claim in claims if claim.value is not None})


def _fact(subject: int, relation: Relation, holding: Holding, ordinal: int, search: Search) -> Row:
    """The row of the holding at a place, from 1, without what it shares with the others of its timeline."""
    names, types = search.names, search.types
    in_text, value = (names.in_sentence(item, types.instances(item)) for item in (subject, holding.object))
    s, p, o = entity_id(subject), property_id(relation.property), entity_id(holding.object)
    words = ordinal_text(ordinal)
    phrase = holder_phrase(relation.phrase, words, in_text)
    is_new = ordinal == 1
    duration = None
    if holding.start.lo != ALWAYS:
        # To the first possible end, or to the snapshot.
        end = search.settings.snapshot_date.toordinal() if holding.end.lo == NEVER else holding.end.lo
        duration = max(0, end - holding.start.lo)
    return {
        "fact_id": row_id(s, p, o, " ".join(holding.statements)),
        "s": s,
        "p": p,
        "o": o,
        "s_label": names.label(subject),
        "o_label": names.label(holding.object),
        "role": "new" if is_new else "old",
        "ordinal": ordinal,
        "ordinal_text": words,
        "start_lo": arrow_day(holding.start.lo),
        "start_hi": arrow_day(holding.start.hi),
        "end_lo": arrow_day(holding.end.lo),
        "end_hi": arrow_day(holding.end.hi),
        "start_prec": holding.start_precision,
        "end_prec": holding.end_precision,
        "duration_days": duration,
        "stmt_ids": list(holding.statements),
        "statement": statement(phrase, value),
        "question": question(relation.wh, phrase, "is" if is_new else "was"),
        "phrase": phrase,
        "o_aliases": names.aliases(holding.object),
        "o_kinds": types.kinds(subject, holding.object),
    }
