"""The vector space of one pair of dumps: fitted on the old one, with the new one's subjects put into it.

It is made once and kept as a folder of plain arrays, which the jobs of the search map into memory and share.
A feature of an entity takes 12 bytes there (number and weight): 2.5 GB for seven million entities with 30
features each. Making it takes 50 to 75 bytes a feature for a while (estimated from benchmarks/neighbors.py;
no dump of that size has been run), so 11 to 16 GB for as many.
"""

from __future__ import annotations

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from factdrift.neighbors.documents import read_documents
from factdrift.neighbors.groups import updated_groups, updated_subjects
from factdrift.neighbors.tfidf import TfIdf
from factdrift.tables import atomic_path, database


class Space(NamedTuple):
    """Vectors of the old dump's documents (`known`, ascending ids) and of further subjects (`added`)."""

    known: NDArray[np.int32]
    corpus: sparse.csr_array
    added: NDArray[np.int32]
    added_vectors: sparse.csr_array

    def of(self, subjects: NDArray[np.int32]) -> sparse.csr_array:
        """The vectors of these entities, one row each; an empty row where there is none."""
        stacked = sparse.vstack(
            [_rows(self.corpus, self.known, subjects), _rows(self.added_vectors, self.added, subjects)],
            format="csr",
        )
        in_old = np.isin(subjects, self.known)
        return stacked[np.arange(len(subjects)) + np.where(in_old, 0, len(subjects))]


def _rows(vectors: sparse.csr_array, ids: NDArray[np.int32], wanted: NDArray[np.int32]) -> sparse.csr_array:
    """The rows of `wanted`, empty where it is not among the ascending `ids`."""
    found = np.flatnonzero(np.isin(wanted, ids))
    pick = sparse.csr_array(
        (np.ones(len(found)), (found, np.searchsorted(ids, wanted[found]))),
        shape=(len(wanted), len(ids)),
    )
    return pick @ vectors


def make_space(
    updates: Sequence[Path],
    old: Sequence[Path],
    new: Sequence[Path],
    output: Path,
    variant: str,
    memory_mb: int = 4000,
    threads: int = 1,
) -> int:
    """Writes the folder of a space, with the subjects of `updates` that only the new dump has.

    `old`, `new`: preprocessed statements of the dumps. Returns the number of the old dump's entities.
    """
    with database(memory_mb, threads) as db:
        subjects = updated_subjects(updated_groups(db, updates))
        space = read_space(db, old, new, subjects, bare_relations=variant == "reference")
    with atomic_path(output) as folder:
        folder.mkdir()
        for name, ids, vectors in (
            ("known", space.known, space.corpus),
            ("added", space.added, space.added_vectors),
        ):
            np.save(folder / f"{name}.npy", ids)
            np.save(folder / f"{name}-shape.npy", np.array(vectors.shape))
            for part in _PARTS:
                np.save(folder / f"{name}-{part}.npy", getattr(vectors, part))
        if output.is_dir():
            shutil.rmtree(output)
    return len(space.known)


_PARTS = ("data", "indices", "indptr")


def open_space(folder: Path) -> Space:
    """The space that `make_space` wrote, mapped into memory."""

    def read(name: str) -> tuple[Any, sparse.csr_array]:
        data, indices, indptr = (_array(folder / f"{name}-{part}.npy") for part in _PARTS)
        shape = tuple(np.load(folder / f"{name}-shape.npy").tolist())
        return _array(folder / f"{name}.npy"), sparse.csr_array((data, indices, indptr), shape=shape)

    return Space(*read("known"), *read("added"))


def _array(path: Path) -> Any:
    return np.load(path, mmap_mode="r")


def read_space(
    db: duckdb.DuckDBPyConnection,
    old: Sequence[Path],
    new: Sequence[Path],
    subjects: NDArray[np.int32],
    bare_relations: bool,
) -> Space:
    """Fits the weights on the documents of the old dump's preprocessed tables.

    Those of `subjects` that are none there are read from the new dump's tables.
    """
    documents = read_documents(db, old, bare_relations)
    weights = TfIdf.fit(documents)
    absent = np.setdiff1d(subjects, documents.subjects)
    added = read_documents(db, new, bare_relations, absent.astype(np.int32))
    return Space(documents.subjects, weights.transform(documents), added.subjects, weights.transform(added))
