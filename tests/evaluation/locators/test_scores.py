"""Causal tracing against a loop of full passes, gradients and integrals against what they estimate, PMET."""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import pytest
import torch
from support.tiny_models import MIXTURES, rounding, tiny_model
from support.tiny_sentences import context, sentences, targets
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.core.paths import LOCATORS
from factdrift.evaluation.locators.causal_tracing import causal_tracing, noise_of, trace, windows
from factdrift.evaluation.locators.gradients import (
    activation,
    attribution_patching,
    gradient_x_input,
    gradients,
    per_layer,
    summed,
    unit_values,
)
from factdrift.evaluation.locators.interface import at, positions
from factdrift.evaluation.locators.knowledge_neurons import knowledge_neurons, nodes, refined
from factdrift.evaluation.locators.plan import locator_of
from factdrift.evaluation.locators.projections import _jaccard, projections
from factdrift.evaluation.locators.sentences import Sentence
from factdrift.models.fork import unembedded
from factdrift.models.hooks import hooked, hooked_before
from factdrift.models.loaded import Loaded

KINDS = ("state", "mlp", "attention")
BUILDS = ("gpt2", "gptj", "gpt_neox", "llama", "mistral", "qwen3_5_text", "olmo2", *MIXTURES)
"""Families that differ in what a block is given: positions, masks, rotary tables, recurrent states."""


def noise(loaded: Loaded, of: Sequence[Sentence], scale: float = 1.0, samples: int = 3) -> list[Tensor]:
    return noise_of(loaded, of, context("causal_tracing", noise=scale, samples=samples))


def traced(loaded: Loaded, of: list[Sentence], mine: list[Tensor], *how: Any, **more: Any) -> list[Tensor]:
    """Of all tokens; `how`: kind and window, if it is not 1."""
    places = [range(len(one.ids)) for one in of]
    given = context("causal_tracing", **dict(zip(("kind", "window"), how, strict=False)))
    return trace(loaded, of, targets(of), mine, places, replace(given, **more))


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
def test_a_batch_of_places_is_a_loop_over_full_passes(family):
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


