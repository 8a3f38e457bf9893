"""Vectors and neighbours against scikit-learn's own vectorizer and cosine."""

from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.metrics.pairwise import cosine_similarity
from support.examples import examples

from factdrift.neighbors.nearest import Neighbors, Sizes, _lengths
from factdrift.neighbors.nearest import nearest as nearest_of
from factdrift.neighbors.vectors import Counts

BAGS = st.lists(st.lists(st.integers(-30, 30), min_size=1, max_size=12), min_size=2, max_size=25)


def vectors(counts: Counts, bags: list[list[int]]) -> sparse.csr_array:
    rows = np.repeat(np.arange(len(bags)), [len(bag) for bag in bags])
    return counts.vectors(len(bags), rows, np.array([code for bag in bags for code in bag], np.int64))


def fitted(bags: list[list[int]]) -> Counts:
    having = Counter(code for bag in bags for code in set(bag))
    vocabulary = sorted(having)
    return Counts(
        np.arange(len(bags), dtype=np.int32),
        np.array(vocabulary, np.int64),
        np.array([having[code] for code in vocabulary], np.int32),
    )


def nearest(queries, corpus, number, *sizes: int) -> list[Neighbors]:
    having = np.bincount(corpus.indices, minlength=corpus.shape[1]).astype(np.int32)
    return list(nearest_of(queries, corpus, having, number, Sizes(*sizes)))


@settings(max_examples=examples(60))
@given(BAGS, st.lists(st.lists(st.integers(-40, 40), max_size=8), min_size=1, max_size=6))
def test_equals_scikit_learn(bags, others):
    vectorizer = TfidfVectorizer(analyzer=lambda bag: bag)
    expected = vectorizer.fit_transform(bags)
    ours = fitted(bags)
    assert ours.vocabulary.tolist() == vectorizer.get_feature_names_out().tolist()
    corpus = vectors(ours, bags)
    np.testing.assert_allclose(corpus.toarray(), expected.toarray(), atol=1e-12)
    queries = vectors(ours, others)
    similarities = cosine_similarity(vectorizer.transform(others), expected)
    for row, found in enumerate(nearest(queries, corpus, 5)):
        rounded = np.round(similarities[row], 9)
        order = sorted(range(len(bags)), key=lambda i: (-rounded[i], i))
        best = [i for i in order if rounded[i] > 0][:5]
        # What differs from scikit-learn in the last bits may fall on the other side of a rounding step.
        np.testing.assert_allclose(found.similarities, rounded[best], atol=2e-9)
        np.testing.assert_allclose(similarities[row][found.documents], found.similarities, atol=2e-9)


@settings(max_examples=examples(30))
@given(BAGS, st.integers(1, 9))
def test_does_not_depend_on_blocks(bags, blocks):
    corpus = vectors(fitted(bags), bags)
    whole = nearest(corpus, corpus, 4)
    single = nearest(corpus, corpus, 4, blocks, 1 + blocks % 3, blocks - 1, blocks)
    for together, alone in zip(whole, single, strict=True):
        assert together.documents.tolist() == alone.documents.tolist()
        assert together.similarities.tolist() == alone.similarities.tolist()


@settings(max_examples=examples(20))
@given(
    st.lists(st.sampled_from([[1], [1, 2], [2, 3], [3], [1, 2, 3]]), min_size=6, max_size=60),
    st.integers(1, 3),
)
def test_crowds_of_equally_similar_rows_are_reduced_to_the_first_ones(bags, number):
    corpus = vectors(fitted(bags), bags)
    whole = nearest(corpus, corpus, number)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("factdrift.neighbors.nearest._CROWD", 1)
        reduced = nearest(corpus, corpus, number, 4, 3, 1, 5)
    for expected, found in zip(whole, reduced, strict=True):
        assert found.documents.tolist() == expected.documents.tolist()
        assert found.similarities.tolist() == expected.similarities.tolist()


def test_lengths_are_never_too_short():
    squares = np.random.default_rng(0).uniform(0, 1, 10_000)
    assert (_lengths(squares).astype(np.float64) ** 2 >= squares).all()


def test_what_rounds_to_no_similarity_is_no_neighbor():
    query = sparse.csr_array(np.array([[1.0, 1e-6]]))
    corpus = sparse.csr_array(np.array([[0.0, 1e-6], [0.0, 1e-2]]))
    (found,) = nearest(query, corpus, 5)
    assert (found.documents.tolist(), found.similarities.tolist()) == ([1], [1e-8])
