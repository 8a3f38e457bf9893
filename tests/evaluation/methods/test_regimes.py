from dataclasses import replace

import pytest
import torch
from support.asking import chance
from support.methods_in_few_steps import artefacts, hyper_in
from support.tiny_edits import EDITS, tiny_artefacts, tiny_hyper
from support.tiny_models import TEXT, tiny_model

from factdrift.core.errors import InputError
from factdrift.evaluation.methods.hyperparameters import read_hyper
from factdrift.evaluation.methods.interface import Artefacts, Edit
from factdrift.evaluation.methods.mend import edited_matrices
from factdrift.evaluation.states.edited import edited
from factdrift.models.deltas import applied, matrix, rounded, written
from factdrift.models.moments import count_moments

pytestmark = pytest.mark.filterwarnings("ignore:second moments")


def total(loaded, result, edit=0):
    return {name: delta.dense(edit)[0] for name, delta in result.deltas.items()}


DECAYING = {"layers": [1], "lr": 0.05, "steps": 4, "weight_decay": 0.3}


@pytest.mark.parametrize(
    "hyper",
    [tiny_hyper("memit"), tiny_hyper("lora"), read_hyper("ft", "tiny", DECAYING)],
    ids=lambda hyper: hyper.method,
)
def test_in_turn_is_each_with_those_before_it_in_the_weights(hyper):
    loaded = tiny_model("llama")
    artefacts = tiny_artefacts(loaded)
    found = edited(loaded, EDITS[:3], hyper, artefacts, "sequential")
    assert found.owner == [0, 0, 0]
    first = edited(loaded, EDITS[:1], hyper, artefacts)
    with written(loaded.model, first.deltas, 0):
        second = edited(loaded, EDITS[1:2], hyper, artefacts)
        with written(loaded.model, second.deltas, 0):
            third = edited(loaded, EDITS[2:3], hyper, artefacts)
    sums = [total(loaded, one) for one in (first, second, third)]
    for name, change in total(loaded, found).items():
        expected = sum(one[name] for one in sums)
        assert (change - expected).norm() < 1e-8 * expected.norm()
    alone = total(loaded, edited(loaded, EDITS[1:2], hyper, artefacts))
    *_, name = alone
    assert not torch.allclose(alone[name], sums[1][name], rtol=1e-3)


LONG = Edit("x", "The capital of Atlantis is not " * 30, "Atlantis", "New Orleans")


@pytest.mark.parametrize("method", ["ft", "lora", "rome", "memit", "mend"])
def test_an_edit_that_fails_is_reported_and_changes_nothing(method):
    loaded = tiny_model("llama")
    before = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    hyper = hyper_in(loaded, method, 1)
    found = edited(loaded, [EDITS[1], LONG, EDITS[2]], hyper, artefacts(loaded, hyper))
    assert found.failed == {1: "too_long"}
    assert found.deltas
    for delta in found.deltas.values():
        assert [bool(delta.dense(place)[0].any()) for place in range(3)] == [True, False, True]
    assert edited(loaded, [LONG], hyper, artefacts(loaded, hyper)).failed == {0: "too_long"}
    assert all(torch.equal(value, before[name]) for name, value in loaded.model.state_dict().items())
    assert not any(parameter.requires_grad for parameter in loaded.model.parameters())
    assert not any(module._forward_hooks for module in loaded.model.modules())


@pytest.mark.parametrize(
    ("method", "regime"),
    [
        *(("ft", "sequential"), ("grace", "sequential"), ("replay", "stream"), ("wise", "stream")),
        *((method, "batch") for method in ("memit", "alphaedit", "ultraedit", "lora", "merge")),
    ],
)
def test_an_edit_that_fails_is_left_out_of_its_group(method, regime):
    loaded = tiny_model("llama")
    hyper = hyper_in(loaded, method, 1)
    given = artefacts(loaded, hyper)
    found = edited(loaded, [EDITS[1], LONG, EDITS[2]], hyper, given, regime)
    assert (found.failed, found.owner) == ({1: "too_long"}, [0, -1, 0])
    nothing = edited(loaded, [LONG], hyper, given, regime)
    assert (nothing.failed, nothing.owner) == ({0: "too_long"}, [-1])
    assert not any(delta.dense(0)[0].any() for delta in nothing.deltas.values())


