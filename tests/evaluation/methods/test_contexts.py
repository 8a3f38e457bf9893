"""Batches of edits: of similar width, and none lost."""

from __future__ import annotations

from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st
from support.tiny_models import tiny_model

from factdrift.evaluation.methods.contexts import PADDED, Contexts, in_batches_of
from factdrift.models.alignment import Sentence


def context(place: int, width: int) -> Contexts:
    one = Sentence(tuple(range(width)), 0, width)
    return Contexts(place, (one,), one)


@given(st.lists(st.integers(1, 60), max_size=40).map(sorted))
def test_batches_hold_edits_of_similar_width(widths: list[int]) -> None:
    edits = [context(place, width) for place, width in enumerate(widths)]
    batches = in_batches_of(tiny_model("llama"), edits, list)
    assert [one for batch in batches for one in batch] == edits
    for batch in batches:
        run = len(batch) * max(one.width for one in batch)
        assert run <= PADDED * sum(one.width for one in batch)
    # No cut without need: one more edit would have made a batch exceed the padding that is allowed.
    for batch, following in pairwise(batches):
        wider = [*batch, following[0]]
        assert len(wider) * following[0].width > PADDED * sum(one.width for one in wider)
