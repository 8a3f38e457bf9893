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
    subjects = db.sql(f"SELECT DISTINCT subject FROM ({kept}) ORDER BY subject").fetchnumpy()["subject"]
    db.execute("CREATE TEMP TABLE counted (code BIGINT, documents INTEGER)")
    # In parts, because grouping all pairs of subject and code at once needs too much memory.
    for first in range(0, len(subjects), documents):
        part = subjects[first : first + documents]
        db.execute(
            f"""INSERT INTO counted SELECT code, count(*)
            FROM (
                WITH kept AS ({kept} AND subject BETWEEN {part[0]} AND {part[-1]})
                SELECT DISTINCT subject, code FROM ({_features(bare_relations)})
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
    found = db.sql(
        f"""WITH kept AS (
            {_kept(filtered)} AND subject BETWEEN {subjects[0]} AND {subjects[-1]}
                AND subject IN (SELECT subject FROM wanted_subjects)
        ) {_features(bare_relations)}"""
    ).fetchnumpy()
    db.unregister("wanted_subjects")
    known, rows = np.unique(found["subject"], return_inverse=True)
    return Documents(known, rows.astype(np.int32), found["code"])


def _features(bare_relations: bool) -> str:
    """SQL over `kept`: subject and code of each feature of its documents, that of the subject itself once.

    The code of an entity is its number and _SHIFT, so items and properties have different ones; to that of a
    (relation, object) pair the relation is added above 32 bits.
    """
    codes = [f"{_SHIFT} + object", f"{_SHIFT} + object + (property::BIGINT << 32)"]
    # Negative, as everywhere for a property: an object that is this property is the same feature.
    codes += [f"{_SHIFT} - property"] * bare_relations
    return f"""SELECT DISTINCT subject, {_SHIFT} + subject AS code FROM kept
        UNION ALL SELECT subject, unnest([{", ".join(codes)}]) FROM kept WHERE object IS NOT NULL"""


def _kept(filtered: Sequence[Path]) -> str:
    dropped = ", ".join(sql(name) for name in NOT_A_DOCUMENT)
    return (
        f"SELECT subject, property, object FROM read_parquet({sql(filtered)}) "
        f"WHERE (dropped_by IS NULL OR dropped_by NOT IN ({dropped}))"
    )
