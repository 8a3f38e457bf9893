"""The jobs that find facts and related facts, from a source to files."""

from __future__ import annotations

from pathlib import Path

from factdrift.tempripple.facts import find_facts
from factdrift.tempripple.method import Method
from factdrift.tempripple.names import Names
from factdrift.tempripple.presence import check_presence
from factdrift.tempripple.related import find_related
from factdrift.tempripple.resources import Resources
from factdrift.tempripple.schemas import TR_DROPPED, TR_FACTS, TR_RELATED, read_rows, write_json, write_rows
from factdrift.tempripple.sources import Source
from factdrift.tempripple.types import Types
from factdrift.wikidata.tables import supplied_labels
from factdrift.words.names import read_names


def make_facts(
    source: Source,
    method: Method,
    resources: Resources,
    out_facts: Path,
    out_dropped: Path,
    out_account: Path,
) -> int:
    """Writes TR_FACTS, the TR_DROPPED rows and the counts of this job; returns the number of facts."""
    relations = resources.relations(method.immutable_set)
    presence = check_presence(source, relations, method.slice)
    types = Types(source, relations.types, method.type_depth)
    found = find_facts(source, relations, method, types, _names(source, method, resources))
    rows = write_rows(found.facts, TR_FACTS, out_facts)
    write_rows(found.dropped, TR_DROPPED, out_dropped)
    write_json({"presence": presence._asdict(), "facts": dict(sorted(found.counts.items()))}, out_account)
    return rows


def make_related(
    source: Source,
    method: Method,
    resources: Resources,
    facts: Path,
    out_related: Path,
    out_dropped: Path,
    out_account: Path,
) -> int:
    """Writes TR_RELATED, the TR_DROPPED rows and the counts of this job; returns the number of rows."""
    relations = resources.relations(method.immutable_set)
    types = Types(source, relations.types, method.type_depth)
    names = _names(source, method, resources)
    found = find_related(source, relations, method, types, names, read_rows(facts, TR_FACTS))
    rows = write_rows(found.related, TR_RELATED, out_related)
    write_rows(found.dropped, TR_DROPPED, out_dropped)
    write_json({"expansion": dict(sorted(found.counts.items()))}, out_account)
    return rows


def _names(source: Source, method: Method, resources: Resources) -> Names:
    labels = supplied_labels(resources.labels)
    supplied = dict(zip(labels["id"].to_pylist(), labels["label"].to_pylist(), strict=True))
    return Names(source, supplied, None if method.grammar == "plain" else read_names())