def test_windows_are_those_of_the_released_code():
    for layers, window in ((48, 10), (5, 3)):
        low, high = windows(layers, window, torch.device("cpu"))
        for layer in range(layers):
            assert low[layer] == max(0, layer - window // 2)
            assert high[layer] == min(layers, layer - (-window // 2))


@pytest.mark.parametrize("kind", ["state", "attention"])
def test_batches_parts_and_order_change_nothing(kind):
    loaded, of = tiny_model("qwen2"), sentences()
    mine = noise(loaded, of)
    together = traced(loaded, of, mine, kind, 2)
    order = [3, 0, 4, 1, 2]
    small = traced(loaded, [of[row] for row in order], [mine[row] for row in order], kind, 2, budget=1)
    for place, row in enumerate(order):
        alone = traced(loaded, [of[row]], [mine[row]], kind, 2)
        for other in (alone[0], small[place]):
            assert torch.allclose(together[row], other, rtol=0, atol=1e-14)


def test_noise_depends_on_fact_and_seed_alone():
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


def test_the_locator_takes_the_largest_effect_of_its_tokens():
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


def chance(loaded: Loaded, one: Sentence) -> float:
    logits = loaded.model(torch.tensor([one.ids])).logits[0, -1]
    return float(logits.softmax(0)[one.answer[0]])


def passing(loaded: Loaded, one: Sentence, name: str) -> tuple[Tensor, Tensor]:
    """What a module takes and gives at the last token of a sentence."""
    kept: list[tuple[Tensor, Tensor]] = []
    look = {name: lambda taken, given: kept.append((taken[0, -1], given[0, -1].clone()))}
    with hooked(loaded.model, look):
        loaded.model(torch.tensor([one.ids]))
    return kept[0]


def parts_of(loaded: Loaded) -> dict[str, str]:
    """Granularity -> the part of a block whose values its units are."""
    spec = loaded.spec
    return {"neuron": spec.down, "head": spec.attention_out, "module": spec.mlp, "layer": ""}


@pytest.mark.parametrize("granularity", ["neuron", "head", "module", "layer"])
def test_gradients_are_finite_differences(granularity):
    """The derivative along a random direction in one module's value."""
    loaded, of = tiny_model("gpt2"), sentences()[2:]
    values, slopes = gradients(loaded, of, targets(of), granularity)
    spec, step, part = loaded.spec, 1e-6, parts_of(loaded)[granularity]
    index = 3 if granularity == "module" else 1
    for row, one in enumerate(of):
        length = len(one.ids)
        direction = torch.randn(length, values[index].shape[2], dtype=loaded.dtype)

        def moved(sign: int, one: Sentence = one, direction: Tensor = direction) -> float:
            name, change = spec.module(1, part), sign * step * direction
            if granularity in ("neuron", "head"):
                hook = hooked_before(loaded.model, {name: lambda taken: taken + change})
            else:
                hook = hooked(loaded.model, {name: lambda taken, given: given + change})
            with hook:
                return chance(loaded, one)

        slope = (moved(1) - moved(-1)) / (2 * step)
        found = (slopes[index][row, :length] * direction).sum().item()
        assert found == pytest.approx(slope, rel=1e-5, abs=1e-12)
        assert not slopes[index][row, length:].any()


WITHOUT = {("deepseek_v2", "neuron"), ("qwen3_5_text", "head")}


@pytest.mark.parametrize("family", ["gpt2", "llama", "qwen2_moe", "deepseek_v2", "qwen3_5_text"])
def test_units_are_numbered_block_by_block_and_refused_where_not_all_blocks_have_them(family):
    loaded, of, layer = tiny_model(family), sentences(), 2
    spec = loaded.spec
    for granularity, part in parts_of(loaded).items():
        if (family, granularity) in WITHOUT:
            with pytest.raises(InputError, match=rf"tiny-{family}: .*use a locator of modules or layers"):
                gradients(loaded, of, targets(of), granularity)
            continue
        taken, given = passing(loaded, of[0], spec.module(layer, part))
        with unit_values(loaded, granularity) as values:
            loaded.model(torch.tensor([of[0].ids]))
        flat = summed(loaded, granularity, [value[:, -1] for value in values])
        each = per_layer(loaded, granularity)
        assert flat.shape == (1, spec.layers * each)
        mine = flat[0, layer * each : (layer + 1) * each]
        expected = {
            "neuron": taken,
            "head": taken.unflatten(0, (4, -1)).sum(1),
            "module": torch.stack([mine[0], given.sum()]),
            "layer": given.sum()[None],
        }[granularity]
        assert torch.allclose(mine, expected, rtol=1e-6, atol=1e-9)
    if (family, "neuron") in WITHOUT:
        with pytest.raises(InputError, match="mixture of experts"):
            knowledge_neurons(loaded, of, targets(of), context("knowledge_neurons"))


@pytest.mark.parametrize("granularity", ["neuron", "module"])
@pytest.mark.parametrize("method", [gradient_x_input, attribution_patching, activation])
def test_one_by_one_is_as_batched(method, granularity):
    loaded, of = tiny_model("llama"), sentences()
    values, slopes = gradients(loaded, of[:1], targets(of[:1]), granularity)
    products = [value[:, -1] * slope[:, -1] for value, slope in zip(values, slopes, strict=True)]
    plain = {
        gradient_x_input: summed(loaded, granularity, products),
        activation: summed(loaded, granularity, [value[:, -1].square() for value in values]).sqrt(),
    }
    name = "attribution_patching" if method is attribution_patching else method.__name__
    for token in ("last", "subject_last", "all"):
        changes = {"granularity": granularity, "token": token}
        changes |= {"samples": 2, "noise": 1.0} if method is attribution_patching else {}
        given = context(name, **changes)
        together = method(loaded, of, targets(of), given)
        alone = [method(loaded, [one], one.answer[:1], given)[0] for one in of]
        assert together.shape == (len(of), loaded.spec.layers * per_layer(loaded, granularity))
        assert torch.allclose(together, torch.stack(alone), rtol=1e-9, atol=1e-15)
        assert together.abs().sum() > 0
        if token == "last" and method in plain:
            assert torch.allclose(together[:1], plain[method], rtol=1e-9, atol=1e-15)


@pytest.mark.parametrize(
    ("name", "kinds"),
    [("attribution_patching_layers", ["state"]), ("attribution_patching_modules", ["attention", "mlp"])],
)
def test_attribution_patching_is_the_first_order_of_causal_tracing(name, kinds):
    loaded, of = tiny_model("gpt2"), sentences()
    places, errors = positions(of, "subject_last"), []
    for scale in (1e-4, 1e-5):
        given = context(name, noise=scale, samples=2, token="subject_last")
        estimate, noise = attribution_patching(loaded, of, targets(of), given), noise_of(loaded, of, given)
        ways = [context("causal_tracing", kind=kind) for kind in kinds]
        found = [trace(loaded, of, targets(of), noise, places, way) for way in ways]
        # [sentences, blocks, kinds]
        effects = torch.stack([torch.stack([each[0] for each in one]) for one in found], 2).flatten(1)
        errors.append((estimate - effects).abs().max() / effects.abs().max())
    assert errors[0] < 0.02
    # The relative error is of the order of the perturbation.
    assert errors[1] < errors[0] / 5


def test_the_chosen_tokens_are_added_and_the_rules_of_the_integral():
    values = torch.arange(24.0).reshape(2, 4, 3)
    assert torch.equal(at(values, [[1], [0, 3]]), torch.stack([values[0, 1], values[1, 0] + values[1, 3]]))
    assert nodes(4, "midpoint", torch.float64).tolist() == [0.125, 0.375, 0.625, 0.875]
    assert nodes(4, "paper", torch.float64).tolist() == [0.25, 0.5, 0.75, 1]
    assert nodes(5, "eleuther", torch.float64).tolist() == [0, 0.25, 0.5, 0.75, 1]


@pytest.mark.parametrize("family", ["gpt2", "gptj", "llama", "qwen3_5_text", "qwen2_moe"])
def test_integrated_gradients_are_those_of_full_passes(family):
    loaded, of = tiny_model(family), sentences()[2:4]
    given = replace(context("knowledge_neurons", steps=3), budget=9)
    found = knowledge_neurons(loaded, of, targets(of), given).unflatten(1, (loaded.spec.layers, -1))
    for row, one in enumerate(of):
        for layer in range(loaded.spec.layers):
            name = loaded.spec.module(layer, loaded.spec.down)
            value, _ = passing(loaded, one, name)
            total = torch.zeros_like(value)
            for scale in nodes(3, "midpoint", torch.float64):
                leaf = (scale * value).requires_grad_(True)

                def put(taken: Tensor, leaf: Tensor = leaf) -> Tensor:
                    return torch.cat([taken[:, :-1], leaf[None, None]], 1)

                with torch.enable_grad(), hooked_before(loaded.model, {name: put}):
                    logits = loaded.model(torch.tensor([one.ids])).logits[0, -1]
                    (slope,) = torch.autograd.grad(logits.softmax(0)[one.answer[0]], leaf)
                total += slope / 3
            bound = 1e-4 if rounding(family) > 1e-9 else 1e-9
            atol = bound * found.abs().max()
            assert torch.allclose(found[row, layer], total * value, rtol=bound, atol=atol)


def test_refinement_keeps_what_wordings_have_in_common():
    scores = torch.tensor([[1.0, 0.5, 0.1, -2], [0.0, 1, 0.25, 0], [1, 0, 0.3, 0.3], [0.5, 0, 0, 1]])
    groups = ["a", "a", "a", "b"]
    found = refined(scores, groups, 0.2, 0.5)
    assert found.tolist() == [
        [1, 0.5, pytest.approx(0.1), 0], [0, 1, 0.25, 0], [1, 0, pytest.approx(0.3), 0], [0.5, 0, 0, 1]
    ]  # fmt: skip
    assert not refined(scores, groups, 0.2, 1.0).any()
    for stricter in (refined(scores, groups, 0.4, 0.5), refined(scores, groups, 0.2, 0.7)):
        assert ((stricter > 0) <= (found > 0)).all()
    order = [2, 3, 0, 1]
    assert torch.equal(refined(scores[order], [groups[at] for at in order], 0.2, 0.5), found[order])
    assert not refined(torch.zeros(2, 3), ["a", "a"], 0.2, 0.5).any()


def test_knowledge_neurons_refine_within_a_batch():
    loaded, of = tiny_model("gpt2"), sentences()
    names = "knowledge_neurons", "knowledge_neurons_refined"
    plain, kept = (knowledge_neurons(loaded, of, targets(of), context(name)) for name in names)
    assert torch.equal(kept, refined(plain, [one.group for one in of], 0.2, 0.5))
    assert 0 < (kept > 0).sum() < (plain > 0).sum()


def signal(loaded: Loaded, name: str):
    of = sentences()
    return projections(loaded, of, targets(of), context(f"pmet_{name}", top=10))


@pytest.mark.parametrize("family", ["gptj", "llama"])
def test_a_module_that_adds_nothing_changes_nothing(family):
    loaded = tiny_model(family)
    silent = loaded.spec.module(1, loaded.spec.attention_out)
    for name in ("cosine", "jaccard", "probability"):
        with hooked(loaded.model, {silent: lambda taken, given: torch.zeros_like(given)}):
            found = signal(loaded, name)
        assert found.shape == (5, 2 * loaded.spec.layers)
        assert found[:, 2].abs().max() < 1e-12
        assert (found[:, [0, 1, 3, 4, 5]].abs().max(0).values > 0).all()


@pytest.mark.parametrize("family", ["granite", "llama4_text"])
def test_changes_of_the_probability_add_up(family):
    """A module's state after is the next one's before, so the sum is the last probability minus the first."""
    loaded, of = tiny_model(family), sentences()
    found = signal(loaded, "probability")
    final = torch.tensor([chance(loaded, one) for one in of], dtype=found.dtype)
    embedded = []
    for one in of:
        state, _ = passing(loaded, one, loaded.spec.module(0, ""))
        norm = loaded.model.get_submodule(loaded.spec.final_norm)
        embedded.append(unembedded(loaded, norm(state)).softmax(0)[one.answer[0]])
    assert torch.allclose(found.sum(1), final - torch.stack(embedded), rtol=0, atol=1e-12)


def test_jaccard_is_that_of_sets_and_families_that_normalise_the_output_are_refused():
    first, second = torch.tensor([[1, 2, 3, 4], [1, 2, 3, 4]]), torch.tensor([[3, 9, 1, 8], [4, 3, 2, 1]])
    assert _jaccard(first, second).tolist() == [2 / 6, 1]
    with pytest.raises(InputError, match=r"pmet_cosine: .*post-norm"):
        signal(tiny_model("olmo2"), "cosine")


@pytest.mark.parametrize("name", sorted(path.stem for path in LOCATORS.glob("*.yaml")))
def test_no_locator_sees_the_answer(name):
    """The model is given the text's tokens alone, and another answer with the same target changes nothing."""
    loaded, of = tiny_model("llama"), sentences()
    given = context(name, **({"layer": 1} if name == "rome_layer" else {}))
    rows: set[tuple[int, ...]] = set()

    def look(ids: Tensor, out: Tensor) -> None:
        rows.update(tuple(each) for each in ids.tolist())

    with hooked(loaded.model, {loaded.spec.embedding: look}):
        first = locator_of(name)(loaded, of, targets(of), given)
    texts = {one.ids for one in of}
    for each in rows:
        # Padding repeats the last token.
        ends = [end for end in range(1, len(each) + 1) if set(each[end:]) <= {each[end - 1]}]
        assert texts & {each[:end] for end in ends}
    others = [Sentence(one.id, one.text, one.ids, one.subject, (9, 9), one.group, one.fact) for one in of]
    assert torch.equal(first, locator_of(name)(loaded, others, targets(of), given))
    if name == "rome_layer":
        assert first.tolist() == [[0, 1, 0]] * len(of)
