"""The updated groups (subject, relation) for which neighbours are searched."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray

from factdrift.core.tables import sql


class Group(NamedTuple):
    """An updated group; `changed` are the entity objects of its new and obsolete triples, ascending."""

    subject: int
    property: int
    changed: tuple[int, ...]


def updated_groups(db: duckdb.DuckDBPyConnection, updates: Sequence[Path]) -> list[Group]:
    """The groups that reach the dataset, by subject and property."""
    rows = db.sql(
        f"""SELECT subject, property, list(DISTINCT object) FILTER (
                label IN ('new', 'obsolete') AND object IS NOT NULL) AS changed
        FROM read_parquet({sql(updates)}) WHERE dropped_by IS NULL
        GROUP BY subject, property ORDER BY subject, property"""
    ).fetchall()
    return [Group(subject, property, tuple(sorted(changed or ()))) for subject, property, changed in rows]


def updated_subjects(groups: Sequence[Group]) -> NDArray[np.int32]:
    """The distinct subjects of the groups, ascending."""
    return np.unique(np.array([group.subject for group in groups], np.int32))
