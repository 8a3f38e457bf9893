"""Entropy of n-grams."""

from __future__ import annotations

import math
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factdrift.evaluation.ways.fluency import entropy, fluency, words


def test_by_hand() -> None:
    assert words("Joe's here, again.") == ["Joe", "'", "s", "here", ",", "again", "."]
    # bigrams ab ba ab: 2/3, 1/3; trigrams aba bab: one half each.
    h2 = -(2 / 3 * math.log2(2 / 3) + 1 / 3 * math.log2(1 / 3))
    found = fluency(["a b a b"])
    assert found.full == pytest.approx(2 / 3 * h2 + 4 / 3 * 1)
    assert found.halved == pytest.approx(found.full / 2)
    assert fluency(["a a a a a a", "a b a b"]).full == pytest.approx(found.full / 2)
    with pytest.raises(ValueError, match="no text"):
        fluency([])


@given(st.lists(st.sampled_from("abc"), max_size=30), st.integers(1, 4))
def test_the_entropy_is_that_of_the_shares(tokens: list[str], n: int) -> None:
    counts = Counter(zip(*(tokens[start:] for start in range(n)), strict=False))
    shares = [count / counts.total() for count in counts.values()]
    assert entropy(tokens, n) == pytest.approx(-sum(share * math.log2(share) for share in shares))
    assert (entropy(tokens, n) == 0) == (len(counts) < 2)
