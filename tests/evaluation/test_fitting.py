"""The memory that models need: the arithmetic against real tensors."""

import json
from dataclasses import replace
from typing import Any

import pytest
import torch
from support.asking import saved
from support.commands import printed
from support.tiny_models import tiny_model
from support.workflow import ROOT
from transformers import AutoConfig

from factdrift.cli import main
from factdrift.core.errors import CannotEdit
from factdrift.core.files import read_yaml
from factdrift.evaluation.methods.hyperparameters import read_hyper
from factdrift.evaluation.methods.mend import HyperNet, edited_matrices
from factdrift.evaluation.methods.record import records
from factdrift.evaluation.states.edited import matrix_bytes
from factdrift.evaluation.tools import fitting
from factdrift.evaluation.tools.fitting import edit_needs, needed, weight_bytes
from factdrift.models.devices import fast_type
from factdrift.models.loaded import Loaded
from factdrift.models.loading import stored_bytes, without_weights

NUMBERS = {
    **{"gpt2-xl": 1_557_611_200, "gpt-j-6b": 6_050_882_784, "llama-2-7b": 6_738_415_616},
    **{"llama-3-8b": 8_030_261_248, "qwen3-4b": 4_022_468_096, "qwen3-8b": 8_190_735_360},
}
"""The numbers of parameters that the models have on their hubs."""


def shaped(name: str, bits: int = 16) -> Loaded:
    """A model of benchmarks/shapes.yaml without weights, in bfloat16 or quantized as bitsandbytes does."""
    sizes = dict(read_yaml(ROOT / "benchmarks" / "shapes.yaml")[name])
    config = AutoConfig.for_model(sizes.pop("model_type"), **sizes)
    if bits < 16:
        config.quantization_config = {"quant_method": "bitsandbytes", f"load_in_{bits}bit": True}
    model, spec = without_weights(config, name)
    return Loaded(model, None, spec, name, "", "", torch.device("meta"), torch.bfloat16)


@pytest.mark.parametrize("name", NUMBERS)
def test_weights_are_two_bytes_for_each_parameter(name):
    assert weight_bytes(shaped(name)) == 2 * NUMBERS[name]


def test_quantized_models_take_what_their_files_take(tmp_path):
    loaded = shaped("llama-3-8b", 4)
    assert weight_bytes(loaded) == pytest.approx(6.0e9, rel=0.02)
    assert weight_bytes(shaped("llama-3-8b", 8)) == pytest.approx(9.1e9, rel=0.02)
    parts = {"model-00001-of-00002.safetensors": 300, "model-00002-of-00002.safetensors": 200}
    for name, size in parts.items():
        (tmp_path / name).write_bytes(bytes(size))
    index = {"weight_map": dict(zip("ab", parts, strict=True))}
    (tmp_path / "model.safetensors.index.json").write_text(json.dumps(index))
    (tmp_path / "pytorch_model.bin").write_bytes(bytes(1000))
    assert stored_bytes(tmp_path) == weight_bytes(loaded, str(tmp_path)) == 500
    assert weight_bytes(loaded, str(tmp_path / "none")) == weight_bytes(loaded)
    assert weight_bytes(shaped("gpt2-xl"), str(tmp_path)) == 2 * NUMBERS["gpt2-xl"]


def test_what_methods_keep_is_the_size_of_their_tensors():
    loaded = shaped("gpt-j-6b")
    square, matrix = 16384**2 * 8, 4096 * 16384 * 4
    methods = ("rome", "memit", "alphaedit")
    kept = {method: edit_needs(loaded, read_hyper(method, "gpt-j-6b")) for method in methods}
    assert {method: need.kept / square for method, need in kept.items()} == {
        "rome": 2,
        "memit": 6 + 1,
        "alphaedit": 6 + 5,
    }
    # 22 rows of 12 tokens backwards, and of 32 with keys and values.
    assert kept["rome"].each == pytest.approx(22 * (12 * 28 + 32 * 2) * 28 * 4096 * 2, rel=0.05)
    ft = edit_needs(loaded, read_hyper("ft", "gpt-j-6b"))
    assert ft.kept == 0
    assert 4 * matrix < ft.each < 5 * matrix
    free = edit_needs(loaded, read_hyper("memit", "gpt-j-6b", {"covariance": False}))
    assert free.kept == 0
    assert edit_needs(loaded, read_hyper("merge", "gpt-j-6b", {"combination": "linear"})).kept == 0
    rounded = read_hyper("memit", "gpt-j-6b", {"precision": "weights"})
    assert matrix_bytes(loaded, rounded) == 6 * matrix


