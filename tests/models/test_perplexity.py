"""Perplexity, token by token with plain transformers."""

from __future__ import annotations

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.tiny_models import TEXT, tiny_model  # noqa: E402
from support.writing import continued  # noqa: E402

from factdrift.models.deltas import Dense, LowRank, written  # noqa: E402
from factdrift.models.perplexity import perplexity, pieces  # noqa: E402


class Letters:
    """A tokenizer with a token for each letter."""

    def __call__(self, text: str, verbose: bool = True) -> dict[str, list[int]]:
        return {"input_ids": [ord(letter) for letter in text]}


@given(st.lists(st.text("abc", max_size=9), max_size=6), st.integers(1, 20), st.integers(2, 5))
def test_pieces_are_the_texts_until_enough_tokens_are_predicted(
    texts: list[str], tokens: int, length: int
) -> None:
    found = pieces(Letters(), texts, tokens, length)
    whole = [text[start : start + length] for text in texts for start in range(0, len(text), length)]
    whole = [piece for piece in whole if len(piece) > 1]
    predicted = sum(len(piece) - 1 for piece in found)
    assert predicted == min(tokens, sum(len(piece) - 1 for piece in whole))
    assert all(1 < len(piece) <= length for piece in found)
    said = ["".join(map(chr, piece)) for piece in found]
    assert said[:-1] == whole[: max(len(found) - 1, 0)]
    assert all(piece.startswith(mine) for mine, piece in zip(said, whole, strict=False))


def by_hand(model: Any, rows: list[tuple[int, ...]]) -> float:
    """One row and one token after the other."""
    surprises = []
    for row in rows:
        for place in range(1, len(row)):
            chances = model(torch.tensor([row[:place]])).logits[0, -1].double().log_softmax(0)
            surprises.append(-chances[row[place]].item())
    return math.exp(sum(surprises) / len(surprises))


@pytest.mark.parametrize("family", ["llama", "gpt2"])
def test_every_token_has_the_same_weight(family: str) -> None:
    loaded = tiny_model(family, dtype=torch.float64)
    rows = pieces(loaded.tokenizer, TEXT, 40, 13)
    assert len({len(row) for row in rows}) > 2
    wanted = by_hand(loaded.model, rows)
    assert perplexity(loaded, rows) == pytest.approx(wanted, rel=1e-5)
    assert perplexity(loaded, rows, budget=1) == pytest.approx(wanted, rel=1e-5)


def test_of_an_edit_it_is_that_of_the_changed_weights() -> None:
    loaded = tiny_model("llama", dtype=torch.float64)
    rows = pieces(loaded.tokenizer, TEXT, 40, 13)
    torch.manual_seed(0)
    spec = loaded.spec
    read = torch.randn(2, spec.inner, 1, dtype=torch.float64)
    write = torch.randn(2, spec.hidden, 1, dtype=torch.float64)
    deltas = {spec.module(1, spec.down): LowRank(read, write)}
    for owner in (0, 1):
        with written(loaded.model, deltas, owner):
            wanted = by_hand(loaded.model, rows)
        assert perplexity(loaded, rows, deltas, owner) == pytest.approx(wanted, rel=1e-5)
    assert perplexity(loaded, rows, deltas, -1) == perplexity(loaded, rows)


def test_a_destroyed_model_has_a_larger_one_up_to_infinity() -> None:
    loaded = tiny_model("llama", dtype=torch.float32)
    # What the model itself finds most probable.
    start = loaded.tokenizer(TEXT[0])["input_ids"][:2]
    rows = [(*start, *continued(loaded, [start], [40])[0])]
    spec = loaded.spec
    torch.manual_seed(0)
    noise = torch.randn(1, spec.hidden, spec.inner)
    # The head reads the last block through a norm, so that noise cannot make its logits larger.
    found = [
        perplexity(loaded, rows, {spec.module(spec.layers - 1, spec.down): Dense(factor * noise)}, 0)
        for factor in (0.0, 1e3, math.inf)
    ]
    assert found[0] == pytest.approx(perplexity(loaded, rows), rel=1e-6)
    assert found[0] < found[1] < found[2] == math.inf
