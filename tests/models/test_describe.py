"""What is found in small random models of every supported family."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from factdrift.cli import main
from factdrift.errors import InputError
from factdrift.models.families import read_families

from .tokenizers_of import tokenizer_of

torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
transformers = pytest.importorskip("transformers")

SMALL: dict[str, Any] = {
    **{"hidden_size": 32, "intermediate_size": 48, "num_hidden_layers": 2, "num_attention_heads": 4},
    **{"num_key_value_heads": 2, "head_dim": 8, "vocab_size": 400, "max_position_embeddings": 64},
    **{"pad_token_id": 0, "bos_token_id": 0, "eos_token_id": 0},
}
OLDER: dict[str, Any] = {
    **{"n_embd": 32, "n_layer": 2, "n_head": 4, "vocab_size": 400, "n_positions": 64},
    **{"bos_token_id": 0, "eos_token_id": 0},
}
VISION = {"hidden_size": 32, "intermediate_size": 32, "num_hidden_layers": 1, "num_attention_heads": 2}
CHANGES: dict[str, dict[str, Any]] = {
    "gptj": OLDER | {"rotary_dim": 8},
    "gpt2": OLDER,
    "gemma3": {"text_config": SMALL, "vision_config": VISION | {"image_size": 28, "patch_size": 14}},
}
POST_NORM = {"olmo2", "olmo3", "gemma2", "gemma3_text", "gemma3"}


def saved(family: str, folder: Path, **changes: Any) -> Path:
    """The folder of a random model of a family, of two blocks."""
    config = transformers.AutoConfig.for_model(family, **(CHANGES.get(family, SMALL) | changes))
    torch.manual_seed(0)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer_of("llama3").save_pretrained(folder)
    return folder


@pytest.mark.parametrize("family", read_families())
def test_each_family(family: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    from factdrift.models.loading import load

    folder = saved(family, tmp_path / family)
    assert main(["models", "describe", str(folder)]) == 0
    said = capsys.readouterr().out
    loaded = load(str(folder))
    spec, model = loaded.spec, loaded.model
    assert (spec.family, spec.layers, spec.hidden, spec.vocabulary, spec.positions) == (
        family,
        2,
        32,
        400,
        64,
    )
    assert spec.parallel == (family in ("gptj", "gpt_neox"))
    assert spec.post_norm == (family in POST_NORM)
    assert ("memit: what its MLP puts out" in said) == spec.post_norm
    assert f"{sum(one.numel() for one in model.parameters()):,}" in said
    assert "text begins          with <end>" in said
    assert f"({family})" in said

    # The edited matrix is the one whose output the block adds: without it, the MLP adds nothing but a bias.
    down = model.get_submodule(spec.module(1, spec.down))
    seen: list[Any] = []
    handle = model.get_submodule(spec.module(1, spec.mlp)).register_forward_hook(
        lambda module, inputs, output: seen.append(output)
    )
    keys = down.register_forward_pre_hook(lambda module, inputs: seen.append(inputs[0]))
    with torch.no_grad():
        down.weight.zero_()
        model(torch.tensor([[5, 6, 7]]))
    handle.remove(), keys.remove()
    key, output = seen
    assert key.shape == (1, 3, spec.inner)
    assert output.shape == (1, 3, spec.hidden)
    assert torch.equal(output[0, 0], output[0, 2])


def test_traits(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    for family in ("llama", "gpt2"):
        main(["models", "describe", str(saved(family, tmp_path / family))])
    llama, gpt2 = capsys.readouterr().out.split("model  ")[1:]
    assert "4 heads, 2 of keys and values (grouped queries)" in llama
    assert "model.layers.0.mlp.down_proj: 32 x 48, no bias; edited by ft, rome, memit and mend" in llama
    assert "apart from model.embed_tokens" in llama
    assert "transformer.h.0.mlp.c_proj: 32 x 128, kept as [in, out], with bias" in gpt2
    assert "tied to transformer.wte" in gpt2
    assert "not supported" not in llama + gpt2


def test_parallel_is_read_from_the_model(tmp_path: Path):
    from factdrift.models.loading import load

    folder = saved("gpt_neox", tmp_path / "neox", use_parallel_residual=False)
    assert not load(str(folder)).spec.parallel


def test_unknown_family(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    folder = saved("opt", tmp_path / "opt", word_embed_proj_dim=32, ffn_dim=48)
    assert main(["models", "describe", str(folder)]) == 1
    said = capsys.readouterr().err
    assert "is of the family 'opt', which is not supported; supported are GPT-2 (gpt2), GPT-J (gptj)" in said
    assert "families.yaml" in said


def test_a_model_that_lacks_a_module(tmp_path: Path):
    from factdrift.models.families import spec_of

    config = transformers.AutoConfig.for_model("llama", **SMALL)
    model = transformers.AutoModelForCausalLM.from_config(config)
    del model.model.layers[1].mlp.up_proj
    with pytest.raises(InputError, match=r"mine has no module model\.layers\.1\.mlp\.up_proj"):
        spec_of(model, "mine")


@pytest.mark.parametrize(
    ("family", "changes"),
    [
        ("granite", {"logits_scaling": 8.0}),
        ("cohere", {"logit_scale": 0.0625}),
        ("cohere2", {"logit_scale": 0.25}),
        ("cohere2", {"logit_scale": 1.1}),
    ],
)
def test_a_family_that_scales_its_logits_is_refused_when_loaded(
    family: str, changes: dict[str, Any], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """Such a family can be added to families.yaml as docs/models.md invites to; its losses would be wrong."""
    from factdrift.models import families, loading

    known = {**read_families(), family: read_families()["llama"] | {"title": family}}
    monkeypatch.setattr(families, "read_families", lambda path: known)
    folder = saved(family, tmp_path / family, **changes)
    with pytest.raises(InputError, match=rf"differ from the model's own by up to .* family '{family}'"):
        loading.load(str(folder))
    for dtype in ("float64", "bfloat16"):
        with pytest.raises(InputError, match="differ from the model's own"):
            loading.load(str(folder), dtype=dtype)


@pytest.mark.parametrize("dtype", ["float64", "bfloat16", "float16"])
@pytest.mark.parametrize("family", ["gpt2", "gptj", "llama", "gemma2"])
def test_rounding_is_no_difference_of_logits(family: str, dtype: str, tmp_path: Path):
    from factdrift.models.loading import load

    load(str(saved(family, tmp_path / family)), dtype=dtype)


CODE = """
from pathlib import Path
from transformers import LlamaConfig, LlamaForCausalLM
Path("ran").touch()
class Own(LlamaConfig):
    model_type = "own"
