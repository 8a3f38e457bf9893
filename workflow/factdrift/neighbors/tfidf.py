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

from factdrift.core.progress import Progress
from factdrift.neighbors.documents import Counts, Documents

DECIMALS = 9
"""Decimals to which similarities are rounded before they are compared, so that ties are ties.

This needs vectors in double precision: sums in single precision differ from the eighth decimal on, and the
order of equal similarities, of which there are often thousands, would be random."""


class TfIdf(NamedTuple):
    """A fitted weighting: `vocabulary` [f] the feature codes, ascending; `idf` [f] their weights."""

    vocabulary: NDArray[np.int64]
    idf: NDArray[np.float64]

    @classmethod
    def fit(cls, counts: Counts) -> TfIdf:
        """The weights idf(f) = ln((1 + documents) / (1 + documents with f)) + 1."""
        return cls(counts.vocabulary, np.log((1 + len(counts.subjects)) / (1 + counts.having)) + 1)

    def transform(self, documents: Documents) -> sparse.csr_array:
        """Unit vectors [documents, f]; features outside the vocabulary are ignored.

        A document without any known feature is an empty row.
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
    """The neighbours of one query, most similar first: document numbers and rounded similarities. [k]"""

    documents: NDArray[np.int64]
    similarities: NDArray[np.float64]


def nearest(
    queries: sparse.csr_array,
    corpus: sparse.csr_array,
    number: int,
    documents: int = 16_384,
    together: int = 128,
    common: int = 48,
    held: int = 64,
) -> Iterator[Neighbors]:
    """Yields for each query the `number` most similar rows of the corpus; ties by ascending row.

    Rows that share no feature with the query (similarity 0) are left out. All similarities are first computed
    in single precision, whose error is bounded; those that may be among the best are then summed again in
    double precision, in the order of the features, so results do not depend on the blocks. The first pass
    takes `together` queries and `documents` rows of the corpus at a time, which fits the processor's cache.
    Most products come from a few features that nearly every entity has: the `common` most frequent ones are
    multiplied as a dense matrix (4 bytes a row each), the others as a sparse one. `held` blocks are in memory
    at a time, so memory does not grow with the corpus.
    """
    search = _Search(queries, corpus, number, common)
    blocks = [
        (begin, min(begin + documents, corpus.shape[0])) for begin in range(0, corpus.shape[0], documents)
    ]
    parts = [
        range(begin, min(begin + together, queries.shape[0]))
        for begin in range(0, queries.shape[0], together)
    ]
    progress = Progress("nearest facts", len(blocks) * queries.shape[0], "products")
    for first in range(0, len(blocks), held):
        made = [(begin, search.block(begin, end)) for begin, end in blocks[first : first + held]]
        for part in parts:
            for begin, block in made:
                search.look(part, begin, block)
            progress.advance(len(made) * len(part))
    progress.say()
    yield from search.best()


class _Search:
    """The candidates of each query among the rows of the corpus that were compared so far."""

    def __init__(self, queries: sparse.csr_array, corpus: sparse.csr_array, number: int, common: int) -> None:
        features, columns = np.unique(queries.indices, return_inverse=True)
        queries = sparse.csr_array(
            (queries.data, columns.astype(np.int32), queries.indptr), shape=(queries.shape[0], len(features))
        )
        self.corpus, self.number, self.features = corpus, number, len(features)
        self.renumbered = np.full(corpus.shape[1], len(features), np.int32)
        self.renumbered[features] = np.arange(len(features))
        self.dense = _most_products(queries, corpus, self.renumbered, common)
        single = queries.astype(np.float32)
        self.frequent, self.rare = single[:, self.dense].toarray(), _without(single, self.dense)
        self.exact = _Exact(queries, corpus, self.renumbered)
        # Error bound of a sum of n products in single precision, for vectors of length 1; twice, because both
        # sides of a comparison have it.
        margins = 2 * (np.diff(queries.indptr) + 4) * float(np.finfo(np.float32).eps) + 2 * 10.0**-DECIMALS
        self.candidates = [_Candidates(number, margin) for margin in margins.tolist()]

    def block(self, begin: int, end: int) -> _Block:
        """The rows of the corpus from `begin` to before `end`."""
        return _block(self.corpus, begin, end, self.renumbered, self.features, self.dense)

    def look(self, part: range, begin: int, block: _Block) -> None:
        """Compares the queries `part` with a block of the corpus whose first row is `begin`."""
        products = self.frequent[part.start : part.stop] @ block.dense
        others = self.rare[part.start : part.stop] @ block.sparse
        products[np.repeat(np.arange(len(part)), np.diff(others.indptr)), others.indices] += others.data
        for query, similarities in zip(part, products, strict=True):
            mine = self.candidates[query]
            chosen = np.flatnonzero(similarities > mine.least)
            if len(chosen):
                mine.add(chosen + begin, similarities[chosen])
            if len(mine.rows) > _CROWD * self.number:
                mine.keep(self.exact.best(query, mine.rows, self.number).documents)

    def best(self) -> Iterator[Neighbors]:
        """Yields the best rows of each query."""
        for query, mine in enumerate(self.candidates):
            yield self.exact.best(query, mine.rows, self.number)


_CROWD = 20
"""When a query has this many times the wanted number of candidates, they are reduced by exact similarity:
thousands of entities can be equally similar."""


class _Block(NamedTuple):
    """Some rows of the corpus, transposed, in single precision: [dense features, rows], [features, rows]."""

    dense: NDArray[np.float32]
    sparse: sparse.csr_array


class _Candidates:
    """The rows that may be among the `number` best of one query, by approximate similarity."""

    def __init__(self, number: int, margin: float):
        self.number, self.margin, self.least = number, margin, 0.0
        self.rows, self.similarities = np.empty(0, np.int64), np.empty(0, np.float32)

    def add(self, rows: NDArray[np.int64], similarities: NDArray[np.float32]) -> None:
        """Adds rows, all more similar than `least`, and raises `least`."""
        self.rows = np.concatenate([self.rows, rows])
        self.similarities = np.concatenate([self.similarities, similarities])
        if len(self.rows) > self.number:
            last = float(np.partition(self.similarities, -self.number)[-self.number])
            self.least = max(last - self.margin, 0.0)
            near = self.similarities > self.least
            self.rows, self.similarities = self.rows[near], self.similarities[near]

    def keep(self, rows: NDArray[np.int64]) -> None:
        """Drops all candidates but `rows`, the best by exact similarity."""
        kept = np.isin(self.rows, rows)
        self.rows, self.similarities = self.rows[kept], self.similarities[kept]


class _Exact:
    """Similarities in double precision, summed in the order of the features."""

    def __init__(self, queries: sparse.csr_array, corpus: sparse.csr_array, renumbered: NDArray[np.int32]):
        self.queries, self.corpus, self.renumbered = queries, corpus, renumbered
        # One more place, always 0, for features that no query has.
        self.weights = np.zeros(queries.shape[1] + 1)

    def best(self, query: int, rows: NDArray[np.int64], number: int) -> Neighbors:
        """The `number` best of `rows` by rounded similarity; similarity 0 is left out."""
        rows = np.sort(rows)
        found = self.corpus[rows]
        cells = slice(self.queries.indptr[query], self.queries.indptr[query + 1])
        self.weights[self.queries.indices[cells]] = self.queries.data[cells]
        similarities = np.round(
            sparse.csr_array(
                (found.data, self.renumbered[found.indices], found.indptr),
                shape=(len(rows), len(self.weights)),
            )
            @ self.weights,
            DECIMALS,
        )
        self.weights[self.queries.indices[cells]] = 0
        order = np.lexsort((rows, -similarities))[:number]
        order = order[similarities[order] > 0]
        return Neighbors(rows[order], similarities[order])


def _most_products(
    queries: sparse.csr_array, corpus: sparse.csr_array, renumbered: NDArray[np.int32], number: int
) -> NDArray[np.int32]:
    """The at most `number` features, ascending, with the most products of queries and corpus."""
    having = np.zeros(queries.shape[1] + 1, np.int64)
    for first in range(0, len(corpus.indices), _AT_ONCE):
        columns = renumbered[corpus.indices[first : first + _AT_ONCE]]
        having += np.bincount(columns, minlength=len(having))
    products = having[:-1] * np.bincount(queries.indices, minlength=queries.shape[1])
    most = np.argsort(-products, kind="stable")[:number]
    return np.sort(most[products[most] > 0]).astype(np.int32)


_AT_ONCE = 1 << 24
"""Entries of the corpus that are counted at a time."""


def _without(vectors: sparse.csr_array, features: NDArray[np.int32]) -> sparse.csr_array:
    """The vectors with these features set to 0."""
    kept = np.ones(vectors.shape[1], np.float32)
    kept[features] = 0
    others = sparse.csr_array(vectors * kept[None, :])
    others.eliminate_zeros()
    return others


def _block(
    corpus: sparse.csr_array,
    first: int,
    last: int,
    renumbered: NDArray[np.int32],
    features: int,
    dense: NDArray[np.int32],
) -> _Block:
    """Rows `first` to `last` (exclusive) of the corpus, with the features of the queries only."""
    bounds = corpus.indptr[first : last + 1]
    cells = slice(bounds[0], bounds[-1])
    columns = renumbered[corpus.indices[cells]]
    rows = np.repeat(np.arange(last - first, dtype=np.int32), np.diff(bounds))
    weights = np.asarray(corpus.data[cells], np.float32)
    place = np.full(features + 1, -1, np.int32)
    place[dense] = np.arange(len(dense))
    frequent = place[columns] >= 0
    table = np.zeros((len(dense), last - first), np.float32)
    table[place[columns[frequent]], rows[frequent]] = weights[frequent]
    rare = ~frequent & (columns < features)
    others = sparse.coo_array(
        (weights[rare], (columns[rare], rows[rare])), shape=(features, last - first)
    ).tocsr()
    return _Block(table, others)


def pair_similarities(left: sparse.csr_array, right: sparse.csr_array) -> NDArray[np.float64]:
    """[n] The rounded cosines of corresponding rows of two matrices [n, f] of unit rows."""
    return np.round(np.asarray(left.multiply(right).sum(axis=1)).ravel(), DECIMALS)
