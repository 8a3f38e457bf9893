"""Scores and continuations of batches, against transformers row by row."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.tiny_models import FAMILIES, tiny_model  # noqa: E402
from support.writing import continued  # noqa: E402

from factdrift.models import scoring  # noqa: E402
from factdrift.models.alignment import Sentence, align  # noqa: E402
from factdrift.models.deltas import Deltas, Dense, LowRank, written  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402
from factdrift.models.scoring import BUDGET, batches, budget_of, next_tokens, score  # noqa: E402

from .test_families import UNLISTED  # noqa: E402

PROMPTS = [
    "The capital of Atlantis is",
    "Marta Kowalska lives in",
    "It is",
    "Because of the sea, Zoë said to Marta",
]
TARGETS = ["Poseidonis", "New Orleans", "a", "ab", "Joe Biden"]


def sentences(loaded: Loaded) -> list[Sentence]:
    return [align(loaded.tokenizer, prompt, target) for prompt in PROMPTS for target in TARGETS]


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


@pytest.mark.parametrize("family", FAMILIES)
def test_scores_are_those_of_transformers_one_by_one(family: str) -> None:
    loaded = tiny_model(family)
    asked = sentences(loaded)
    found = score(loaded, asked)
    plain = [plainly(loaded, one) for one in asked]
    assert found.logprob == pytest.approx([logprob for logprob, _ in plain], abs=1e-5)
    assert found.exact.tolist() == [exact for _, exact in plain]
    assert found.tokens.tolist() == [len(one.ids) - one.target for one in asked]


@pytest.mark.parametrize("family", ["gpt2", "llama"])
@pytest.mark.parametrize("budget", [1, 64, 100_000])
def test_each_row_has_its_edit_as_if_it_were_written_into_the_weights(family: str, budget: int) -> None:
    loaded = tiny_model(family)
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


def test_neither_order_nor_company_matters_and_repetition_is_exact() -> None:
    loaded = tiny_model("llama", dtype=torch.float32)
    asked = sentences(loaded)
    found = score(loaded, asked)
    turned = score(loaded, asked[::-1], budget=40)
    assert turned.logprob[::-1] == pytest.approx(found.logprob, abs=1e-5)
    assert (score(loaded, asked).logprob == found.logprob).all()
    assert (score(loaded, [*asked, *asked]).logprob[: len(asked)] == found.logprob).all()


def test_the_chances_of_all_tokens_are_one() -> None:
    loaded = tiny_model("qwen2")
    start = align(loaded.tokenizer, PROMPTS[0]).ids
    every = [Sentence((*start, token), None, len(start)) for token in range(loaded.spec.vocabulary)]
    assert np.exp(score(loaded, every).logprob).sum() == pytest.approx(1, abs=1e-5)
    best = next_tokens(loaded, start, 3)
    chances = np.exp(score(loaded, every).logprob)
    assert [token for token, _ in best] == np.argsort(-chances)[:3].tolist()
    assert [chance for _, chance in best] == pytest.approx(np.sort(chances)[::-1][:3], abs=1e-5)


def test_a_sentence_without_target_is_no_question() -> None:
    loaded = tiny_model("llama")
    for one in (Sentence((1, 2), None, 2), Sentence((1, 2), None, 0)):
        with pytest.raises(ValueError, match="without target"):
            score(loaded, [one])
    assert score(loaded, []).logprob.shape == (0,)


def greedily(loaded: Loaded, ids: Sequence[int], steps: int) -> list[int]:
    """What a model goes on with, all of it computed anew for each token."""
    text = list(ids)
    for _ in range(steps):
        text.append(int(loaded.model(torch.tensor([text])).logits[0, -1].argmax()))
    return text[len(ids) :]


@pytest.mark.parametrize("family", FAMILIES)
def test_continuations_are_those_without_cache_and_padding(family: str) -> None:
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


@pytest.mark.parametrize("family", ["lfm2", "granitemoehybrid"])
def test_padding_does_not_reach_recurrent_states(family: str) -> None:
    """Of hybrids that no file lists; left padding goes through their convolutions and states."""
    loaded = tiny_model(family, **UNLISTED[family])
    prompts = [align(loaded.tokenizer, prompt).ids for prompt in PROMPTS]
    found = continued(loaded, prompts, [4] * len(prompts))
    assert len({len(ids) for ids in prompts}) > 1
    for ids, tokens in zip(prompts, found, strict=True):
        assert tokens == greedily(loaded, ids, 4)


def test_a_continuation_ends_where_the_model_has_no_more_positions() -> None:
    loaded = tiny_model("gpt2")
    prompt = align(loaded.tokenizer, PROMPTS[0]).ids
    (found,) = continued(loaded, [prompt], [1000])
    assert len(found) == loaded.spec.positions - len(prompt)


def test_batches_hold_their_budget() -> None:
    assert list(batches([3, 3, 3, 4, 9], 9)) == [[0, 1, 2], [3], [4]]
    assert list(batches([], 9)) == []
    assert list(batches([20, 1, 1], 9)) == [[0], [1, 2]]


def test_what_does_not_fit_into_memory_is_halved(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = tiny_model("llama")
    asked = sentences(loaded)
    whole = score(loaded, asked, budget=100_000)
    plain, sizes = scoring._targets, []

    def small(model: Loaded, rows: Sequence[object], *others: object) -> object:
        sizes.append(len(rows))
        if len(rows) > 5:
            raise torch.OutOfMemoryError("out of memory")
        return plain(model, rows, *others)

    monkeypatch.setattr(scoring, "_targets", small)
    found = score(loaded, asked, budget=100_000)
    assert max(sizes) > 5
    assert found.logprob == pytest.approx(whole.logprob, abs=1e-6)


def test_batches_grow_with_the_memory_of_a_gpu(monkeypatch: pytest.MonkeyPatch) -> None:
    loaded = tiny_model("llama")
    assert budget_of(loaded) == BUDGET
    monkeypatch.setattr(scoring, "free_bytes", lambda device, otherwise: 10**12)
    tokens = budget_of(loaded)
    assert tokens > 100 * BUDGET
    monkeypatch.setattr(scoring, "free_bytes", lambda device, otherwise: 2 * 10**12)
    assert abs(budget_of(loaded) - 2 * tokens) <= 1
