"""What families.yaml says of each family holds in a model, and its shape says the same."""

from __future__ import annotations

import dataclasses
import re
from pathlib import Path
from typing import Any

import pytest
import yaml

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.tiny_models import LISTED, rounding, tiny_model  # noqa: E402
from support.workflow import ROOT  # noqa: E402
from transformers import AutoConfig  # noqa: E402

from factdrift.core.errors import InputError, Unsupported  # noqa: E402
from factdrift.models import families  # noqa: E402
from factdrift.models.families import read_families  # noqa: E402
from factdrift.models.hooks import hooked  # noqa: E402
from factdrift.models.loading import without_weights  # noqa: E402
from factdrift.models.shape import discovered, spec_of  # noqa: E402
from factdrift.models.tiny import tiny_config  # noqa: E402

IDS = torch.tensor([[5, 6, 7, 8, 9], [9, 3, 2, 4, 1]])


@pytest.mark.parametrize("family", LISTED)
def test_the_shape_says_the_same_as_the_table(family: str) -> None:
    """Of bfloat16 as of float64, in which a model of any size is loaded."""
    loaded = tiny_model(family)
    assert loaded.spec.listed
    found = discovered(loaded.model, family)
    assert dataclasses.replace(found, listed=True) == loaded.spec
    rough = tiny_model(family, dtype=torch.bfloat16)
    again = discovered(rough.model, family)
    assert again == dataclasses.replace(
        found, residual_factor=again.residual_factor, logit_factor=again.logit_factor
    )
    for factor in ("residual_factor", "logit_factor"):
        assert getattr(again, factor) == pytest.approx(getattr(found, factor))


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
def test_a_block_adds_up_as_the_code_assumes(family: str) -> None:
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
def test_the_configuration_says_what_is_parallel(family: str, key: str | None) -> None:
    loaded = tiny_model(family, **{"use_parallel_residual": key is None})
    assert loaded.spec.parallel == (key is None)
    assert discovered(loaded.model, family).parallel == loaded.spec.parallel


def test_blocks_differ() -> None:
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


def test_a_language_model_inside_is_told_by_its_own_type_and_needs_a_length_of_texts() -> None:
    """Llama 4 and Qwen3.5 are published with images; AutoModelForCausalLM gives the language model."""
    from transformers import AutoConfig, AutoModelForCausalLM

    for family in ("llama4", "qwen3_5"):
        config = AutoConfig.for_model(family, text_config=tiny_config(f"{family}_text").to_dict())
        assert families.is_listed(config)
        spec = spec_of(AutoModelForCausalLM.from_config(config), "mine")
        assert spec == tiny_model(f"{family}_text").spec
    config = AutoConfig.for_model("bloom", hidden_size=24, n_layer=2, n_head=4, vocab_size=340)
    with pytest.raises(InputError, match=r"mine: its configuration \(model_type 'bloom'\) has none"):
        spec_of(AutoModelForCausalLM.from_config(config), "mine")


UNLISTED: dict[str, dict[str, Any]] = {
    "opt": {"word_embed_proj_dim": 24, "ffn_dim": 56},  # matrices of the MLP without a module of their own
    "cohere2": {"pad_token_id": 0},  # parallel, and logits multiplied
    "glm4": {"pad_token_id": 0},  # post-norm
    "phi": {"partial_rotary_factor": 1.0, "num_key_value_heads": 4},
    # A final normalisation that is called after the embeddings, and convolutions in the place of attention.
    "lfm2": {"layer_types": ["conv", "full_attention", "conv"]},
    "granitemoehybrid": {  # Granite 4: Mamba beside attention without positions
        **{"mamba_n_heads": 8, "mamba_d_head": 6, "mamba_d_state": 8, "mamba_n_groups": 1},
        **{"num_local_experts": 0, "num_experts_per_tok": 0, "shared_intermediate_size": 56},
        **{"position_embedding_type": None, "layer_types": ["mamba", "attention", "mamba"]},
    },
}


@pytest.mark.parametrize("family", UNLISTED)
def test_an_unlisted_family_works_if_its_shape_is_clear(
    family: str, capsys: pytest.CaptureFixture[str]
) -> None:
    from factdrift.models.precise import check_logits

    loaded = tiny_model(family, **UNLISTED[family])
    check_logits(loaded)
    spec = loaded.spec
    assert not spec.listed
    said = capsys.readouterr().err
    assert f"the family '{family}' is not in families.yaml; detected by its shape: 3 blocks" in said
    assert (spec.parallel, spec.post_norm) == (family in ("cohere2", "phi"), family == "glm4")
    assert spec.logit_factor == {"cohere2": 0.0625}.get(family, 1)


@pytest.mark.parametrize(
    ("family", "changes", "found"),
    [
        ("bloom", {}, "is not what enters it plus what attention and MLP put out"),
        ("mamba", {"pad_token_id": 0}, "one part that mixes tokens and one MLP were looked for in backbone"),
        ("nanochat", {"pad_token_id": 0}, "its logits are multiplied by .* which no key"),
    ],
)
def test_an_unclear_shape_is_refused_with_what_was_looked_for(family: str, changes: Any, found: str) -> None:
    with pytest.raises(
        InputError, match=rf"is of the family '{family}', which is not in .*{found}.*name its mod"
    ):
        tiny_model(family, **changes)


def test_the_table_is_believed_if_its_keys_are_right(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    entry = {key: value for key, value in read_families()["llama"].items() if key != "head"}
    path = tmp_path / "families.yaml"
    path.write_text(yaml.safe_dump({"mine": entry | {"logit_times": "logit_scale"}}), encoding="utf-8")
    monkeypatch.setattr(families, "FAMILIES", path)
    with pytest.raises(InputError, match=r"families\.yaml: mine: head is missing, logit_times is no key"):
        read_families.__wrapped__()
    # The table comes before the shape.
    other = read_families()["llama"] | {"down": "mlp.up_proj", "mlp_matrices": ["mlp.up_proj"]}
    monkeypatch.setattr("factdrift.models.shape.read_families", lambda: {"llama": other})
    assert spec_of(tiny_model("llama").model, "mine").down == "mlp.up_proj"
    scaled = read_families()["llama"] | {"logits_times": "logit_scale"}
    monkeypatch.setattr("factdrift.models.shape.read_families", lambda: {"llama": scaled})
    with pytest.raises(
        InputError, match=r"the type 'llama' has no logit_scale, which .*families\.yaml names"
    ):
        spec_of(tiny_model("llama").model, "mine")


def test_families_that_the_page_calls_refused_are() -> None:
    page = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    table = page.partition("<!-- refused:")[2].partition("<!-- end of refused")[0]
    kinds = re.findall(r"\(`(\w+)`\)", table)
    assert len(kinds) == 11
    for kind in kinds:
        if kind == "minimax":
            sizes = {"num_local_experts": 4, "block_size": 8, "pad_token_id": 0}
            with pytest.raises(Unsupported, match="its shape is not clear"):
                tiny_model(kind, layers=2, dtype=torch.float32, **sizes)
        else:
            with pytest.raises(Unsupported, match=r"its shape is not clear|how long a text may be"):
                without_weights(AutoConfig.for_model(kind), kind)
