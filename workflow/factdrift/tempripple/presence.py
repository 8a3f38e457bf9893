"""The check that a snapshot has the properties and classes of the method, under the same names."""

from __future__ import annotations

import sys
from typing import Any, NamedTuple

import pyarrow as pa

from factdrift.core.errors import InputError
from factdrift.tempripple.relations import Immutable, Mutable, Relations
from factdrift.tempripple.sources import Source
from factdrift.tempripple.types import ids
from factdrift.wikidata.ids import entity_id, property_id


class Presence(NamedTuple):
    """Lines of text: what the snapshot lacks, and what has another label there."""

    missing: list[str]
    renamed: list[str]


def check_presence(source: Source, relations: Relations, is_slice: bool) -> Presence:
    """Compares the method's tables with the source.

    Raises InputError if a property has another datatype, and, unless the snapshot is a slice, if a property
    or class is missing. Labels that differ are printed as warnings.
    """
    presence = Presence([], [])
    properties: dict[int, Mutable | Immutable] = {**relations.immutable, **relations.mutable}
    declared = {
        number: (label, datatype) for number, label, datatype in _rows(source.declarations(ids(properties)))
    }
    for number, relation in sorted(properties.items()):
        name = property_id(number)
        if number not in declared:
            presence.missing.append(f"{name} {relation.label}")
            continue
        label, datatype = declared[number]
        if datatype != relation.datatype:
            raise InputError(
                f"the snapshot knows {name} ({label}) with the datatype {datatype}, TempRIPPLE as "
                f"{relation.datatype}; correct its row in resources/tempripple/"
            )
        if label != relation.label:
            presence.renamed.append(f"{name}: {relation.label!r} is called {label!r}")
    terms = source.terms(ids(entry.number for entry in relations.types))
    named = {number: label for number, label, _ in _rows(terms)}
    for entry in {entry.number: entry for entry in relations.types}.values():
        name = entity_id(entry.number)
        if entry.number not in named:
            presence.missing.append(f"{name} {entry.label}")
        elif named[entry.number] != entry.label:
            presence.renamed.append(f"{name}: {entry.label!r} is called {named[entry.number]!r}")
    if presence.missing and not is_slice:
        raise InputError(
            "the snapshot lacks properties or classes that TempRIPPLE needs: "
            f"{', '.join(presence.missing)}; for a slice of Wikidata set 'tempripple.slice: true', which "
            "takes them from the bundled tables"
        )
    for line in [*(f"not in the snapshot: {name}" for name in presence.missing), *presence.renamed]:
        print(f"warning: {line}", file=sys.stderr)
    return presence


def _rows(table: pa.Table) -> list[tuple[Any, ...]]:
    return list(zip(*(column.to_pylist() for column in table.columns), strict=True))
