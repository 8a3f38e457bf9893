"""Scores, continuations and perplexity of batches, against transformers row by row."""

import math
from collections.abc import Sequence
from dataclasses import replace

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from support.tiny_models import LISTED, TEXT, tiny_model
from support.writing import continued

from factdrift.models import options
from factdrift.models.alignment import Sentence, align
from factdrift.models.deltas import Deltas, Dense, LowRank, written
from factdrift.models.loaded import Loaded
from factdrift.models.options import score_options
from factdrift.models.scoring import next_tokens, score
from factdrift.models.texts import perplexity, pieces

PROMPTS = [
    "The capital of Atlantis is",
    "Marta Kowalska lives in",
    "It is",
    "Because of the sea, Zoë said to Marta",
]
OF_EQUAL_LENGTH = ["In 1960 the capital is", "In 1970 the capital is"]
TARGETS = ["Poseidonis", "New Orleans", "New York", "a", "ab"]


def sentences(loaded: Loaded, prompts: Sequence[str] = PROMPTS) -> list[Sentence]:
    return [align(loaded.tokenizer, prompt, target) for prompt in prompts for target in TARGETS]


def plainly(loaded: Loaded, one: Sentence) -> tuple[float, bool]:
    """Mean log-probability and exact match of one sentence, from all of its logits."""
    logits = loaded.model(torch.tensor([one.ids])).logits[0].log_softmax(-1)
    target = torch.tensor(one.ids[one.target :])
    own = logits[one.target - 1 : -1]
    return own.gather(1, target[:, None]).mean().item(), bool((own.argmax(1) == target).all())


def changes(loaded: Loaded, edits: int = 3) -> Deltas:
    """Random changes of two matrices, low-rank and dense."""
    spec, make = loaded.spec, torch.Generator().manual_seed(1)
    read = torch.randn(edits, spec.inner, 2, generator=make, dtype=loaded.dtype)
    write = torch.randn(edits, spec.hidden, 2, generator=make, dtype=loaded.dtype)
    dense = torch.randn(edits, spec.hidden, spec.inner_at(2), generator=make, dtype=loaded.dtype) / 10
    return {spec.module(0, spec.down): LowRank(read, write), spec.module(2, spec.down): Dense(dense)}


@pytest.mark.parametrize("family", LISTED)
def test_scores_and_options_are_those_of_transformers_one_by_one(family, monkeypatch):
    """Options also where what texts have in common runs apart."""
    loaded = tiny_model(family)
    asked = sentences(loaded, OF_EQUAL_LENGTH + PROMPTS[2:3])
    expected, exact = zip(*(plainly(loaded, one) for one in asked), strict=True)
    found = score(loaded, asked)
    assert found.logprob == pytest.approx(expected, abs=1e-5)
    assert found.exact.tolist() == list(exact)
    assert found.tokens.tolist() == [len(one.ids) - one.target for one in asked]
    monkeypatch.setattr(options, "PASS", 1000)
    assert score_options(loaded, asked[::-1], budget=10) == pytest.approx(expected[::-1], abs=2e-5)
    monkeypatch.setattr(options, "PASS", 0)
    assert score_options(loaded, asked) == pytest.approx(expected, abs=2e-5)


def test_a_model_with_modules_of_others_runs_each_text_alone():
    loaded = replace(tiny_model("llama"), alone=True)
    asked = sentences(loaded)
    expected = [plainly(loaded, one)[0] for one in asked]
    assert score_options(loaded, asked) == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("budget", [1, 64])
def test_each_row_has_its_edit_as_if_it_were_written_into_the_weights(budget):
    loaded = tiny_model("gpt2")
    deltas, asked = changes(loaded), sentences(loaded)
    owners = [place % 4 - 1 for place in range(len(asked))]
    found = score(loaded, asked, deltas, owners, budget)
    for edit in range(3):
        with written(loaded.model, deltas, edit):
            own = [place for place, owner in enumerate(owners) if owner == edit]
            plain = [plainly(loaded, asked[place])[0] for place in own]
        assert found.logprob[own] == pytest.approx(plain, abs=1e-5)
    own = [place for place, owner in enumerate(owners) if owner == -1]
    assert found.logprob[own] == pytest.approx([plainly(loaded, asked[place])[0] for place in own], abs=1e-5)


