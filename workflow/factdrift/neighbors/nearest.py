"""Exact nearest neighbours by cosine, among sparse vectors of length 1."""

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from factdrift.core.progress import Progress

DECIMALS = 9
"""Decimals to which similarities are rounded before they are compared, so that ties are ties.

This needs vectors in double precision: sums in single precision differ from the eighth decimal on, and the
order of equal similarities, of which there are often thousands, would be random."""


class Neighbors(NamedTuple):
    """The neighbours of one query, most similar first: document numbers and rounded similarities. [k]"""

    documents: NDArray[np.int64]
    similarities: NDArray[np.float64]


class Sizes(NamedTuple):
    """How much is compared at a time; results do not depend on it."""

    documents: int = 8_192
    """Rows of the corpus in a block, which is compared with `together` queries."""
    together: int = 256
    common: int = 48
    """Features that are multiplied as a dense matrix, which takes 4 bytes a row of the corpus each."""
    in_memory: int = 32
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
    double precision, in the order of the features.

    Most products come from a few features that nearly every entity has, by the rows of the corpus `having`
    each feature [f], and nearly all are in vain: such features weigh little, so an entity among the best
    shares a rare one. A row is compared by the rare features first, which few rows have. What the common ones
    can add is at most the product of the lengths of both sides' common parts; where that is not enough, they
    are not multiplied. The rows in memory are sorted by that length, so that whole blocks are left out.
    """
    search = _Search(queries, corpus, having, number, sizes.common)
    begins = range(0, queries.shape[0], sizes.together)
    parts = [_Part(search, first, min(first + sizes.together, queries.shape[0])) for first in begins]
    rows, in_memory = corpus.shape[0], sizes.documents * sizes.in_memory
    progress = Progress("nearest facts", rows * queries.shape[0], "products")
    for begin in range(0, rows, in_memory):
        end = min(begin + in_memory, rows)
        blocks = search.blocks(begin, end, sizes.documents)
        for part in parts:
            if begin == 0:
                part.expect(blocks)
            for block in blocks:
                part.look(block)
            progress.advance((end - begin) * part.queries)
    progress.say()
    for part in parts:
        yield from part.best()


class _Block(NamedTuple):
    """Some `rows` of the corpus in single precision, with the features of the queries only: [rows, common
    features], [other features, rows]; the `lengths` of their common parts, descending."""

    rows: NDArray[np.int64]
    lengths: NDArray[np.float32]
    common: NDArray[np.float32]
    others: sparse.csr_array


def _lengths(squares: NDArray[np.float64]) -> NDArray[np.float32]:
    """The lengths of which these are the squares; rounding never makes a product of two of them too small."""
    return np.asarray(np.sqrt(squares) * (1 + 1e-6), np.float32)


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
        position = np.empty(len(features), np.int32)
        position[most] = np.arange(len(features), dtype=np.int32)
        self.queries, self.corpus, self.number = queries, corpus, number
        self.features, self.common = len(features), min(common, len(features))
        self.positions = np.full(corpus.shape[1], len(features), np.int32)
        self.positions[features] = position
        cells = queries.data.astype(np.float32), position[columns], queries.indptr
        single = sparse.csr_array(cells, shape=(queries.shape[0], len(features))).tocsc()
        self.frequent = single[:, : self.common].toarray()
        self.lengths = _lengths(np.square(self.frequent, dtype=np.float64).sum(axis=1))
        self.rare = single[:, self.common :].tocsr()
        # One more place, always 0, for features that no query has.
        self.weights = np.zeros(self.features + 1)
        # Error bound of a sum of n products in single precision, for vectors of length 1; twice, because both
        # sides of a comparison have it.
        terms = np.diff(queries.indptr) + 4
        self.margins = 2 * terms * float(np.finfo(np.float32).eps) + 2 * 10.0**-DECIMALS

    def blocks(self, begin: int, end: int, size: int) -> list[_Block]:
        """The rows of the corpus from `begin` to before `end`, `size` in a block, by their common parts."""
        bounds = self.corpus.indptr[begin : end + 1]
        cells = slice(bounds[0], bounds[-1])
        positions = self.positions[self.corpus.indices[cells]]
        asked = np.flatnonzero(positions < self.features)
        rows = np.repeat(np.arange(end - begin, dtype=np.int32), np.diff(bounds))[asked]
        positions, weights = positions[asked], self.corpus.data[cells][asked].astype(np.float32)
        frequent = positions < self.common
        squares = np.bincount(rows[frequent], np.square(weights[frequent], dtype=np.float64), end - begin)
        lengths = _lengths(np.asarray(squares, np.float64))
        order = np.argsort(-lengths, kind="stable")
        position = np.empty(end - begin, np.int32)
        position[order] = np.arange(end - begin, dtype=np.int32)
        rows, lengths, order = position[rows], lengths[order], order + begin
        table = np.zeros((end - begin, self.common), np.float32)
        table[rows[frequent], positions[frequent]] = weights[frequent]
        rare = ~frequent
        shape = (self.features - self.common, end - begin)
        others = sparse.csc_array((weights[rare], (positions[rare] - self.common, rows[rare])), shape=shape)
        cuts = [slice(first, first + size) for first in range(0, end - begin, size)]
        return [_Block(order[cut], lengths[cut], table[cut], others[:, cut].tocsr()) for cut in cuts]

    def best(self, query: int, rows: NDArray[np.int64]) -> Neighbors:
        """The best of `rows` by rounded similarity, in double precision and summed in the order of features.

        Similarity 0 is left out.
        """
        rows = np.sort(rows)
        documents = self.corpus[rows]
        cells = slice(self.queries.indptr[query], self.queries.indptr[query + 1])
        asked = self.positions[self.queries.indices[cells]]
        self.weights[asked] = self.queries.data[cells]
        parts = documents.data, self.positions[documents.indices], documents.indptr
        products = sparse.csr_array(parts, shape=(len(rows), len(self.weights))) @ self.weights
        similarities = np.round(products, DECIMALS)
        self.weights[asked] = 0
        order = np.lexsort((rows, -similarities))[: self.number]
        order = order[similarities[order] > 0]
        return Neighbors(rows[order], similarities[order])


_CROWD = 20
"""When a query has this many times the wanted number of candidates, they are reduced by exact similarity:
thousands of entities can be equally similar."""


class _Part:
    """Some queries, and the rows of the corpus that may be among the best of each."""

    def __init__(self, search: _Search, begin: int, end: int) -> None:
        self.search, self.begin, self.queries = search, begin, end - begin
        self.frequent, self.rare = search.frequent[begin:end], search.rare[begin:end]
        self.lengths = search.lengths[begin:end]
        self.least = np.zeros((self.queries, 1), np.float32)
        self.rows = [np.empty(0, np.int64)] * self.queries
        self.similarities = [np.empty(0, np.float32)] * self.queries
        self.hits: list[tuple[NDArray[Any], NDArray[np.int64], NDArray[np.float32]]] = []
        self.waiting = 0

    def expect(self, blocks: list[_Block]) -> None:
        """Raises the least similarity of each query to what the rare features alone give its best."""
        hits = sparse.hstack([self.rare @ block.others for block in blocks], format="csr")
        for query in np.flatnonzero(np.diff(hits.indptr) >= self.search.number).tolist():
            self.raise_least(query, hits.data[hits.indptr[query] : hits.indptr[query + 1]])

    def raise_least(self, query: int, similarities: NDArray[np.float32]) -> None:
        """Raises the least similarity of a query to that of the last of its best, with its error."""
        number = self.search.number
        last = float(np.partition(similarities, -number)[-number])
        least = np.float32(max(last - self.search.margins[self.begin + query], 0.0))
        self.least[query] = max(least, self.least[query, 0])

    def look(self, block: _Block) -> None:
        """Compares the queries with a block of the corpus."""
        others = self.rare @ block.others
        added = self.lengths * block.lengths[0]
        # A query's best may be here without a rare feature in common where this is true.
        whole = added > self.least[:, 0]
        enough = np.where(whole, np.float32(np.inf), self.least[:, 0] - added)
        near = np.flatnonzero(others.data > np.repeat(enough, np.diff(others.indptr)))
        queries = np.searchsorted(others.indptr, near, side="right") - 1
        rows = others.indices[near]
        reach = others.data[near] + self.lengths[queries] * block.lengths[rows] > self.least[queries, 0]
        near, queries, rows = near[reach], queries[reach], rows[reach]
        shared = np.einsum("ij,ij->i", self.frequent[queries], block.common[rows])
        self.take(queries, block.rows[rows], others.data[near] + shared)
        asked = np.flatnonzero(whole)
        if len(asked):
            products = self.frequent[asked] @ block.common.T
            mine = others[asked]
            positions = np.repeat(np.arange(len(asked)) * products.shape[1], np.diff(mine.indptr))
            products.reshape(-1)[positions + mine.indices] += mine.data
            hits, rows = np.nonzero(products > self.least[asked])
            self.take(asked[hits], block.rows[rows], products[hits, rows])
        if self.waiting > self.queries * self.search.number:
            self.settle()

    def take(self, queries: NDArray[Any], rows: NDArray[np.int64], similarities: NDArray[np.float32]) -> None:
        """Keeps what is above the least similarity of its query until it is settled."""
        near = similarities > self.least[queries, 0]
        self.hits.append((queries[near], rows[near], similarities[near]))
        self.waiting += int(near.sum())

    def settle(self) -> None:
        """Takes new rows into the candidates of their queries, and raises the least similarity of each.

        Candidates that are not near enough to the best are dropped.
        """
        if not self.waiting:
            return
        queries, rows, similarities = (np.concatenate(parts) for parts in zip(*self.hits, strict=True))
        order = np.argsort(queries, kind="stable")
        bounds = np.searchsorted(queries[order], np.arange(self.queries + 1))
        search, number = self.search, self.search.number
        for query in np.flatnonzero(np.diff(bounds)).tolist():
            mine = order[bounds[query] : bounds[query + 1]]
            hits = np.concatenate([self.rows[query], rows[mine]])
            alike = np.concatenate([self.similarities[query], similarities[mine]])
            if len(hits) > number:
                self.raise_least(query, alike)
                near = alike > self.least[query]
                hits, alike = hits[near], alike[near]
            if len(hits) > _CROWD * number:
                kept = np.isin(hits, search.best(self.begin + query, hits).documents)
                hits, alike = hits[kept], alike[kept]
            self.rows[query], self.similarities[query] = hits, alike
        self.hits, self.waiting = [], 0

    def best(self) -> Iterator[Neighbors]:
        """Yields the best rows of each query."""
        self.settle()
        for query, rows in enumerate(self.rows):
            yield self.search.best(self.begin + query, rows)