"""


def test_code_that_comes_with_a_model_runs_only_if_it_is_allowed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
):
    """Not even for an answer of yes, of which transformers asks at a terminal."""
    folder = saved("llama", tmp_path / "own")
    config = json.loads((folder / "config.json").read_text())
    config |= {"model_type": "own", "auto_map": {"AutoConfig": "code.Own"}}
    (folder / "config.json").write_text(json.dumps(config))
    (folder / "code.py").write_text(CODE)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_MODULES_CACHE", str(tmp_path / "modules"))
    monkeypatch.setattr("builtins.input", lambda *words: "yes")
    assert main(["models", "describe", str(folder)]) == 1
    said = capsys.readouterr().err
    assert "comes with Python code of its own, which is not run" in said
    assert "trust_remote_code: true" in said
    assert not Path("ran").exists()
    assert main(["models", "describe", str(folder), "--trust-remote-code"]) == 1
    assert "is of the family 'own', which is not supported" in capsys.readouterr().err
    assert Path("ran").exists()


@pytest.mark.parametrize("weights", [b"", b"no tensors", b"\x08" + bytes(7) + b"{}      " + bytes(9)])
def test_damaged_weights_are_an_error_that_names_the_model(weights: bytes, tmp_path: Path):
    from factdrift.models.loading import load

    folder = saved("llama", tmp_path / "llama")
    (folder / "model.safetensors").write_bytes(weights)
    with pytest.raises(InputError, match=r"llama at revision main cannot be loaded"):
        load(str(folder))


def test_no_such_model(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    assert main(["models", "describe", "sample", "--folder", str(tmp_path)]) == 1
    assert "make it with `snakemake results/models/sample-llama`" in capsys.readouterr().err
    (tmp_path / "config.json").write_text("{}")
    assert main(["models", "describe", str(tmp_path)]) == 1
    assert "cannot be loaded" in capsys.readouterr().err


def test_loaded_read_only(tmp_path: Path):
    from factdrift.models.loading import load

    first = load(str(saved("llama", tmp_path / "a")))
    assert not first.model.training
    assert not any(one.requires_grad for one in first.model.parameters())
    assert first.dtype == torch.float32
    assert first.tokenizer.pad_token is not None
    assert load(str(tmp_path / "a"), dtype="float64").digest == first.digest
    assert load(str(tmp_path / "a"), dtype="float64").model.dtype == torch.float64
    other = saved("llama", tmp_path / "b", rms_norm_eps=1e-3)
    assert load(str(other)).digest != first.digest
    with pytest.raises(InputError, match="dtype: 'int8' is none of auto, float32"):
        load(str(other), dtype="int8")


def test_without_torch(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]):
    import sys

    monkeypatch.setitem(sys.modules, "factdrift.models.describe", None)
    monkeypatch.delitem(sys.modules, "factdrift.models.describe")
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["models", "describe", "sample"]) == 1
    assert "torch is not installed, which runs language models; run `make models`" in capsys.readouterr().err
