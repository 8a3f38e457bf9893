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


class Sizes(NamedTuple):
    """How much is compared at a time; results do not depend on it."""

    documents: int = 4_096
    """Rows of the corpus in a block, which with `together` queries fits the processor's cache."""
    together: int = 128
    common: int = 48
    """Features that are multiplied as a dense matrix, which takes 4 bytes a row of the corpus each."""
    held: int = 256
    """Blocks in memory, which does not grow with the corpus."""


USUAL = Sizes()


def nearest(
    queries: sparse.csr_array,
    corpus: sparse.csr_array,
    having: NDArray[np.int32],
    number: int,
    sizes: Sizes = USUAL,
) -> Iterator[Neighbors]:
    """Yields for each query the `number` most similar rows of the corpus; ties by ascending row.

    Rows that share no feature with the query (similarity 0) are left out. All similarities are first computed
    in single precision, whose error is bounded; those that may be among the best are then summed again in
    double precision, in the order of the features. Most products come from a few features that nearly every
    entity has, by the rows of the corpus `having` each feature [f]: these are multiplied as a dense matrix,
    the others as a sparse one.
    """
    search = _Search(queries, corpus, having, number, sizes.common)
    rows = range(0, corpus.shape[0], sizes.documents)
    blocks = [(begin, min(begin + sizes.documents, corpus.shape[0])) for begin in rows]
    parts = [
        search.part(begin, min(begin + sizes.together, queries.shape[0]))
        for begin in range(0, queries.shape[0], sizes.together)
    ]
    progress = Progress("nearest facts", len(blocks) * queries.shape[0], "products")
    for first in range(0, len(blocks), sizes.held):
        made = [(begin, search.block(begin, end)) for begin, end in blocks[first : first + sizes.held]]
        for part in parts:
            for begin, block in made:
                part.look(begin, block)
            progress.advance(len(made) * part.queries)
    progress.say()
    for part in parts:
        yield from part.best()


class _Block(NamedTuple):
    """Some rows of the corpus, transposed, in single precision, with the features of the queries only:
    [common features, rows], [other features, rows]."""

    common: NDArray[np.float32]
    others: sparse.csr_array


class _Search:
    """The queries in single precision, their features renumbered: those with the most products come first."""

    def __init__(
        self,
        queries: sparse.csr_array,
        corpus: sparse.csr_array,
        having: NDArray[np.int32],
        number: int,
        common: int,
    ) -> None:
        features, columns = np.unique(queries.indices, return_inverse=True)
        products = having[features].astype(np.int64) * np.bincount(columns, minlength=len(features))
        most = np.argsort(-products, kind="stable")
        place = np.empty(len(features), np.int32)
        place[most] = np.arange(len(features), dtype=np.int32)
        self.corpus, self.number = corpus, number
        self.features, self.common = len(features), min(common, len(features))
        self.places = np.full(corpus.shape[1], len(features), np.int32)
        self.places[features] = place
        single = sparse.csr_array(
            (queries.data.astype(np.float32), place[columns], queries.indptr),
            shape=(queries.shape[0], len(features)),
        ).tocsc()
        self.frequent = single[:, : self.common].toarray()
        self.rare = single[:, self.common :].tocsr()
        self.exact = _Exact(queries, corpus, self.places, self.features)
        # Error bound of a sum of n products in single precision, for vectors of length 1; twice, because both
        # sides of a comparison have it.
        terms = np.diff(queries.indptr) + 4
        self.margins = 2 * terms * float(np.finfo(np.float32).eps) + 2 * 10.0**-DECIMALS

    def block(self, begin: int, end: int) -> _Block:
        """The rows of the corpus from `begin` to before `end`."""
        bounds = self.corpus.indptr[begin : end + 1]
        cells = slice(bounds[0], bounds[-1])
        places = self.places[self.corpus.indices[cells]]
        rows = np.repeat(np.arange(end - begin, dtype=np.int32), np.diff(bounds))
        asked = np.flatnonzero(places < self.features)
        places, rows = places[asked], rows[asked]
        weights = self.corpus.data[cells][asked].astype(np.float32)
        frequent = places < self.common
        table = np.zeros((self.common, end - begin), np.float32)
        table[places[frequent], rows[frequent]] = weights[frequent]
        rare = ~frequent
        bounds = np.zeros(end - begin + 1, np.int32)
        np.cumsum(np.bincount(rows[rare], minlength=end - begin), out=bounds[1:])
        others = sparse.csr_array(
            (weights[rare], places[rare] - self.common, bounds),
            shape=(end - begin, self.features - self.common),
        )
        return _Block(table, others.tocsc().T)

    def part(self, begin: int, end: int) -> _Part:
        """The queries from `begin` to before `end`."""
        return _Part(self, begin, end)


