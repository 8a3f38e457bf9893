"""The vector space of one pair of dumps: fitted on the old one, with the new one's subjects put into it.

It is made once and kept as a folder of plain arrays, which the jobs of the search map into memory and share.
A feature of an entity takes 12 bytes there (number and weight): 2.5 GB for seven million entities with 30
features each. Making it takes what DuckDB is allowed and 16 bytes a distinct feature.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
from numpy.lib import format as npy
from numpy.typing import NDArray
from scipy import sparse

from factdrift.core.owned import new_folder
from factdrift.core.progress import tracked
from factdrift.core.tables import database
from factdrift.neighbors.documents import count_documents, read_documents
from factdrift.neighbors.groups import updated_groups, updated_subjects
from factdrift.neighbors.tfidf import TfIdf

if TYPE_CHECKING:
    from factdrift.neighbors import jobs

DOCUMENTS = 250_000
"""Documents whose vectors are made at a time: some 20 features each, temporarily 100 bytes a feature."""


class Space(NamedTuple):
    """Vectors of the old dump's documents (`known`: ids, ascending) and of new subjects (`added`); the number
    of documents of the old dump that are `having` each feature [f]."""

    having: NDArray[np.int32]
    known: NDArray[np.int32]
    corpus: sparse.csr_array
    added: NDArray[np.int32]
    added_vectors: sparse.csr_array

    def of(self, subjects: NDArray[np.int32]) -> sparse.csr_array:
        """The vectors of these entities, one row each; an empty row for an entity without one."""
        stacked = sparse.vstack(
            [_rows(self.corpus, self.known, subjects), _rows(self.added_vectors, self.added, subjects)],
            format="csr",
        )
        in_old = np.isin(subjects, self.known)
        return stacked[np.arange(len(subjects)) + np.where(in_old, 0, len(subjects))]


def _rows(vectors: sparse.csr_array, ids: NDArray[np.int32], wanted: NDArray[np.int32]) -> sparse.csr_array:
    """The rows of the entities `wanted`; empty for those that are not among the ascending `ids`."""
    places = np.flatnonzero(np.isin(wanted, ids))
    pick = sparse.csr_array(
        (np.ones(len(places)), (places, np.searchsorted(ids, wanted[places]))),
        shape=(len(wanted), len(ids)),
    )
    return pick @ vectors


def make_space(job: jobs.Space, documents: int = DOCUMENTS) -> int:
    """Writes the folder of a space, with the subjects of the updates that only the new dump has.

    Returns the number of the old dump's entities, `documents` of which are read at once.
    """
    bare_relations = job.variant == "reference"
    with database(job.memory_mb, job.threads) as db, new_folder(job.output) as folder:
        counts = count_documents(db, job.old, bare_relations, documents)
        weights = TfIdf.fit(counts)
        np.save(folder / "having.npy", counts.having)
        features = int(counts.having.sum(dtype=np.int64))

        def vectors(ids: NDArray[np.int32]) -> Iterator[sparse.csr_array]:
            for first in range(0, len(ids), documents):
                part = read_documents(db, job.old, bare_relations, ids[first : first + documents])
                yield weights.transform(part)

        parts = -(-len(counts.subjects) // documents)
        known = tracked(vectors(counts.subjects), "vectors", parts, "parts")
        _write(folder, "known", counts.subjects, known, features, len(weights.vocabulary))
        wanted = updated_subjects(updated_groups(db, job.updates))
        absent = read_documents(db, job.new, bare_relations, np.setdiff1d(wanted, counts.subjects))
        added = weights.transform(absent)
        _write(folder, "added", absent.subjects, [added], added.nnz, len(weights.vocabulary))
    return len(counts.subjects)


def _write(
    folder: Path,
    name: str,
    ids: NDArray[np.int32],
    parts: Iterable[sparse.csr_array],
    features: int,
    vocabulary: int,
) -> None:
    """Writes the vectors of `ids`, given in parts in that order, with `features` entries in all."""
    np.save(folder / f"{name}.npy", ids)
    np.save(folder / f"{name}-shape.npy", np.array([len(ids), vocabulary]))
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

    def read(name: str) -> tuple[Any, sparse.csr_array]:
        data, indices, indptr = (
            _array(folder / f"{name}-{part}.npy") for part in ("data", "indices", "indptr")
        )
        shape = tuple(np.load(folder / f"{name}-shape.npy").tolist())
        return _array(folder / f"{name}.npy"), sparse.csr_array((data, indices, indptr), shape=shape)

    return Space(_array(folder / "having.npy"), *read("known"), *read("added"))


def _array(path: Path) -> Any:
    return np.load(path, mmap_mode="r")
