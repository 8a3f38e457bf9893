"""The filters of statements as a record: their order, names and roles (`resources/filters.tsv`).

Stages that read filtered statements ask for a role here, so that none of them names a filter. What drops a
statement stands in `updates/filters.py` only.
"""

from functools import cache
from typing import Any, Literal, NamedTuple, get_args

from factdrift.core.errors import InputError
from factdrift.core.files import read_tsv
from factdrift.core.paths import FILTERS
from factdrift.core.tables import sql

Role = Literal["no_document", "in_part", "aside", ""]
"""What a dropped statement is to later stages. `no_document`: part of no TF-IDF document; `in_part`: true in
part or under a condition; `aside`: true, but not the value of its group; empty: dropped, no more."""


class Filter(NamedTuple):
    """A filter: its number in the paper (0 for one that the paper lacks), name, role, and what it drops."""

    number: int
    name: str
    role: Role
    meaning: str


@cache
def read_filters() -> tuple[Filter, ...]:
    """The filters, first those that are asked first. Raises InputError for a role that is none."""
    filters = []
    for row in read_tsv(FILTERS):
        role: Any = row["role"]
        if role not in get_args(Role):
            raise InputError(f"{FILTERS}: {row['name']}: {role!r} is none of the roles {get_args(Role)}")
        filters.append(Filter(int(row["number"] or 0), row["name"], role, row["meaning"]))
    return tuple(filters)


def dropped_as(role: Role) -> str:
    """SQL: whether `dropped_by` is a filter of the role; false, not null, for statements that none drops."""
    names = ", ".join(sql(filter_.name) for filter_ in read_filters() if filter_.role == role)
    return f"coalesce(dropped_by IN ({names}), false)"
