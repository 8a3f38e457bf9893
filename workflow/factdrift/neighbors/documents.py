"""Each subject as a bag of features: itself, its objects, its (relation, object) pairs (spec section 8)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray

from factdrift.tables import sql

NOT_A_DOCUMENT = ("rank", "snak", "datatype", "subject")
"""The filters up to subject relevance: a statement that one of them drops is in no document. One that a
later filter drops is. Subjects all of whose statements have a datatype that is filtered (external ids, say)
are no documents, whether or not the snapshot holds these statements."""


class Documents(NamedTuple):
    """Bags of features of distinct subjects: `rows` and `codes` hold one entry an occurrence."""

    subjects: NDArray[np.int32]
    """Entity numbers, ascending; document i is about `subjects[i]`."""
    rows: NDArray[np.int32]
    codes: NDArray[np.int64]


def entity_codes(entities: NDArray[np.int32]) -> NDArray[np.int64]:
    """Features of entities alone; items and properties (negative numbers) have different ones."""
    return pair_codes(np.zeros(len(entities), np.int32), entities)


def pair_codes(relations: NDArray[np.int32], objects: NDArray[np.int32]) -> NDArray[np.int64]:
    """Features of (relation, object); relation numbers are positive, 0 stands for none."""
    return (relations.astype(np.int64) << 32) + (objects.astype(np.int64) + 2**31)


def read_documents(
    db: duckdb.DuckDBPyConnection,
    filtered: Sequence[Path],
    bare_relations: bool,
    subjects: NDArray[np.int32] | None = None,
) -> Documents:
    """The documents in the preprocessed statements of one dump, of `subjects` only if given.

    `bare_relations`: each statement also gives its relation alone, as in variant `reference`. The same
    object under several statements counts as often.
    """
    wanted = "true"
    if subjects is not None:
        db.register("wanted_subjects", {"subject": subjects})
        wanted = "subject IN (SELECT subject FROM wanted_subjects)"
    dropped = ", ".join(sql(name) for name in NOT_A_DOCUMENT)
    columns = db.sql(
        f"""SELECT subject, property, coalesce(object, 0) AS object, object IS NOT NULL AS is_entity
        FROM read_parquet({sql(filtered)})
        WHERE (dropped_by IS NULL OR dropped_by NOT IN ({dropped})) AND {wanted}"""
    ).fetchnumpy()
    if subjects is not None:
        db.unregister("wanted_subjects")
    entity = columns.pop("is_entity").astype(bool)
    relations = columns.pop("property")[entity].astype(np.int32)
    objects = columns.pop("object")[entity].astype(np.int32)
    known = np.unique(columns["subject"]).astype(np.int32)
    rows = np.searchsorted(known, columns.pop("subject")[entity]).astype(np.int32)
    parts = [
        (np.arange(len(known), dtype=np.int32), entity_codes(known)),
        (rows, entity_codes(objects)),
        (rows, pair_codes(relations, objects)),
    ]
    if bare_relations:
        # Negative, as everywhere for a property: an object that is this property is the same feature.
        parts.append((rows, entity_codes(-relations)))
    return Documents(
        known,
        np.concatenate([part[0] for part in parts]),
        np.concatenate([part[1] for part in parts]),
    )
