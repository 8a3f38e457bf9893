"""The tables of a snapshot: their schemas, dates in SQL, and the labels that a user adds to them."""

from collections.abc import Sequence
from pathlib import Path

import pyarrow as pa

from factdrift.core.columns import schema_of, struct_of
from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.core.tables import sql, table_of
from factdrift.core.text import clean
from factdrift.wikidata.ids import entity_number
from factdrift.wikidata.time import YEAR

TIME = struct_of("year: int64, month day precision: int8, julian: bool, written first last: int64")
"""`factdrift.wikidata.time.Time` as a column."""

ENTITIES = schema_of(
    "id: int32, label description: string, aliases: [string], title: string, sitelinks: int32",
    "revision: int64, modified: string, classes superclasses: [int32], symbol: string, whole: bool",
)
"""One row per item of a snapshot (docs/tables/entities.md)."""

TRANSLATIONS = schema_of("id: int32, language label description: string, aliases: [string]")
"""One row per entity and language other than English in which it has a term (docs/tables/translations.md)."""

PROPERTIES = schema_of(
    "id: int32, label description: string, aliases: [string], datatype: string, revision: int64",
    "classes: [int32], single_value: bool, separators: [int32]",
    ("examples", pa.list_(struct_of("subject: int32, value: string"))),
    "inverses: [int32], is_symmetric: bool",
)
"""One row per property of a snapshot; `id` is positive (docs/tables/properties.md)."""

STATEMENTS = schema_of(
    "subject property: int32, statement: string, position: int32, rank snak datatype: string",
    "object: int32, key json: string",
    *(("time", TIME), ("start", TIME), "start_unknown: bool", ("end", TIME), "end_unknown: bool"),
    ("pit", TIME),
    "qualifiers: [int32], revision: int64",
    *((name, pa.list_(TIME)) for name in ("starts", "ends", "pits")),
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


def with_subclasses(classes: Sequence[Path], numbers: Sequence[int]) -> str:
    """SQL: the ids of these classes and of all classes below them, by the tables `classes`."""
    return f"""
        WITH RECURSIVE edges AS (
            SELECT id, unnest(superclasses) AS superclass FROM read_parquet({sql(classes)})
        ), below AS (
            SELECT unnest({sql(numbers)}) AS id
            UNION SELECT edges.id FROM edges JOIN below ON edges.superclass = below.id
        ) SELECT id FROM below"""


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
            if not (entity := entity_number(row.get("id", ""))):
                raise InputError(f"{path}, line {number}: {row.get('id', '')!r} is no id such as Q30 or P6")
            if label := clean(row.get("label", "")):
                labels.setdefault(entity, label)
    return table_of(list(labels.items()), schema_of("id: int32, label: string"))
