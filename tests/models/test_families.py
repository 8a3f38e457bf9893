"""What families.yaml says of each family holds in a model; others are refused."""

from typing import Any

import pytest
import torch
import yaml
from support.tiny_families import tiny_config
from support.tiny_models import LISTED, rounding, tiny_model
from transformers import AutoConfig, AutoModelForCausalLM

from factdrift.core.errors import InputError, Unsupported
from factdrift.models import families
from factdrift.models.families import read_families, spec_of
from factdrift.models.hooks import hooked
from factdrift.models.loading import without_weights

IDS = torch.tensor([[5, 6, 7, 8, 9], [9, 3, 2, 4, 1]])


def runs(loaded: Any, layer: int, added: Any = None) -> dict[str, Any]:
    """Values of one block in a run; `added` [hidden] is added to what its down projection gives once."""
    spec, seen = loaded.spec, {}

    def keep(name: str):  # type: ignore[no-untyped-def]
        return lambda taken, given: seen.__setitem__(name, (taken.clone(), given.clone()))

    def add(taken: Any, given: Any) -> Any:
        changed = given.clone()
        changed[1, 2] += added
        return changed

    parts = {"attention": spec.attention_out, "mlp": spec.mlp, "block": ""}
    functions: dict[str, Any] = {spec.module(layer, part): keep(name) for name, part in parts.items()}
    if spec.has_down(layer):
        functions[spec.module(layer, spec.down)] = keep("down") if added is None else add
    with hooked(loaded.model, functions):
        loaded.model(IDS)
    return seen


@pytest.mark.parametrize("family", LISTED)
def test_a_block_adds_up_as_the_code_assumes(family):
    """ROME's value is what the down projection gives, MEMIT's hidden state a sum of such values."""
    loaded = tiny_model(family)
    spec = loaded.spec
    bound = max(1e-9, 100 * rounding(family))
    for layer in range(spec.layers):
        seen = runs(loaded, layer)
        (entered, left), attention, mlp = seen["block"], seen["attention"][1], seen["mlp"][1]
        total = entered + spec.residual_factor * (attention + mlp)
        assert torch.allclose(left, total, rtol=0, atol=bound) == (not spec.post_norm)
        if not spec.has_down(layer):
            continue
        key, value = seen["down"]
        assert key.shape == (2, 5, spec.inner_at(layer))
        assert value.shape == (2, 5, spec.hidden)
        if layer not in spec.experts:
            assert torch.equal(value, mlp) or family == "falcon"
        # A change of the matrix's output changes the block's output in proportion, unless MEMIT is refused.
        vector = torch.linspace(-1, 1, spec.hidden, dtype=torch.float64)
        moved = runs(loaded, layer, vector)["block"][1] - left
        assert not moved[0].any()
        expected = torch.zeros_like(moved)
        expected[1, 2] = spec.residual_factor * vector
        assert torch.allclose(moved, expected, rtol=0, atol=bound) == (spec.no_target(layer) is None)


@pytest.mark.parametrize(("family", "key"), [("gpt_neox", "use_parallel_residual"), ("stablelm", None)])
def test_the_configuration_says_what_is_parallel(family, key):
    loaded = tiny_model(family, **{"use_parallel_residual": key is None})
    assert loaded.spec.parallel == (key is None)


def test_blocks_differ():
    spec = tiny_model("deepseek_v3").spec
    assert spec.experts == {1, 2}
    assert spec.module(0, spec.down) == "model.layers.0.mlp.down_proj"
    assert spec.module(1, spec.down) == "model.layers.1.mlp.shared_experts.down_proj"
    assert [spec.inner_at(layer) for layer in range(3)] == [56, 40, 40]
    assert not spec.uniform()
    sparse = tiny_model("qwen3_moe", mlp_only_layers=[1]).spec
    assert [sparse.has_down(layer) for layer in range(3)] == [False, True, False]
    assert sparse.trained(0) == "model.layers.0.self_attn.o_proj"
    assert sparse.trained(1) == "model.layers.1.mlp.down_proj"
    with pytest.raises(InputError, match=r"mixture of experts: block 2 .* blocks with one: 1"):
        sparse.module(2, sparse.down)


def test_a_language_model_inside_is_known_by_its_own_type_and_needs_a_length_of_texts(monkeypatch):
    """Llama 4 and Qwen3.5 are published with images; AutoModelForCausalLM gives the language model."""
    for family in ("llama4", "qwen3_5"):
        config = AutoConfig.for_model(family, text_config=tiny_config(f"{family}_text").to_dict())
        families.check_listed(config, "mine")
        spec = spec_of(AutoModelForCausalLM.from_config(config), "mine")
        assert spec == tiny_model(f"{family}_text").spec
    model = AutoModelForCausalLM.from_config(tiny_config("llama"))
    monkeypatch.setattr(families, "POSITIONS", ("words",))
    with pytest.raises(InputError, match=r"mine: its configuration \(model_type 'llama'\) has none"):
        spec_of(model, "mine")


def test_a_family_that_is_not_listed_is_refused_before_its_weights_are_read():
    for kind in ("bloom", "mamba"):
        with pytest.raises(Unsupported, match=rf"of the family '{kind}', which is not in .*name its modules"):
            without_weights(AutoConfig.for_model(kind), kind)


def test_the_table_is_believed_if_its_keys_are_right(tmp_path, monkeypatch):
    entry = {key: value for key, value in read_families()["llama"].items() if key != "head"}
    path = tmp_path / "families.yaml"
    path.write_text(yaml.safe_dump({"mine": entry | {"logit_times": "logit_scale"}}), encoding="utf-8")
    monkeypatch.setattr(families, "FAMILIES", path)
    with pytest.raises(InputError, match=r"families\.yaml: mine: head is missing, logit_times is no key"):
        read_families.__wrapped__()
    scaled = read_families()["llama"] | {"logits_times": "logit_scale"}
    monkeypatch.setattr("factdrift.models.families.read_families", lambda: {"llama": scaled})
    with pytest.raises(
        InputError, match=r"the type 'llama' has no logit_scale, which .*families\.yaml names"
    ):
        spec_of(tiny_model("llama").model, "mine")
