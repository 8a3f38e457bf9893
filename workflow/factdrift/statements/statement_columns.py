"""The statements of many items as columns, until there are enough to be written.

Columns are Python lists; columns in which most rows have the default are stored sparsely as (rows, values).
Building rows and splitting them into columns afterwards would take twice the time.
"""

from functools import lru_cache
from typing import Any

import msgspec
import numpy as np
import pyarrow as pa

from factdrift.statements.rows import SHARD_STATEMENTS, UNREAD, Oddities
from factdrift.wikidata.entity import DataValue, Entity, Statement, snaks, statement_id
from factdrift.wikidata.ids import entity_number, property_number
from factdrift.wikidata.tables import TIME
from factdrift.wikidata.time import Time
from factdrift.wikidata.values import read_time, read_value, text_of

_DATATYPES = {"globecoordinate": "globe-coordinate"}
"""The datatype that is inferred from the type of a datavalue, where neither snak nor property has one, if it
is not called as the type is."""

_NO_REVISION = -1

_SPARSE = {
    **dict.fromkeys(("time", "start", "end", "pit"), TIME),
    **dict.fromkeys(("start_unknown", "end_unknown"), pa.bool_()),
    **dict.fromkeys(("starts", "ends", "pits"), pa.list_(TIME)),
    "qualifiers": pa.list_(pa.int32()),
    "inferred": pa.string(),
}
"""Columns in which most rows have the default."""

_DEFAULTS = {"start_unknown": False, "end_unknown": False, "qualifiers": []}
"""Where it is not null."""

_TIMES = (
    ("P580", "start", "starts", "several_starts", "start_unknown", min),
    ("P582", "end", "ends", "several_ends", "end_unknown", max),
    ("P585", "pit", "pits", "several_points_in_time", None, max),
)
"""Qualifier, the columns of its date and of several, their count, the column of `somevalue`, which counts."""


