"""What is described and loaded of small random models in folders."""

import json
import sys
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
import torch
import transformers
from support.tiny_families import tiny_config
from support.workflow import ROOT

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.models import families
from factdrift.models.families import read_families, spec_of
from factdrift.models.loading import load

from .tokenizers_of import tokenizer_of


def saved(family: str, folder: Path, **changes: Any) -> Path:
    """The folder of a random model of a family, of two blocks."""
    config = tiny_config(family, layers=2, positions=64, **({"vocab_size": 400} | changes))
    torch.manual_seed(0)
    transformers.AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tokenizer_of("llama3").save_pretrained(folder)
    return folder


def test_traits(tmp_path, capsys):
    for family in ("llama", "gpt2", "gemma3", "qwen3_moe"):
        assert main(["models", "describe", str(saved(family, tmp_path / family))]) == 0
        spec = load(str(tmp_path / family)).spec
        assert (spec.family, spec.layers, spec.hidden, spec.vocabulary) == (family, 2, 24, 400)
    llama, gpt2, gemma, mixture = capsys.readouterr().out.split("model  ")[1:]
    assert "(gemma3)" in gemma
    assert "what the MLP puts out is normalised" in gemma
    assert "mend, rome, memit, alphaedit, ultraedit, wise in blocks 0 to 1: mixture" in mixture
    assert "text begins          with <end>" in llama
    assert "4 heads, 2 of keys and values (grouped queries)" in llama
    assert "model.layers.0.mlp.down_proj: 24 x 56, no bias\n" in llama
    assert "apart from model.embed_tokens" in llama
    assert "transformer.h.0.mlp.c_proj: 24 x 56, kept as [in, out], with bias" in gpt2
    assert "tied to transformer.wte" in gpt2
    assert "not supported" not in llama + gpt2


def test_the_description_on_the_page_is_what_the_command_prints(tmp_path, monkeypatch, capsys):
    """But for where the model is, and the tokenizer's class, which is transformers'."""
    page = (ROOT / "docs/models.md").read_text(encoding="utf-8")
    shown = page.partition("$ factdrift models describe sample\n")[2].partition("```")[0]
    monkeypatch.chdir(tmp_path)
    assert main(["models", "describe", "sample"]) == 0
    kept, said = (
        [line for line in text.splitlines()[1:] if not line.startswith("tokenizer")]
        for text in (shown, capsys.readouterr().out)
    )
    assert kept == said


def test_slow_tokenizers_are_refused(tmp_path, monkeypatch):
    slow = Mock(return_value=Mock(is_fast=False))
    monkeypatch.setattr("factdrift.models.loading.AutoTokenizer.from_pretrained", slow)
    with pytest.raises(InputError, match=r"has a slow tokenizer \(Mock\), .*tokenizer\.json"):
        load(str(saved("llama", tmp_path)))


def test_a_model_that_lacks_a_module(tmp_path):
    config = tiny_config("llama")
    model = transformers.AutoModelForCausalLM.from_config(config)
    del model.model.layers[1].mlp.up_proj
    with pytest.raises(InputError, match=r"mine has no module model\.layers\.1\.mlp\.up_proj"):
        spec_of(model, "mine")


def test_a_listed_family_that_scales_its_logits_otherwise_is_refused_when_loaded(tmp_path, monkeypatch):
    """An entry that says nothing of the scale, as a user may write one; every loss would be wrong."""
    known = {**read_families(), "granite": read_families()["llama"] | {"title": "Granite"}}
    monkeypatch.setattr(families, "read_families", lambda: known)
    folder = saved("granite", tmp_path / "granite", logits_scaling=1.1)
    for dtype in ("float32", "bfloat16"):
        with pytest.raises(InputError, match=r"differ from the model's own by .* family 'granite'"):
            load(str(folder), dtype=dtype)


def test_what_cannot_be_loaded_is_refused_in_short(tmp_path, monkeypatch, capsys):
    assert main(["models", "describe", "sample", "--folder", str(tmp_path)]) == 1
    assert "make it with `snakemake --cores all results/models/sample-llama`" in capsys.readouterr().err
    folder = saved("llama", tmp_path / "vision")
    config = json.loads((folder / "config.json").read_text())
    (folder / "config.json").write_text(json.dumps(config | {"model_type": "qwen2_5_vl"}))
    assert main(["models", "describe", str(folder)]) == 1
    said = capsys.readouterr().err
    assert "is of the type 'qwen2_5_vl', for which transformers has no causal language model" in said
    assert len(said) < 400
    folder = saved("llama", tmp_path / "adapter")
    (folder / "config.json").rename(folder / "adapter_config.json")
    (folder / "model.safetensors").rename(folder / "adapter_model.safetensors")
    assert main(["models", "describe", str(folder)]) == 1
    assert (
        "is an adapter, which is no model of its own; score its edits with `factdrift edit probe --mod"
        in (capsys.readouterr().err)
    )
    folder = saved("llama", tmp_path / "packed")
    for weights in (b"no tensors", b"\x08" + bytes(7) + b"{}      " + bytes(9)):
        (folder / "model.safetensors").write_bytes(weights)
        with pytest.raises(InputError, match=r"packed at revision main cannot be loaded"):
            load(str(folder))
    quantized = {"quant_method": "gptq", "bits": 4, "group_size": 128}
    (folder / "config.json").write_text("{}")
    assert main(["models", "describe", str(folder)]) == 1
    assert "cannot be loaded" in capsys.readouterr().err
    (folder / "config.json").write_text(json.dumps(config | {"quantization_config": quantized}))
    with pytest.raises(
        InputError,
        match=r"packed at revision main needs a package that is not installed \(.{1,300}\); install it",
    ):
        load(str(folder), device="cpu")
    long = Mock(side_effect=ValueError("many words " * 1000))
    monkeypatch.setattr(transformers.AutoConfig, "from_pretrained", long)
    with pytest.raises(InputError, match=r"loaded \(ValueError: many words .{1,300}\); give"):
        load(str(folder), device="cpu")


def test_loaded_read_only(tmp_path):
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


def test_without_torch(monkeypatch, capsys):
    for module in ("factdrift.models.describe", "factdrift.models.loading"):
        monkeypatch.setitem(sys.modules, module, None)
        monkeypatch.delitem(sys.modules, module)
    monkeypatch.setitem(sys.modules, "torch", None)
    assert main(["models", "describe", "sample"]) == 1
    assert "torch is not installed, which runs language models; run `make models`" in capsys.readouterr().err
