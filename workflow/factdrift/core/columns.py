"""Columns of tables as text, such as `"subject relation: string, rank: int8, aliases: [string]"`."""

from typing import Any

import pyarrow as pa

Row = dict[str, Any]
"""A row of a table: column -> value."""


def columns_of(*given: str | pa.Field | tuple[str, pa.DataType]) -> list[pa.Field]:
    """The columns that texts say, and fields, in their order.

    In a text commas separate parts: names, a colon, and their type as pyarrow calls it; in brackets, a list
    of it.
    """
    found = []
    for each in given:
        if isinstance(each, str):
            for part in each.split(","):
                names, _, kind = part.partition(":")
                found += [pa.field(name, _type(kind.strip())) for name in names.split()]
        else:
            found.append(pa.field(*each) if isinstance(each, tuple) else each)
    return found


def _type(name: str) -> pa.DataType:
    return pa.list_(_type(name[1:-1])) if name.startswith("[") else pa.type_for_alias(name)


def schema_of(*given: str | pa.Field | tuple[str, pa.DataType]) -> pa.Schema:
    """The schema of `columns_of`."""
    return pa.schema(columns_of(*given))


def struct_of(*given: str | pa.Field | tuple[str, pa.DataType]) -> pa.StructType:
    """The type of a value with these columns."""
    return pa.struct(columns_of(*given))