def test_the_most_probable_next_tokens_and_the_same_scores_twice():
    loaded = tiny_model("llama", dtype=torch.float32)
    start = align(loaded.tokenizer, PROMPTS[0]).ids
    chances, tokens = loaded.model(torch.tensor([start])).logits[0, -1].softmax(0).sort(descending=True)
    found = next_tokens(loaded, start, 3)
    assert [token for token, _ in found] == tokens[:3].tolist()
    assert [chance for _, chance in found] == pytest.approx(chances[:3].tolist(), abs=1e-5)
    asked = sentences(loaded)
    assert (score(loaded, [*asked, *asked]).logprob[: len(asked)] == score(loaded, asked).logprob).all()


def greedily(loaded: Loaded, ids: Sequence[int], steps: int) -> list[int]:
    """What a model goes on with, all of it computed anew for each token."""
    text = list(ids)
    for _ in range(steps):
        text.append(int(loaded.model(torch.tensor([text])).logits[0, -1].argmax()))
    return text[len(ids) :]


@pytest.mark.parametrize(
    "family", ["gpt2", "gptj", "falcon", "mistral", "qwen3_5_text", "llama4_text", "deepseek_v2"]
)
def test_continuations_are_those_without_cache_and_padding(family):
    loaded = tiny_model(family)
    deltas = changes(loaded)
    prompts = [align(loaded.tokenizer, prompt).ids for prompt in PROMPTS]
    owners, counts = [-1, 0, 2, 0], [7, 3, 0, 7]
    for budget in (1, 100_000):
        found = continued(loaded, prompts, counts, deltas, owners, budget)
        assert [len(tokens) for tokens in found] == counts
        assert found[0] == greedily(loaded, prompts[0], 7)
        with written(loaded.model, deltas, 0):
            assert found[1] == greedily(loaded, prompts[1], 3)
            assert found[3] == greedily(loaded, prompts[3], 7)


@pytest.mark.parametrize("family", ["lfm2", "qwen3_5_text"])
def test_padding_does_not_reach_recurrent_states(family):
    """Of hybrids: left padding goes through their convolutions and states."""
    loaded = tiny_model(family)
    prompts = [align(loaded.tokenizer, prompt).ids for prompt in PROMPTS]
    found = continued(loaded, prompts, [4] * len(prompts))
    assert found == [greedily(loaded, ids, 4) for ids in prompts]


class Letters:
    """A tokenizer with a token for each letter."""

    def __call__(self, text: str, verbose: bool = True) -> dict[str, list[int]]:
        return {"input_ids": [ord(letter) for letter in text]}


@given(st.lists(st.text("abc", max_size=9), max_size=6), st.integers(1, 20), st.integers(2, 5))
def test_pieces_are_the_texts_until_enough_tokens_are_predicted(texts, tokens, length):
    found = pieces(Letters(), texts, tokens, length)
    whole = [text[start : start + length] for text in texts for start in range(0, len(text), length)]
    whole = [piece for piece in whole if len(piece) > 1]
    predicted = sum(len(piece) - 1 for piece in found)
    assert predicted == min(tokens, sum(len(piece) - 1 for piece in whole))
    assert all(1 < len(piece) <= length for piece in found)
    said = ["".join(map(chr, piece)) for piece in found]
    assert said[:-1] == whole[: max(len(found) - 1, 0)]
    assert all(piece.startswith(mine) for mine, piece in zip(said, whole, strict=False))


def test_in_perplexity_every_token_has_the_same_weight_and_output_that_is_not_finite_is_infinity():
    loaded = tiny_model("llama", dtype=torch.float64)
    rows = pieces(loaded.tokenizer, TEXT, 40, 13)
    assert len({len(row) for row in rows}) > 2
    surprise = [-plainly(loaded, Sentence(row, None, 1))[0] * (len(row) - 1) for row in rows]
    wanted = pytest.approx(math.exp(sum(surprise) / 40), rel=1e-5)
    assert [perplexity(loaded, rows, budget=budget) for budget in (1, 8192)] == [wanted] * 2
    loaded.model.get_submodule(loaded.spec.final_norm).weight.data[:] = math.nan
    assert perplexity(loaded, rows) == math.inf
    assert all(map(math.isnan, score_options(loaded, sentences(loaded))))
