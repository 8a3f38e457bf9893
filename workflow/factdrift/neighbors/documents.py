"""Subjects as bags of features: the subject, its objects, its (relation, object) pairs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray

from factdrift.core.tables import sql

NOT_A_DOCUMENT = ("rank", "snak", "datatype", "subject")
"""The filters up to subject relevance: statements that they drop are in no document, statements that a later
filter drops are. A subject whose statements all have a filtered datatype (external ids, say) has no document,
whether or not the snapshot holds these statements."""


_SHIFT = 2**31
"""Added to entity numbers within a code, so that those of properties, which are negative, are positive."""


class Documents(NamedTuple):
    """Bags of features of n subjects with m occurrences of features in all."""

    subjects: NDArray[np.int32]
    """[n] Entity numbers, ascending; document i is about `subjects[i]`."""
    rows: NDArray[np.int32]
    """[m] The document of each occurrence."""
    codes: NDArray[np.int64]
    """[m] The feature of each occurrence."""


def entity_codes(entities: NDArray[np.int32]) -> NDArray[np.int64]:
    """Feature codes of entities; items and properties (negative numbers) have different codes. [n]"""
    return pair_codes(np.zeros(len(entities), np.int32), entities)


def pair_codes(relations: NDArray[np.int32], objects: NDArray[np.int32]) -> NDArray[np.int64]:
    """Feature codes of (relation, object) pairs; relation numbers are positive, 0 means no relation. [n]"""
    return (relations.astype(np.int64) << 32) + (objects.astype(np.int64) + _SHIFT)


class Counts(NamedTuple):
    """The documents of a dump and the document frequency of each feature."""

    subjects: NDArray[np.int32]
    """[n] Entity numbers of the documents, ascending."""
    vocabulary: NDArray[np.int64]
    """[f] The features that occur, ascending."""
    having: NDArray[np.int32]
    """[f] The number of documents that have the feature."""


def count_documents(
    db: duckdb.DuckDBPyConnection, filtered: Sequence[Path], bare_relations: bool, documents: int
) -> Counts:
    """Counts the documents of a whole dump and their features, `documents` documents at a time."""
    kept = _kept(filtered)
    features = [f"SELECT subject, {_SHIFT} + subject AS code FROM kept"]
    codes = [f"{_SHIFT} + object", f"{_SHIFT} + object + (property::BIGINT << 32)"]
    codes += [f"{_SHIFT} - property"] * bare_relations
    features += [f"SELECT subject, {code} FROM kept WHERE object IS NOT NULL" for code in codes]
    subjects = db.sql(f"SELECT DISTINCT subject FROM ({kept}) ORDER BY subject").fetchnumpy()["subject"]
    db.execute("CREATE TEMP TABLE counted (code BIGINT, documents INTEGER)")
    # In parts, because grouping all pairs of subject and code at once needs too much memory.
    for first in range(0, len(subjects), documents):
        part = subjects[first : first + documents]
        db.execute(
            f"""INSERT INTO counted SELECT code, count(*)
            FROM (
                WITH kept AS ({kept} AND subject BETWEEN {part[0]} AND {part[-1]})
                SELECT DISTINCT subject, code FROM ({" UNION ALL ".join(features)})
            )
            GROUP BY code"""
        )
    counts = db.sql(
        "SELECT code, sum(documents)::INTEGER AS having FROM counted GROUP BY code ORDER BY code"
    ).fetchnumpy()
    db.execute("DROP TABLE counted")
    return Counts(subjects, counts["code"], counts["having"])


def read_documents(
    db: duckdb.DuckDBPyConnection,
    filtered: Sequence[Path],
    bare_relations: bool,
    subjects: NDArray[np.int32],
) -> Documents:
    """The documents of the ascending `subjects` in the preprocessed statements of one dump.

    `bare_relations`: each statement also adds its relation alone, as in variant `reference`. An object of
    several statements is counted once for each.
    """
    if not len(subjects):
        return Documents(np.empty(0, np.int32), np.empty(0, np.int32), np.empty(0, np.int64))
    db.register("wanted_subjects", {"subject": subjects})
    # The tables are sorted by subject, so the bounds skip whole row groups.
    columns = db.sql(
        f"""SELECT subject, property, coalesce(object, 0) AS object, object IS NOT NULL AS is_entity
        FROM ({_kept(filtered)}) WHERE subject BETWEEN {subjects[0]} AND {subjects[-1]}
            AND subject IN (SELECT subject FROM wanted_subjects)"""
    ).fetchnumpy()
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


def _kept(filtered: Sequence[Path]) -> str:
    dropped = ", ".join(sql(name) for name in NOT_A_DOCUMENT)
    return (
        f"SELECT subject, property, object FROM read_parquet({sql(filtered)}) "
        f"WHERE (dropped_by IS NULL OR dropped_by NOT IN ({dropped}))"
    )
