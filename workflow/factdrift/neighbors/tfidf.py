"""TF-IDF vectors as scikit-learn's TfidfVectorizer makes them, and exact nearest neighbours by cosine.

The features are integers already, and there are tens of millions of them: a vocabulary of Python strings
would not fit, hence the few lines of our own. Term frequency is the raw count, document frequency is smoothed
(one more document that has every feature), rows have Euclidean length 1.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from factdrift.neighbors.documents import Documents

DECIMALS = 9
"""Similarities are rounded to so many decimals before they are compared, so that equal ones are equal."""


class TfIdf(NamedTuple):
    """A fitted weighting: `vocabulary` the feature codes, ascending; `idf` their weights."""

    vocabulary: NDArray[np.int64]
    idf: NDArray[np.float64]

    @classmethod
    def fit(cls, documents: Documents) -> TfIdf:
        """The weights idf(f) = ln((1 + documents) / (1 + documents with f)) + 1."""
        vocabulary = np.unique(documents.codes)
        counts = _counts(documents, vocabulary)
        having = np.bincount(counts.indices, minlength=len(vocabulary))
        idf = np.log((1 + len(documents.subjects)) / (1 + having)) + 1
        return cls(vocabulary, idf)

    def transform(self, documents: Documents) -> sparse.csr_array:
        """One unit row a document, features in ascending order; unknown features do not count.

        A document with no known feature is an empty row.
        """
        vectors = _counts(documents, self.vocabulary)
        vectors.data *= self.idf[vectors.indices]
        lengths = np.sqrt(np.asarray(vectors.multiply(vectors).sum(axis=1)).ravel())
        vectors.data /= np.repeat(lengths, np.diff(vectors.indptr))
        return vectors


def _counts(documents: Documents, vocabulary: NDArray[np.int64]) -> sparse.csr_array:
    columns = np.searchsorted(vocabulary, documents.codes)
    columns = np.minimum(columns, max(len(vocabulary) - 1, 0))
    known = vocabulary[columns] == documents.codes if len(vocabulary) else np.zeros(len(columns), bool)
    shape = (len(documents.subjects), len(vocabulary))
    counts = sparse.csr_array(
        (np.ones(int(known.sum())), (documents.rows[known], columns[known])), shape=shape, dtype=np.float64
    )
    counts.sum_duplicates()
    return counts


class Neighbors(NamedTuple):
    """Of one query: document numbers and their rounded similarities, the most similar first."""

    documents: NDArray[np.int64]
    similarities: NDArray[np.float64]


def nearest(
    queries: sparse.csr_array, corpus: sparse.csr_array, number: int, products: int = 30_000_000
) -> Iterator[Neighbors]:
    """For each query the `number` most similar rows of the corpus; equal ones by ascending row.

    Rows that share no feature with the query are none. The work goes in blocks of queries whose
    similarities, at most `products` of them (12 bytes each), are held at once; a query of its own is
    never cut. A query's similarities are summed in the order of its own features, so results do not
    depend on the blocks.
    """
    transposed = corpus.T.tocsr()
    occurrences = np.diff(transposed.indptr)
    for first, last in _blocks(queries, occurrences, corpus.shape[0], products):
        block = queries[first:last] @ transposed
        for row in range(last - first):
            cells = slice(block.indptr[row], block.indptr[row + 1])
            yield _best(block.indices[cells], block.data[cells], number)


def _blocks(
    queries: sparse.csr_array, occurrences: NDArray[np.integer], rows: int, products: int
) -> Iterator[tuple[int, int]]:
    first = held = 0
    for query in range(queries.shape[0]):
        features = queries.indices[queries.indptr[query] : queries.indptr[query + 1]]
        size = min(int(occurrences[features].sum()), rows)
        if query > first and held + size > products:
            yield first, query
            first, held = query, 0
        held += size
    if queries.shape[0]:
        yield first, queries.shape[0]


def _best(documents: NDArray[np.integer], products: NDArray[np.float64], number: int) -> Neighbors:
    similarities = np.round(products, DECIMALS)
    positive = similarities > 0
    if int(positive.sum()) > number:
        least = np.partition(similarities, -number)[-number]
        positive &= similarities >= least
    documents, similarities = documents[positive], similarities[positive]
    order = np.lexsort((documents, -similarities))[:number]
    return Neighbors(documents[order].astype(np.int64), similarities[order])


def pair_similarities(left: sparse.csr_array, right: sparse.csr_array) -> NDArray[np.float64]:
    """The rounded cosines of the rows of two matrices of the same shape, one a pair."""
    return np.round(np.asarray(left.multiply(right).sum(axis=1)).ravel(), DECIMALS)
