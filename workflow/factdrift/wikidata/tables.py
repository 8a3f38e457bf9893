"""The tables of a snapshot: their schemas, dates in SQL, and the labels that a user adds to them."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.wikidata.ids import entity_number
from factdrift.wikidata.text import one_line
from factdrift.wikidata.time import YEAR

TIME = pa.struct(
    [
        ("year", pa.int64()),
        ("month", pa.int8()),
        ("day", pa.int8()),
        ("precision", pa.int8()),
        ("julian", pa.bool_()),
        ("written", pa.int64()),
        ("first", pa.int64()),
        ("last", pa.int64()),
    ]
)
"""`factdrift.wikidata.time.Time` as a column."""

ENTITIES = pa.schema(
    [
        ("id", pa.int32()),
        ("label", pa.string()),
        ("description", pa.string()),
        ("aliases", pa.list_(pa.string())),
        ("title", pa.string()),
        ("sitelinks", pa.int32()),
        ("revision", pa.int64()),
        ("modified", pa.string()),
        ("classes", pa.list_(pa.int32())),
        ("superclasses", pa.list_(pa.int32())),
        ("symbol", pa.string()),
        ("whole", pa.bool_()),
    ]
)
"""One row per item of a snapshot (docs/tables/entities.md)."""

TRANSLATIONS = pa.schema(
    [
        ("id", pa.int32()),
        ("language", pa.string()),
        ("label", pa.string()),
        ("description", pa.string()),
        ("aliases", pa.list_(pa.string())),
    ]
)
"""One row per entity and language other than English in which it has a term (docs/tables/translations.md)."""

PROPERTIES = pa.schema(
    [
        ("id", pa.int32()),
        ("label", pa.string()),
        ("description", pa.string()),
        ("aliases", pa.list_(pa.string())),
        ("datatype", pa.string()),
        ("revision", pa.int64()),
        ("classes", pa.list_(pa.int32())),
        ("single_value", pa.bool_()),
        ("separators", pa.list_(pa.int32())),
        ("examples", pa.list_(pa.struct([("subject", pa.int32()), ("value", pa.string())]))),
        ("inverses", pa.list_(pa.int32())),
        ("is_symmetric", pa.bool_()),
    ]
)
"""One row per property of a snapshot; `id` is positive (docs/tables/properties.md)."""

STATEMENTS = pa.schema(
    [
        ("subject", pa.int32()),
        ("property", pa.int32()),
        ("statement", pa.string()),
        ("position", pa.int32()),
        ("rank", pa.string()),
        ("snak", pa.string()),
        ("datatype", pa.string()),
        ("object", pa.int32()),
        ("key", pa.string()),
        ("json", pa.string()),
        ("time", TIME),
        ("start", TIME),
        ("start_unknown", pa.bool_()),
        ("end", TIME),
        ("end_unknown", pa.bool_()),
        ("pit", TIME),
        ("qualifiers", pa.list_(pa.int32())),
        ("revision", pa.int64()),
        ("starts", pa.list_(TIME)),
        ("ends", pa.list_(TIME)),
        ("pits", pa.list_(TIME)),
    ]
)
"""One row per statement of an item, of every rank and snak type (docs/tables/statements.md)."""


def time_bound(time: str, bound: str, variant: str, dates: str) -> str:
    """SQL: the `first` or `last` packed day (`bound`) of the TIME expression `time`, as BIGINT; null for
    null.

    The two differ only if `dates` is `interval`; else a date counts as its first day, in `reference` with all
    fields as written.
    """
    if dates == "interval":
        return f"{time}.{bound}"
    if variant == "reference":
        return f"{time}.written"
    # Below year precision the written year counts, and 1 January of it.
    return f"CASE WHEN {time}.precision >= {YEAR} THEN {time}.first ELSE {time}.year * 10000 + 101 END"


def supplied_labels(paths: Sequence[Path]) -> pa.Table:
    """The user's labels of entities that the dumps lack: columns `id` (properties negative) and `label`.

    `paths` are tab-separated UTF-8 tables with these columns and any others; the first label of an id counts,
    a blank one not.
    Raises InputError that names file and line.
    """
    labels: dict[int, str] = {}
    for path in paths:
        lines = utf8_lines(path)
        header = lines[0].split("\t") if lines else []
        if not {"id", "label"} <= set(header):
            raise InputError(f"{path}, line 1: columns id and label, separated by tabs, are needed")
        for number, line in enumerate(lines[1:], start=2):
            if not line:
                continue
            row = dict(zip(header, line.split("\t"), strict=False))
            entity = entity_number(row.get("id", ""))
            if not entity:
                raise InputError(f"{path}, line {number}: {row.get('id', '')!r} is no id such as Q30 or P6")
            if (label := one_line(row.get("label", ""))).strip():
                labels.setdefault(entity, label)
    columns = {"id": list(labels), "label": list(labels.values())}
    return pa.table(columns, schema=pa.schema([("id", pa.int32()), ("label", pa.string())]))
