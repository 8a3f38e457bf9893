"""TF-IDF vectors of entities, as scikit-learn's TfidfVectorizer makes them: the space of one pair of dumps.

A document holds the subject, its objects, and its (relation, object) pairs. The features are integers
already, and there are tens of millions of them: a vocabulary of Python strings would not fit, hence the few
lines of our own. Term frequency is the raw count, document frequency is smoothed (one more document that has
every feature), rows have Euclidean length 1.

The space is fitted on the old dump, with the new one's subjects put into it. It is made once and kept as a
folder of plain arrays, which the jobs of the search map into memory and share. A feature of an entity takes
12 bytes there (number and weight): 2.5 GB for seven million entities with 30 features each. Making it takes
what DuckDB is allowed and 16 bytes a distinct feature.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from duckdb import DuckDBPyConnection as Connection
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from factdrift.core.owned import new_folder
from factdrift.core.progress import tracked
from factdrift.core.tables import sql
from factdrift.neighbors.nearest import DECIMALS
from factdrift.wikidata.filters import dropped_as

DOCUMENTS = 250_000
"""Documents whose vectors are made at a time: some 20 features each, temporarily 100 bytes a feature."""

_PAIRS = 100_000
"""Pairs of entities whose similarity is computed at a time."""

Ids = NDArray[np.int32]
"""[n] Numbers of entities."""

_SHIFT = 2**31
"""Added to entity numbers within a code, so that those of properties, which are negative, are positive."""


class Counts(NamedTuple):
    """The documents of a dump and the document frequency of each feature."""

    subjects: Ids
    """[n] Entity numbers of the documents, ascending."""
    vocabulary: NDArray[np.int64]
    """[f] The features that occur, ascending."""
    having: NDArray[np.int32]
    """[f] The number of documents that have the feature."""

    def vectors(
        self, documents: int, rows: NDArray[np.integer], codes: NDArray[np.int64]
    ) -> sparse.csr_array:
        """Unit vectors [documents, f] of features: the document and the code of each occurrence.

        Features outside the vocabulary are ignored; a document without any known feature is an empty row.
        """
        columns = np.searchsorted(self.vocabulary, codes)
        columns = np.minimum(columns, max(len(self.vocabulary) - 1, 0))
        known = np.zeros(len(columns), bool)
        if len(self.vocabulary):
            known = self.vocabulary[columns] == codes
        cells = np.ones(int(known.sum())), (rows[known], columns[known])
        vectors = sparse.csr_array(cells, shape=(documents, len(self.vocabulary)))
        vectors.sum_duplicates()
        vectors.data *= np.log((1 + len(self.subjects)) / (1 + self.having[vectors.indices])) + 1
        lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
        vectors.data /= np.repeat(lengths, np.diff(vectors.indptr))
        return vectors


def count_documents(db: Connection, filtered: Sequence[Path], bare_relations: bool, documents: int) -> Counts:
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
    db: Connection, filtered: Sequence[Path], bare_relations: bool, subjects: Ids
) -> tuple[Ids, NDArray[np.int64], NDArray[np.int64]]:
    """The documents of the ascending `subjects` in the preprocessed statements of one dump.

    Returns the subjects that have one, ascending, and of each occurrence of a feature the place of its
    document and its code. `bare_relations`: each statement also adds its relation alone, as in variant
    `reference`. An object of several statements is counted once for each.
    """
    if not len(subjects):
        return subjects, np.empty(0, np.int64), np.empty(0, np.int64)
    db.register("wanted_subjects", {"subject": subjects})
    # The tables are sorted by subject, so the bounds skip whole row groups.
    values = db.sql(
        f"""WITH kept AS (
            {_kept(filtered)} AND subject BETWEEN {subjects[0]} AND {subjects[-1]}
                AND subject IN (SELECT subject FROM wanted_subjects)
        ) {_features(bare_relations)}"""
    ).fetchnumpy()
    db.unregister("wanted_subjects")
    known, rows = np.unique(values["subject"], return_inverse=True)
    return known, rows, values["code"]


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
    """SQL: the statements of documents, which are those that no filter up to subject relevance drops.

    A subject whose statements all have a filtered datatype (external ids, say) has no document, whether or
    not the snapshot holds these statements.
    """
    return (
        f"SELECT subject, property, object FROM read_parquet({sql(filtered)}) "
        f"WHERE NOT {dropped_as('no_document')}"
    )


class Space(NamedTuple):
    """Vectors of the old dump's documents (`known`: ids, ascending) and of new subjects (`added`); the number
    of documents of the old dump that are `having` each feature [f]."""

    having: NDArray[np.int32]
    known: Ids
    corpus: sparse.csr_array
    added: Ids
    added_vectors: sparse.csr_array

    def of(self, subjects: Ids) -> sparse.csr_array:
        """The vectors of these entities, a row for each; it is empty for an entity without a vector."""
        sides = (self.corpus, self.known), (self.added_vectors, self.added)
        stacked = sparse.vstack([_rows(*side, subjects) for side in sides], format="csr")
        in_old = np.isin(subjects, self.known)
        return stacked[np.arange(len(subjects)) + np.where(in_old, 0, len(subjects))]

    def similarities(self, left: Ids, right: Ids) -> NDArray[np.float64]:
        """[n] The rounded cosines of pairs of entities."""
        values = np.empty(len(left))
        for start in range(0, len(left), _PAIRS):
            block = slice(start, start + _PAIRS)
            products = self.of(left[block]).multiply(self.of(right[block]))
            values[block] = np.round(np.asarray(products.sum(axis=1)).ravel(), DECIMALS)
        return values


def _rows(vectors: sparse.csr_array, ids: Ids, wanted: Ids) -> sparse.csr_array:
    """The rows of the entities `wanted`; empty for those that are not among the ascending `ids`."""
    positions = np.flatnonzero(np.isin(wanted, ids))
    cells = positions, np.searchsorted(ids, wanted[positions])
    return sparse.csr_array((np.ones(len(positions)), cells), shape=(len(wanted), len(ids))) @ vectors


def make_space(
    db: Connection,
    updates: Sequence[Path],
    old: Sequence[Path],
    new: Sequence[Path],
    bare_relations: bool,
    output: Path,
    documents: int = DOCUMENTS,
) -> int:
    """Writes the folder of a space, with the subjects of the updates that only the new dump has.

    `old`, `new`: the filtered statements of the dumps; `bare_relations`: see `read_documents`. Returns the
    number of the old dump's entities, `documents` of which are read at once.
    """
    with new_folder(output) as folder:
        counts = count_documents(db, old, bare_relations, documents)
        np.save(folder / "having.npy", counts.having)
        features = int(counts.having.sum(dtype=np.int64))

        def vectors() -> Iterator[sparse.csr_array]:
            for first in range(0, len(counts.subjects), documents):
                part = counts.subjects[first : first + documents]
                known, *rest = read_documents(db, old, bare_relations, part)
                yield counts.vectors(len(known), *rest)

        parts = -(-len(counts.subjects) // documents)
        _write(folder, "known", counts.subjects, tracked(vectors(), "vectors", parts, "parts"), features)
        updated = db.sql(
            f"""SELECT DISTINCT subject FROM read_parquet({sql(updates)}) WHERE dropped_by IS NULL
            ORDER BY subject"""
        ).fetchnumpy()["subject"]
        absent = np.setdiff1d(updated, counts.subjects)
        subjects, *rest = read_documents(db, new, bare_relations, absent)
        added = counts.vectors(len(subjects), *rest)
        _write(folder, "added", subjects, [added], added.nnz)
    return len(counts.subjects)


def _write(folder: Path, name: str, ids: Ids, parts: Iterable[sparse.csr_array], features: int) -> None:
    """Writes the vectors of `ids`, given in parts in that order, with `features` entries in all."""
    np.save(folder / f"{name}.npy", ids)
    bounds = [np.zeros(1, np.int64)]
    with (
        Path(folder, f"{name}-data.npy").open("wb") as data,
        Path(folder, f"{name}-indices.npy").open("wb") as indices,
    ):
        for file, kind in ((data, np.float64), (indices, np.int32)):
            descr = npy.dtype_to_descr(np.dtype(kind))
            npy.write_array_header_1_0(file, {"descr": descr, "fortran_order": False, "shape": (features,)})
        for vectors in parts:
            vectors.data.tofile(data)
            vectors.indices.astype(np.int32, copy=False).tofile(indices)
            bounds.append(vectors.indptr[1:].astype(np.int64) + bounds[-1][-1])
    np.save(folder / f"{name}-indptr.npy", np.concatenate(bounds))


def open_space(folder: Path) -> Space:
    """The space that `make_space` wrote, mapped into memory."""

    def array(name: str) -> Any:
        return np.load(folder / f"{name}.npy", mmap_mode="r")

    having = array("having")

    def vectors(name: str) -> tuple[Any, sparse.csr_array]:
        ids, parts = array(name), tuple(array(f"{name}-{part}") for part in ("data", "indices", "indptr"))
        return ids, sparse.csr_array(parts, shape=(len(ids), len(having)))

    return Space(having, *vectors("known"), *vectors("added"))
