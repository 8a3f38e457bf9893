"""Causal tracing against a plain loop of full passes, and what must hold of any trace."""

from collections.abc import Sequence
from typing import Any

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.tiny_models import MIXTURES, rounding, tiny_model  # noqa: E402
from support.tiny_sentences import context, sentences, targets  # noqa: E402
from torch import Tensor  # noqa: E402

from factdrift.core.errors import InputError  # noqa: E402
from factdrift.evaluation.locators.causal_tracing import (  # noqa: E402
    Restored,
    causal_tracing,
    noise_of,
    trace,
    windows,
)
from factdrift.evaluation.locators.prompts import Sentence  # noqa: E402
from factdrift.models.hooks import hooked  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402

KINDS = ("state", "mlp", "attention")
BUILDS = ("gpt2", "gptj", "gpt_neox", "llama", "mistral", "qwen3_5_text", "olmo2", *MIXTURES)
"""Families that differ in what a block is given: positions, masks, rotary tables, recurrent states."""


def noise(loaded: Loaded, of: Sequence[Sentence], scale: float = 1.0, samples: int = 3) -> list[Tensor]:
    return noise_of(loaded, of, context("causal_tracing", noise=scale, samples=samples))


def traced(loaded: Loaded, of: list[Sentence], mine: list[Tensor], *how: Any, **more: Any) -> list[Tensor]:
    """Of all tokens; `how` they are `Restored`."""
    places = [range(len(one.ids)) for one in of]
    return trace(loaded, of, targets(of), mine, places, Restored(*how, **more))


def plainly(loaded: Loaded, one: Sentence, mine: Tensor, kind: str, window: int) -> tuple[float, Tensor]:
    """One run of all rows for each token and block, as in the released code: clean row first."""
    spec, target = loaded.spec, one.answer[0]
    ids = torch.tensor([one.ids] * (1 + len(mine)))
    first, behind = one.subject or (0, len(one.ids))

    def corrupt(taken: Tensor, given: Tensor) -> Tensor:
        changed = given.clone()
        changed[1:, first:behind] += mine
        return changed

    def run(restored: Sequence[str], token: int) -> Tensor:
        def restore(taken: Tensor, given: Tensor) -> Tensor:
            changed = given.clone()
            changed[1:, token] = given[0, token]
            return changed

        functions = {spec.embedding: corrupt, **dict.fromkeys(restored, restore)}
        with hooked(loaded.model, functions):
            return loaded.model(ids).logits[:, -1].softmax(1)[:, target]

    chances = run([], 0)
    low, high = windows(spec.layers, window, torch.device("cpu"))
    found = torch.zeros(len(one.ids), spec.layers, dtype=loaded.dtype)
    for token in range(len(one.ids)):
        for layer in range(spec.layers):
            part = spec.mlp if kind == "mlp" else spec.attention_out
            names = [spec.module(block, part) for block in range(low[layer], high[layer])]
            restored = run([spec.module(layer, "")] if kind == "state" else names, token)
            found[token, layer] = restored[1:].mean()
    return chances[0].item(), found - chances[1:].mean()


@pytest.mark.parametrize("family", BUILDS)
def test_a_batch_of_places_is_a_loop_over_full_passes(family: str) -> None:
    # In `gpt2` with tokens before the subject.
    loaded, of = tiny_model(family), sentences()[3:] if family == "gpt2" else sentences()[2::2]
    mine, bound = noise(loaded, of), max(1e-11, 1e3 * rounding(family))
    for kind in KINDS:
        if (family, kind) == ("qwen3_5_text", "attention"):
            with pytest.raises(InputError, match=rf"tiny-{family}: .*recurrent state.*trace states or MLPs"):
                traced(loaded, of, mine, kind, 2)
            continue
        found = traced(loaded, of, mine, kind, 2)
        for row, one in enumerate(of):
            clean, effects = plainly(loaded, one, mine[row], kind, 2)
            assert torch.allclose(found[row], effects, rtol=0, atol=bound * clean)
            assert effects.abs().max() > 1e-3 * clean


def test_windows_are_those_of_the_released_code() -> None:
    for layers, window in ((48, 10), (5, 3)):
        low, high = windows(layers, window, torch.device("cpu"))
        for layer in range(layers):
            assert low[layer] == max(0, layer - window // 2)
            assert high[layer] == min(layers, layer - (-window // 2))


@pytest.mark.parametrize("kind", ["state", "attention"])
def test_batches_parts_and_order_change_nothing(kind: str) -> None:
    loaded, of = tiny_model("qwen2"), sentences()
    mine = noise(loaded, of)
    together = traced(loaded, of, mine, kind, 2)
    order = [3, 0, 4, 1, 2]
    small = traced(loaded, [of[row] for row in order], [mine[row] for row in order], kind, 2, budget=1)
    for place, row in enumerate(order):
        alone = traced(loaded, [of[row]], [mine[row]], kind, 2)
        for other in (alone[0], small[place]):
            assert torch.allclose(together[row], other, rtol=0, atol=1e-14)


def test_noise_depends_on_fact_and_seed_alone() -> None:
    loaded, of = tiny_model("gpt2"), sentences()
    first = noise(loaded, of)
    assert all(torch.equal(a, b) for a, b in zip(first, reversed(noise(loaded, of[::-1])), strict=True))
    assert of[2].fact == of[3].fact
    assert torch.equal(first[2], first[3])
    assert not torch.equal(first[2][0], first[2][1])
    shapes = [(3, one.subject[1] - one.subject[0]) for one in of if one.subject]
    assert [tuple(each.shape[:2]) for each in first] == shapes
    many = noise(loaded, of[:1], scale=0.5, samples=4000)[0]
    assert many.std().item() == pytest.approx(0.5, rel=0.01)
    assert noise(loaded, of[:1], scale=0.5)[0].std().item() == pytest.approx(0.5, rel=0.3)


def test_the_locator_takes_the_largest_effect_of_its_tokens() -> None:
    loaded, of = tiny_model("gpt2"), sentences()
    settings = {"noise": 1.0, "samples": 3}
    mine = noise(loaded, of)
    found = traced(loaded, of, mine, "state")
    ends = [one.subject[1] - 1 for one in of if one.subject]
    for token, picked in (
        ("last", [effects[-1] for effects in found]),
        ("all", [effects.amax(0) for effects in found]),
        ("subject_last", [effects[end] for effects, end in zip(found, ends, strict=True)]),
    ):
        scores = causal_tracing(loaded, of, targets(of), context("causal_tracing", token=token, **settings))
        assert torch.allclose(scores, torch.stack(picked), rtol=0, atol=1e-14)
    settings |= {"kind": "mlp", "window": 2}
    scores = causal_tracing(loaded, of, targets(of), context("causal_tracing", token="last", **settings))
    picked = [effects[-1] for effects in traced(loaded, of, mine, "mlp", 2)]
    assert torch.allclose(scores, torch.stack(picked), rtol=0, atol=1e-14)
