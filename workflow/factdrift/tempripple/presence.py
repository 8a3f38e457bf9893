"""The check that a snapshot has the properties and classes of the method, under the same names."""

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
    properties: dict[int, Mutable | Immutable] = {**relations.immutable, **relations.mutable}
    expected = {property_id(number): properties[number].label for number in sorted(properties)}
    expected |= {entity_id(entry.number): entry.label for entry in relations.types}
    found: dict[str, str | None] = {}
    for number, label, datatype in _rows(source.declarations(ids(properties))):
        found[property_id(number)] = label
        if datatype != properties[number].datatype:
            raise InputError(
                f"the snapshot knows {property_id(number)} ({label}) with the datatype {datatype}, "
                f"TempRIPPLE as {properties[number].datatype}; correct its row in resources/tempripple/"
            )
    terms = source.terms(ids(entry.number for entry in relations.types))
    found |= {entity_id(number): label for number, label, _ in _rows(terms)}
    presence = Presence(
        [f"{name} {label}" for name, label in expected.items() if name not in found],
        [
            f"{name}: {label!r} is called {found[name]!r}"
            for name, label in expected.items()
            if name in found and found[name] != label
        ],
    )
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
