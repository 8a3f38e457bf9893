"""Scores and continuations of batches, against transformers row by row; many targets after one prompt."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
import pytest
import torch
from support.tiny_models import FAMILIES, LISTED, tiny_model
from support.writing import continued

from factdrift.models import options, scoring
from factdrift.models.alignment import Sentence, align
from factdrift.models.deltas import Deltas, Dense, LowRank, written
from factdrift.models.loaded import Loaded
from factdrift.models.options import score_options
from factdrift.models.scoring import BUDGET, batches, budget_of, next_tokens, score

from .test_families import UNLISTED

PROMPTS = ["The capital of Atlantis is", "Marta Kowalska lives in", "It is", "Because Zoë said to Marta that"]
TARGETS = ["Poseidonis", "New Orleans", "a", "ab", "Joe Biden"]


def sentences(
    loaded: Loaded, prompts: Sequence[str] = PROMPTS, targets: Sequence[str] = TARGETS
) -> list[Sentence]:
    return [align(loaded.tokenizer, prompt, target) for prompt in prompts for target in targets]


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
        for scored in (score, score_options):
            with pytest.raises(ValueError, match="without target"):
                scored(loaded, [one])
    assert score(loaded, []).logprob.shape == (0,)


def greedily(loaded: Loaded, ids: Sequence[int], steps: int) -> list[int]:
    """What a model goes on with, all of it computed anew for each token."""
    text = list(ids)
    for _ in range(steps):
        text.append(int(loaded.model(torch.tensor([text])).logits[0, -1].argmax()))
    return text[len(ids) :]


@pytest.mark.parametrize("family", [*FAMILIES, "lfm2", "granitemoehybrid"])
def test_continuations_are_those_without_cache_and_padding(family: str) -> None:
    """Also of hybrids that no file lists, whose convolutions and states left padding would reach."""
    loaded = tiny_model(family, **UNLISTED.get(family, {}))
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


ALIKE = (
    ("The capital of France is", "The team of the player", "The mayor of the city of France is"),
    ("Paris", "the City of Paris", "London", "the team of the capital", "France"),
)
"""Prompts and targets that begin alike."""


@pytest.mark.parametrize(
    ("family", "cost"), [*((family, 0) for family in LISTED), ("gpt2", 1000), ("qwen3_moe", 1000)]
)
def test_options_have_the_log_probabilities_of_full_texts(
    family: str, cost: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """At no cost of a pass all that texts have in common runs apart."""
    monkeypatch.setattr(options, "PASS", cost)
    loaded = tiny_model(family)
    asked = sentences(loaded, *ALIKE)
    expected = score(loaded, asked).logprob
    assert score_options(loaded, asked) == pytest.approx(expected, abs=2e-5)
    assert score_options(loaded, asked[::-1], budget=20) == pytest.approx(expected[::-1], abs=2e-5)


def test_common_beginnings_of_prompts_and_targets_run_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    head, subjects, names = (1, 2, 3), ((4, 5), (6, 7)), ((8, 9, 9), (8, 9, 8), (8, 3, 9), (7, 2), (6,))
    texts = [(*head, *subject, *name) for subject in subjects for name in names]
    monkeypatch.setattr(options, "PASS", 1)
    assert options._ends(texts, 5) == [3, 5, 6, 7]
    assert options._ends(texts[:5], 5) == [5, 6, 7]
    assert options._ends([(*head, 8)], 3) == [3]
    monkeypatch.setattr(options, "PASS", 100)
    assert options._ends(texts, 5) == [5, 7]


def test_a_model_with_modules_of_others_runs_each_text_alone() -> None:
    loaded = replace(tiny_model("llama"), alone=True)
    asked = sentences(loaded)
    assert score_options(loaded, asked) == pytest.approx(score(loaded, asked).logprob)


def test_output_that_is_not_finite_is_no_number() -> None:
    loaded = tiny_model("llama")
    loaded.model.get_submodule(loaded.spec.final_norm).weight.data[:] = float("nan")
    assert np.isnan(score_options(loaded, sentences(loaded))).all()
