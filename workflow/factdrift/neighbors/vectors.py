"""The vector space of one pair of dumps: fitted on the old one, with the new one's subjects put into it."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from factdrift.neighbors.documents import read_documents
from factdrift.neighbors.tfidf import TfIdf


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