@pytest.mark.parametrize(
    ("method", "values", "regime"),
    [
        ("ft", {"lr": 1e308}, "independent"),
        ("ft", {"lr": 1e308, "steps": 1}, "independent"),
        ("rome", {"lr": float("nan")}, "independent"),
        ("memit", {"lr": float("nan")}, "independent"),
        ("lora", {"alpha": 1e300}, "independent"),
        ("grace", {"lr": 1e308}, "independent"),
        ("mend", {"edit_lr": float("inf")}, "independent"),
        ("lora", {"alpha": 1e300}, "batch"),
        ("wise", {"lr": 1e300, "norm_constraint": 1e38}, "stream"),
    ],
)
def test_an_edit_that_diverges_has_failed(method, values, regime):
    loaded = tiny_model("gpt2", dtype=torch.float32)
    hyper = hyper_in(loaded, method, 1)
    hyper = replace(hyper, settings={**hyper, **values})
    found = edited(loaded, EDITS[:2], hyper, artefacts(loaded, hyper), regime)
    assert found.failed == {0: "diverged", 1: "diverged"}
    assert regime == "independent" or found.owner == [-1, -1]
    assert not any(delta.dense(0)[0].any() for delta in found.deltas.values())
    assert all(book.values.isfinite().all() for book in found.codebooks.values())


def test_a_regime_that_a_method_does_not_support_is_refused():
    loaded = tiny_model("llama")
    for method, regime in (("rome", "batch"), ("prompt", "sequential"), ("none", "batch")):
        hyper = tiny_hyper(method) if method == "rome" else read_hyper(method, "tiny")
        with pytest.raises(InputError, match=f"edit.regime: {regime}: {method} cannot"):
            edited(loaded, EDITS, hyper, tiny_artefacts(loaded), regime)


def test_rounded_to_the_type_of_the_weights():
    """What programs that write into half-precision weights evaluate."""
    loaded = tiny_model("llama", dtype=torch.bfloat16)
    hyper, artefacts = tiny_hyper("rome", precision="weights"), tiny_artefacts(loaded)
    exact = edited(loaded, EDITS[:2], tiny_hyper("rome"), artefacts)
    rough = edited(loaded, EDITS[:2], hyper, artefacts)
    ((name, delta),) = rough.deltas.items()
    change = exact.deltas[name].dense(1)[0]
    weight = matrix(loaded.model, name)
    assert torch.equal(weight.float() + delta.weight[1], (weight.float() + change).to(torch.bfloat16).float())
    again = rounded(loaded.model, rough.deltas)[name]
    assert torch.equal(again.weight, delta.weight)
    assert not torch.equal(delta.weight[1], change)


def test_a_block_that_the_model_does_not_have_is_refused():
    loaded = tiny_model("llama")
    for method, values, message in (
        ("rome", {"layer": 99}, r"rome\.layer: tiny-llama has no block 99, but blocks 0 to 2"),
        ("ft", {"layers": [0, 3]}, r"ft\.layers: tiny-llama has no block 3"),
    ):
        with pytest.raises(InputError, match=message):
            edited(loaded, EDITS, read_hyper(method, "tiny", values), Artefacts())
    with pytest.raises(InputError, match="moments: tiny-llama has no block 99"):
        count_moments(loaded, [99], TEXT)


def test_methods_that_need_a_down_projection_say_which_blocks_have_one():
    loaded = tiny_model("qwen3_moe", mlp_only_layers=[1])
    for hyper in (tiny_hyper("rome", layer=0), tiny_hyper("memit", layers=[1, 2])):
        with pytest.raises(
            InputError, match=rf"{hyper.method} on tiny-qwen3_moe: mixture of.*blocks with one: 1;"
        ):
            edited(loaded, EDITS, hyper, Artefacts())
    with pytest.raises(InputError, match=r"mend on tiny-qwen3_moe: mixture of experts: block 2"):
        edited_matrices(loaded, 1)
    with pytest.raises(InputError, match=r"mixture of experts: block 0"):
        count_moments(loaded, [0], TEXT)


@pytest.mark.parametrize("family", ["gpt_oss", "deepseek_v3"])
def test_ft_l_teaches_a_mixture_of_experts(family):
    """Where experts have no matrix in common, attention's output projection, of which it warns."""
    loaded = tiny_model(family)
    values = {"layers": [1], "norm_constraint": 0.5, "lr": 0.05, "steps": 15}
    hyper = read_hyper("ft_l", "tiny", values)
    if family == "deepseek_v3":
        found = edited(loaded, EDITS, hyper, Artefacts())
        assert list(found.deltas) == ["model.layers.1.mlp.shared_experts.down_proj"]
    else:
        with pytest.warns(UserWarning, match=r"block 1 is a mixture .*self_attn\.o_proj is trained instead"):
            found = edited(loaded, EDITS, hyper, Artefacts())
        assert list(found.deltas) == ["model.layers.1.self_attn.o_proj"]
    before = chance(loaded, EDITS[1].prompt, EDITS[1].target)
    with applied(loaded.model, found.deltas, 1):
        assert chance(loaded, EDITS[1].prompt, EDITS[1].target) > before + 1