def test_mend_keeps_its_networks():
    loaded = tiny_model("llama", dtype=torch.float32)
    hyper = read_hyper("mend", "tiny", {"blocks": 2, "rank": 8})
    net = HyperNet(edited_matrices(loaded, 2), 8, 1e-4)
    held = sum(one.numel() * one.element_size() for one in net.state_dict().values())
    assert edit_needs(loaded, hyper).kept == held


def test_a_method_that_cannot_edit_a_model_needs_nothing():
    for loaded in (shaped("qwen3-4b", 4), replace(tiny_model("mixtral"), name="mixtral")):
        _, row = needed(loaded)
        able = {method for method, need in row.items() if need is not None}
        assert "rome" not in able
        assert {"lora", "grace"} <= able
        with pytest.raises(CannotEdit):
            edit_needs(loaded, read_hyper("rome", "it", {"layer": 1}))
    asked = [name for name, record in records().items() if record.changes in ("weights", "codebook")]
    assert list(row) == ["asked", *asked]


def test_describe_says_what_a_quantized_folder_needs(tmp_path, monkeypatch):
    saved(tmp_path)
    config: dict[str, Any] = json.loads((tmp_path / "config.json").read_text())
    how = {"quant_method": "bitsandbytes", "load_in_4bit": True, "bnb_4bit_quant_type": "nf4"}
    monkeypatch.setattr(fitting, "stored_bytes", lambda folder: 3_210_000_000 if folder == tmp_path else 0)
    for given, said in (
        ({}, "weights on a GPU     0.1 MB, in bfloat16"),
        ({"quantization_config": how}, "weights on a GPU     3.2 GB, quantized"),
    ):
        (tmp_path / "config.json").write_text(json.dumps(config | given))
        out = printed("models", "describe", str(tmp_path))
        assert said in out
        assert ("quantized            4 bits (bitsandbytes, nf4, computed in float32)" in out) == bool(given)
        assert ("rome" in out.partition("with one edit")[2].partition("\n")[0]) == (not given)


def test_the_time_of_a_date_grows_with_the_model_and_is_told_of_a_large_one(tmp_path, capsys, monkeypatch):
    times = iter([[3.0, 1.0, 2.0]])
    monkeypatch.setattr(fitting.timeit, "repeat", lambda *_, **__: next(times))
    loaded = shaped("qwen3-4b", 4)
    spec, seconds = loaded.spec, fitting.cutoff_seconds(loaded)[0]
    blocks = sum(parameter.numel() for name, parameter in loaded.model.named_parameters() if "layers" in name)
    products = fitting.RUN * blocks + fitting.READ * spec.hidden * spec.vocabulary
    assert seconds == pytest.approx(fitting.BESIDE * products / (256 * spec.hidden * spec.inner), rel=0.01)
    monkeypatch.undo()
    saved(tmp_path)
    for least, told in ((10**9, False), (1, True)):
        monkeypatch.setattr(fitting, "LARGE", least)
        assert main(["models", "describe", str(tmp_path)]) == 0
        assert ("`factdrift cutoff` takes about" in capsys.readouterr().out) == told


@pytest.mark.parametrize(
    ("has", "numbers", "kind"),
    [
        ({"avx512_bf16": True}, 10**8, "bfloat16"),
        ({"amx_bf16": True, "avx512_bf16": False}, 10**8, "bfloat16"),
        ({"avx512_bf16": True}, 10**6, "float32"),
        ({"avx512_f": True}, 10**8, "float32"),
    ],
)
def test_a_large_model_runs_in_bfloat16_where_a_cpu_is_made_for_it(has, numbers, kind, monkeypatch):
    monkeypatch.setattr(torch.cpu, "get_capabilities", lambda: has)
    assert str(fast_type(numbers)) == f"torch.{kind}"
