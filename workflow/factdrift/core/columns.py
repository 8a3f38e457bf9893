"""Columns of tables as text, such as `"subject relation: string, rank: int8, aliases: [string]"`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    import pyarrow as pa

Row = dict[str, Any]
"""A row of a table: column -> value."""


def schema_of(*columns: str | pa.Field | tuple[str, pa.DataType]) -> pa.Schema:
    """The schema with the columns that texts say, and with fields, in their order.

    In a text commas separate parts: names, a colon, and their type as pyarrow calls it; in brackets, a list
    of it.
    """
    import pyarrow as pa  # not above: what only names rows is also read by the command line

    def typed(name: str) -> pa.DataType:
        return pa.list_(typed(name[1:-1])) if name.startswith("[") else pa.type_for_alias(name)

    fields = []
    for column in columns:
        if isinstance(column, str):
            for part in column.split(","):
                names, _, kind = part.partition(":")
                fields += [pa.field(name, typed(kind.strip())) for name in names.split()]
        else:
            fields.append(pa.field(*column) if isinstance(column, tuple) else column)
    return pa.schema(fields)


def struct_of(*columns: str | pa.Field | tuple[str, pa.DataType]) -> pa.StructType:
    """The type of a value with these columns."""
    import pyarrow as pa

    return pa.struct(list(schema_of(*columns)))