class StatementColumns:
    """Statements that are not yet written. `oddities` is counted up while they are added."""

    def __init__(self, oddities: Oddities) -> None:
        self._oddities = oddities
        # Per item: number, revision, line, number of statements.
        self._subjects: list[int] = []
        self._revisions: list[int] = []
        self._lines: list[int] = []
        self._statements: list[int] = []
        # Per group of an item's statements with one property.
        self._properties: list[int] = []
        self._group_sizes: list[int] = []
        # Per statement.
        self._ids: list[str | None] = []
        self._ranks: list[str] = []
        self._snaks: list[str] = []
        self._datatypes: list[str | None] = []
        self._objects: list[int | None] = []
        self._keys: list[str | None] = []
        self._jsons: list[str | None] = []
        # Row, ascending -> value, where it is not the default.
        self._sparse: dict[str, dict[int, Any]] = {name: {} for name in _SPARSE}

    def __len__(self) -> int:
        return len(self._ids)

    def add(self, item: Entity, number: int, line: int) -> int:
        """Adds the statements of an item, in the order of the dump; returns their number.

        Raises one of UNREADABLE for a wrong property id or unreadable qualifiers, and then adds none of them
        and counts no oddity.
        """
        row, group = len(self._ids), len(self._properties)
        counted = vars(self._oddities).copy()
        try:
            self._add(item.statements)
        except Exception:
            self._remove(row, group)
            vars(self._oddities).update(counted)
            raise
        added = len(self._ids) - row
        self._subjects.append(number)
        self._revisions.append(item.lastrevid if item.lastrevid is not None else _NO_REVISION)
        self._lines.append(line)
        self._statements.append(added)
        return added

    def _add(self, groups: dict[str, list[Statement]]) -> None:
        oddities = self._oddities
        ids, ranks, kinds, datatypes = self._ids, self._ranks, self._snaks, self._datatypes
        objects, keys, jsons = self._objects, self._keys, self._jsons
        row = len(ids)
        for property_id, group in groups.items():
            self._properties.append(_property(property_id))
            self._group_sizes.append(len(group))
            for statement in group:
                snak = statement.mainsnak
                datavalue = snak.datavalue
                value: tuple[int | None, str | None, str | None, Time | None]
                if snak.snaktype != "value":
                    value = _NO_VALUE
                elif datavalue is None:
                    value = UNREAD
                else:
                    kind = datavalue.type
                    value = read_value(kind, datavalue.value)
                    if value[3] is not None:
                        self._sparse["time"][row] = value[3]
                    elif kind == "time":
                        oddities.unreadable_dates += 1
                    elif value[0] is None and kind == "wikibase-entityid":
                        oddities.unusable_entities += 1
                    if snak.datatype is None:
                        self._sparse["inferred"][row] = _inferred(datavalue)
                # Read as no known kind, the key is the JSON.
                if value is UNREAD or (value[1] is value[2] is not None and datavalue and _is_raw(datavalue)):
                    counts, name = oddities.raw_values, snak.datatype or "unknown"
                    # A copy, so that those of a line that fails can be taken back.
                    oddities.raw_values = {**counts, name: counts.get(name, 0) + 1}
                written = statement.id
                if written is not None and written[:1] != "Q":
                    written = statement_id(written)
                ids.append(written)
                ranks.append(statement.rank)
                kinds.append(snak.snaktype)
                datatypes.append(snak.datatype)
                objects.append(value[0])
                keys.append(value[1])
                jsons.append(value[2])
                if isinstance(statement.qualifiers, dict) and statement.qualifiers:
                    self._qualify(row, statement.qualifiers)
                row += 1

    def _qualify(self, row: int, qualifiers: dict[str, msgspec.Raw]) -> None:
        """Notes the qualifier properties of a statement and its time, from P580, P582 and P585.

        Of several starts `start` is the earliest, of several ends and points in time `end` and `pit` are the
        latest, by their first day and then by their last; stages that read dates differently choose again
        among all of them. A date takes precedence over `somevalue`; `novalue` says that there is none.
        """
        sparse, oddities = self._sparse, self._oddities
        sparse["qualifiers"][row] = _properties(tuple(qualifiers))
        for qualifier, column, several, count, unknown, choose in _TIMES:
            if qualifier not in qualifiers:
                continue
            dates, is_unknown = _dates(qualifiers[qualifier], oddities)
            if len(dates) > 1:
                setattr(oddities, count, getattr(oddities, count) + 1)
                sparse[several][row] = dates
            if dates:
                sparse[column][row] = choose(dates, key=lambda time: (time.first, time.last, time))
            elif is_unknown and unknown:
                sparse[unknown][row] = True

    def _remove(self, row: int, group: int) -> None:
        """Removes the statements from `row` on, and the groups from `group` on."""
        del self._properties[group:], self._group_sizes[group:]
        columns: tuple[list[Any], ...] = (self._ids, self._ranks, self._snaks, self._datatypes)
        for values in (*columns, self._objects, self._keys, self._jsons):
            del values[row:]
        for cells in self._sparse.values():
            while cells and next(reversed(cells)) >= row:
                cells.popitem()

    def rows(self) -> pa.RecordBatch:
        """The statements as rows of SHARD_STATEMENTS, in the order of their adding."""
        length, sizes = len(self._ids), np.array(self._group_sizes, np.int64)
        counts = np.array(self._statements, np.int64)
        revisions = np.repeat(np.array(self._revisions, np.int64), counts)
        columns: dict[str, Any] = {
            "subject": np.repeat(np.array(self._subjects, np.int32), counts),
            "property": np.repeat(np.array(self._properties, np.int32), sizes),
            "statement": self._ids,
            "position": np.arange(length, dtype=np.int32) - np.repeat(np.cumsum(counts) - counts, counts),
            "rank": self._ranks,
            "snak": self._snaks,
            "datatype": self._datatypes,
            "object": self._objects,
            "key": self._keys,
            "json": self._jsons,
            "revision": pa.array(revisions, mask=revisions == _NO_REVISION),
            "line": np.repeat(np.array(self._lines, np.int64), counts),
        }
        for name, kind in _SPARSE.items():
            stored = self._sparse[name]
            positions = np.zeros(length, np.int32)
            positions[list(stored)] = np.arange(1, len(stored) + 1)
            columns[name] = pa.array([_DEFAULTS.get(name), *stored.values()], kind).take(pa.array(positions))
        return pa.RecordBatch.from_pydict(columns, schema=SHARD_STATEMENTS)


_NO_VALUE = (None, None, None, None)


def _dates(qualifier: msgspec.Raw, oddities: Oddities) -> tuple[list[Time], bool]:
    """The dated values of a qualifier, and whether it says `somevalue` (or a date that cannot be read)."""
    dated: list[Time] = []
    unknown = False
    for snak in snaks(qualifier):
        if snak.snaktype == "somevalue":
            unknown = True
        elif snak.snaktype == "value":
            time = read_time(snak.datavalue.value) if snak.datavalue is not None else None
            if time is None:
                unknown = True
                oddities.unreadable_dates += 1
            else:
                dated.append(time)
    return dated, unknown


def _is_raw(value: DataValue) -> bool:
    """Whether a value that could not be read has no text either; coordinates have none by their nature."""
    return value.type != "globecoordinate" and text_of(value.value) is None


def _inferred(datavalue: DataValue) -> str | None:
    """The datatype inferred from a datavalue; that of an unknown type is the type itself."""
    if datavalue.type == "wikibase-entityid":
        entity_type = datavalue.value.get("entity-type") if isinstance(datavalue.value, dict) else None
        return f"wikibase-{entity_type or 'item'}"
    return _DATATYPES.get(datavalue.type, datavalue.type or None)


@lru_cache(maxsize=1 << 16)
def _property(property_id: str) -> int:
    if entity_number(property_id) is None:
        raise ValueError(f"{property_id!r} is no property id such as P31")
    return property_number(property_id)


@lru_cache(maxsize=1 << 16)
def _properties(property_ids: tuple[str, ...]) -> list[int]:
    return sorted({_property(name) for name in property_ids})
