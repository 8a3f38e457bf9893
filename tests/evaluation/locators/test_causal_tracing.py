"""Causal tracing against a plain loop of full passes, and what must hold of any trace."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.tiny_models import FAMILIES, rounding, tiny_model  # noqa: E402
from support.tiny_sentences import context, sentences, targets  # noqa: E402
from torch import Tensor  # noqa: E402

from factdrift.core.errors import InputError  # noqa: E402
from factdrift.evaluation.locators.causal_tracing import (  # noqa: E402
    KINDS,
    Restored,
    Traced,
    causal_tracing,
    noise_of,
    trace,
    windows,
)
from factdrift.evaluation.locators.prompts import Sentence  # noqa: E402
from factdrift.models.hooks import hooked  # noqa: E402
from factdrift.models.loaded import Loaded  # noqa: E402


def noise(loaded: Loaded, of: Sequence[Sentence], scale: float = 1.0, samples: int = 3) -> list[Tensor]:
    return noise_of(loaded, of, context("causal_tracing", noise=scale, samples=samples))


def everywhere(of: Sequence[Sentence]) -> list[range]:
    return [range(len(one.ids)) for one in of]


def traced(
    loaded: Loaded, of: Sequence[Sentence], mine: Sequence[Tensor], kind: str, window: int = 1
) -> Traced:
    return trace(loaded, of, targets(list(of)), mine, everywhere(of), Restored(kind, window))


def plainly(
    loaded: Loaded, one: Sentence, mine: Tensor, kind: str, window: int
) -> tuple[float, float, Tensor]:
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
            found[token, layer] = run([spec.module(layer, "")] if kind == "state" else names, token)[
                1:
            ].mean()
    return chances[0].item(), chances[1:].mean().item(), found - chances[1:].mean()


PAIRS = [
    (family, kind) for family in FAMILIES for kind in KINDS if (family, kind) != ("qwen3_5_text", "attention")
]


@pytest.mark.parametrize(("family", "kind"), PAIRS)
def test_a_batch_of_places_is_a_loop_over_full_passes(family: str, kind: str) -> None:
    loaded = tiny_model(family)
    of = sentences()[2:]
    mine = noise(loaded, of)
    found = traced(loaded, of, mine, kind, 2)
    bound = max(1e-11, 1e3 * rounding(family))
    for row, one in enumerate(of):
        clean, corrupted, effects = plainly(loaded, one, mine[row], kind, 2)
        assert found.clean[row].item() == pytest.approx(clean, rel=bound)
        assert found.corrupted[row].item() == pytest.approx(corrupted, rel=bound)
        assert torch.allclose(found.effects[row], effects, rtol=0, atol=bound * clean)
        assert effects.abs().max() > 1e-3 * clean


def test_attention_cannot_be_restored_where_there_is_a_recurrent_state() -> None:
    loaded = tiny_model("qwen3_5_text")
    of = sentences()[2:]
    with pytest.raises(InputError, match=r"tiny-qwen3_5_text: .*recurrent state.*trace states or MLPs"):
        traced(loaded, of, noise(loaded, of), "attention", 2)


def test_windows_are_those_of_the_released_code() -> None:
    low, high = windows(48, 10, torch.device("cpu"))
    for layer in range(48):
        assert low[layer] == max(0, layer - 10 // 2)
        assert high[layer] == min(48, layer - (-10 // 2))
    low, high = windows(5, 3, torch.device("cpu"))
    assert [(int(a), int(b)) for a, b in zip(low, high, strict=True)] == [
        (max(0, layer - 3 // 2), min(5, layer - (-3 // 2))) for layer in range(5)
    ]


@pytest.mark.parametrize("kind", KINDS)
def test_batches_parts_and_order_change_nothing(kind: str) -> None:
    loaded = tiny_model("qwen2")
    of = sentences()
    mine = noise(loaded, of)
    together = traced(loaded, of, mine, kind, 2)
    order = [3, 0, 4, 1, 2]
    places = everywhere(of)
    small = trace(
        loaded,
        [of[row] for row in order],
        [targets(of)[row] for row in order],
        [mine[row] for row in order],
        [places[row] for row in order],
        Restored(kind, 2, budget=1),
    )
    for place, row in enumerate(order):
        alone = traced(loaded, [of[row]], [mine[row]], kind, 2)
        for other in (alone.effects[0], small.effects[place]):
            assert torch.allclose(together.effects[row], other, rtol=0, atol=1e-14)


def test_noise_depends_on_fact_and_seed_alone() -> None:
    loaded = tiny_model("gpt2")
    of = sentences()
    first = noise(loaded, of)
    assert all(torch.equal(a, b) for a, b in zip(first, reversed(noise(loaded, of[::-1])), strict=True))
    assert of[2].fact == of[3].fact
    assert torch.equal(first[2], first[3])
    assert not torch.equal(first[2][0], first[2][1])
    assert [tuple(each.shape[:2]) for each in first] == [
        (3, one.subject[1] - one.subject[0]) for one in of if one.subject
    ]
    many = noise(loaded, of[:1], scale=0.5, samples=4000)[0]
    assert many.std().item() == pytest.approx(0.5, rel=0.01)
    assert noise(loaded, of[:1], scale=0.5)[0].std().item() == pytest.approx(0.5, rel=0.3)


def test_the_locator_takes_the_largest_effect_of_its_tokens() -> None:
    loaded = tiny_model("gpt2")
    of = sentences()
    settings = {"noise": 1.0, "samples": 3}
    mine = noise(loaded, of)
    found = traced(loaded, of, mine, "state")
    for token, picked in (
        ("last", [effects[-1] for effects in found.effects]),
        ("all", [effects.amax(0) for effects in found.effects]),
        (
            "subject_last",
            [e[one.subject[1] - 1] for e, one in zip(found.effects, of, strict=True) if one.subject],
        ),
    ):
        scores = causal_tracing(loaded, of, targets(of), context("causal_tracing", token=token, **settings))
        assert torch.allclose(scores, torch.stack(picked), rtol=0, atol=1e-14)