_CROWD = 20
"""When a query has this many times the wanted number of candidates, they are reduced by exact similarity:
thousands of entities can be equally similar."""


class _Part:
    """Some queries, and the rows of the corpus that may be among the best of each."""

    def __init__(self, search: _Search, begin: int, end: int) -> None:
        self.search, self.begin, self.queries = search, begin, end - begin
        self.frequent, self.rare = search.frequent[begin:end], search.rare[begin:end]
        self.least = np.zeros((self.queries, 1), np.float32)
        self.rows = [np.empty(0, np.int64)] * self.queries
        self.similarities = [np.empty(0, np.float32)] * self.queries
        self.found: list[tuple[NDArray[np.intp], NDArray[np.int64], NDArray[np.float32]]] = []
        self.waiting = 0

    def look(self, begin: int, block: _Block) -> None:
        """Compares the queries with a block of the corpus whose first row is `begin`."""
        products = self.frequent @ block.common
        width, flat = products.shape[1], products.reshape(-1)
        others = self.rare @ block.others
        places = np.repeat(np.arange(self.queries, dtype=np.int32) * width, np.diff(others.indptr))
        places += others.indices
        flat[places] += others.data
        near = np.flatnonzero(products > self.least)
        self.found.append((near // width, near % width + begin, flat[near]))
        self.waiting += len(near)
        if self.waiting > self.queries * self.search.number:
            self.settle()

    def settle(self) -> None:
        """Takes what was found into the candidates of each query, and raises the least similarity of each."""
        if not self.waiting:
            return
        queries, rows, similarities = (np.concatenate(each) for each in zip(*self.found, strict=True))
        order = np.argsort(queries, kind="stable")
        bounds = np.searchsorted(queries[order], np.arange(self.queries + 1))
        for query in np.flatnonzero(np.diff(bounds)).tolist():
            mine = order[bounds[query] : bounds[query + 1]]
            self.add(query, rows[mine], similarities[mine])
        self.found, self.waiting = [], 0

    def add(self, query: int, rows: NDArray[np.int64], similarities: NDArray[np.float32]) -> None:
        """Adds candidates of a query, and drops those that are not near enough to its best."""
        search, number = self.search, self.search.number
        rows = np.concatenate([self.rows[query], rows])
        similarities = np.concatenate([self.similarities[query], similarities])
        if len(rows) > number:
            last = float(np.partition(similarities, -number)[-number])
            least = np.float32(max(last - search.margins[self.begin + query], 0.0))
            self.least[query] = least
            near = similarities > least
            rows, similarities = rows[near], similarities[near]
        if len(rows) > _CROWD * number:
            kept = np.isin(rows, search.exact.best(self.begin + query, rows, number).documents)
            rows, similarities = rows[kept], similarities[kept]
        self.rows[query], self.similarities[query] = rows, similarities

    def best(self) -> Iterator[Neighbors]:
        """Yields the best rows of each query."""
        self.settle()
        for query, rows in enumerate(self.rows):
            yield self.search.exact.best(self.begin + query, rows, self.search.number)


class _Exact:
    """Similarities in double precision, summed in the order of the features."""

    def __init__(
        self, queries: sparse.csr_array, corpus: sparse.csr_array, places: NDArray[np.int32], features: int
    ) -> None:
        self.queries, self.corpus, self.places = queries, corpus, places
        # One more place, always 0, for features that no query has.
        self.weights = np.zeros(features + 1)

    def best(self, query: int, rows: NDArray[np.int64], number: int) -> Neighbors:
        """The `number` best of `rows` by rounded similarity; similarity 0 is left out."""
        rows = np.sort(rows)
        found = self.corpus[rows]
        cells = slice(self.queries.indptr[query], self.queries.indptr[query + 1])
        asked = self.places[self.queries.indices[cells]]
        self.weights[asked] = self.queries.data[cells]
        similarities = np.round(
            sparse.csr_array(
                (found.data, self.places[found.indices], found.indptr),
                shape=(len(rows), len(self.weights)),
            )
            @ self.weights,
            DECIMALS,
        )
        self.weights[asked] = 0
        order = np.lexsort((rows, -similarities))[:number]
        order = order[similarities[order] > 0]
        return Neighbors(rows[order], similarities[order])


def pair_similarities(left: sparse.csr_array, right: sparse.csr_array) -> NDArray[np.float64]:
    """[n] The rounded cosines of corresponding rows of two matrices [n, f] of unit rows."""
    return np.round(np.asarray(left.multiply(right).sum(axis=1)).ravel(), DECIMALS)
