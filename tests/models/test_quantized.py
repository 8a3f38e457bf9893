"""Quantized models: bitsandbytes' own on the CPU where it is installed, and stand-ins for other forms."""

import json
import logging
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import Mock

import pytest
import torch
from support.asking import saved
from support.tiny_edits import EDITS, tiny_artefacts, tiny_hyper
from support.tiny_models import tiny_model, tiny_tokenizer
from support.writing import continued
from transformers import AutoModelForCausalLM, BitsAndBytesConfig

from factdrift.core.errors import CannotEdit
from factdrift.evaluation.methods.hyperparameters import read_hyper
from factdrift.evaluation.methods.mend import edited_matrices
from factdrift.evaluation.states.edited import check_layers, edited
from factdrift.models.alignment import align
from factdrift.models.deltas import LowRank, matrix, written
from factdrift.models.loading import (
    load,
    load_checkpoint,
    placed,
    spreading,
)
from factdrift.models.quantized import described
from factdrift.models.scoring import score

SIZES: dict[str, Any] = {"hidden_size": 128, "intermediate_size": 256, "head_dim": 32}
"""Widths that bitsandbytes' kernels for the CPU take."""
BITS: dict[str, dict[str, Any]] = {
    "nf4": {"load_in_4bit": True, "bnb_4bit_quant_type": "nf4"},
    "double": {
        **{"load_in_4bit": True, "bnb_4bit_quant_type": "nf4", "bnb_4bit_use_double_quant": True},
        "bnb_4bit_compute_dtype": torch.bfloat16,
    },
    "int8": {"load_in_8bit": True},
}
PLACE = "cuda" if torch.cuda.is_available() else "cpu"
SENTENCES = [(edit.prompt, edit.target) for edit in EDITS]


@pytest.fixture(scope="session")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """A model of each kind in a folder, as users have them; the rest of it is in bfloat16."""
    pytest.importorskip("bitsandbytes", reason="needs `pip install bitsandbytes`")
    logging.getLogger("bitsandbytes").setLevel(logging.ERROR)
    base = tmp_path_factory.mktemp("quantized")
    plain = base / "plain"
    tiny_model("llama", dtype=torch.bfloat16, **SIZES).model.save_pretrained(plain)
    found = {"plain": plain}
    for kind, how in BITS.items():
        model = AutoModelForCausalLM.from_pretrained(
            plain, quantization_config=BitsAndBytesConfig(**how), device_map={"": PLACE}, dtype=torch.bfloat16
        )
        model.save_pretrained(base / kind)
        found[kind] = base / kind
    for folder in found.values():
        tiny_tokenizer().save_pretrained(folder)
    return found


@pytest.mark.parametrize("kind", BITS)
def test_quantized_folders_are_asked(kind, folders):
    loaded = load(str(folders[kind]), device=PLACE, dtype="float32")
    # What is not quantized keeps the type in which it is stored, whatever is asked for.
    assert loaded.dtype == loaded.model.get_input_embeddings().weight.dtype == torch.bfloat16
    assert loaded.change_dtype == torch.float32
    plain = load(str(folders["plain"]), device=PLACE, dtype="bfloat16")
    assert loaded.digest != plain.digest
    asked = [align(loaded.tokenizer, *sentence) for sentence in SENTENCES]
    found, whole = score(loaded, asked), score(plain, asked)
    assert abs(found.logprob - whole.logprob).max() < 2
    assert (found.logprob != whole.logprob).any()
    context = align(loaded.tokenizer, *SENTENCES[0], context="Marta Kowalska lives in New Orleans. ")
    assert score(loaded, [context]).logprob[0] != found.logprob[0]
    said = continued(loaded, [one.ids for one in asked], [3] * len(asked))
    assert [len(tokens) for tokens in said] == [3] * len(asked)


@pytest.mark.parametrize("kind", BITS)
@pytest.mark.parametrize("method", ["lora", "grace"])
def test_what_is_trained_beside_quantized_weights_makes_the_target_likely(kind, method, folders):
    loaded = load(str(folders[kind]), device=PLACE)
    sentences = [align(loaded.tokenizer, *sentence) for sentence in SENTENCES]
    before = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    start = score(loaded, sentences).logprob  # bitsandbytes packs matrices when they are first used
    # In 8 bits what enters a module differs by 1 to 2 with the other rows of the batch.
    changes = {"lora": {"steps": 15, "lr": 0.03}, "grace": {"layer": 1, "steps": 40, "radius": 10}}
    hyper = read_hyper(method, "tiny", changes[method])
    check_layers(loaded, hyper)
    made = edited(loaded, EDITS, hyper, tiny_artefacts(loaded))
    assert not made.failed
    after = score(loaded, sentences, made.changes, list(range(len(EDITS)))).logprob
    assert (after - start).min() > 1
    assert all(torch.equal(value, before[name]) for name, value in loaded.model.state_dict().items())


@pytest.mark.parametrize("kind", BITS)
def test_nothing_is_written_into_quantized_weights(kind, folders):
    loaded = load(str(folders[kind]), device=PLACE)
    name = loaded.spec.module(0, loaded.spec.down)
    change = {name: LowRank(torch.zeros(1, 256, 1), torch.zeros(1, 128, 1))}
    with pytest.raises(CannotEdit, match=r"the weight of model\.layers\.0\.mlp\.down_proj is quantized"):
        matrix(loaded.model, name)
    with pytest.raises(CannotEdit, match="is quantized"), written(loaded.model, change, 0):
        pass
    with pytest.raises(CannotEdit, match="is quantized"):
        edited_matrices(loaded, 1)
    with pytest.raises(CannotEdit, match=r"its weights are quantized.*or use none, lora, grace, prompt, rag"):
        edited(loaded, EDITS, tiny_hyper("rome"), tiny_artefacts(loaded))


def test_a_quantized_model_is_read_onto_its_device_and_never_moved():
    place = torch.device("cuda:0")
    config = SimpleNamespace(quantization_config={"quant_method": "awq", "bits": 4})
    model = SimpleNamespace(config=config, to=Mock(side_effect=ValueError("`.to` is not supported")))
    assert spreading([place], model.config) == {"device_map": {"": place}}
    assert placed(model, "it", [place]) == (model, [place])
    assert spreading([place], tiny_model("llama").model.config) == {}


def test_a_quantized_checkpoint_is_loaded_as_a_quantized_model(tmp_path, monkeypatch):
    """By its own configuration, not by that of the model from which it was made."""
    base, folder = saved(tmp_path / "base"), saved(tmp_path / "made", dtype=torch.bfloat16)
    config = json.loads((folder / "config.json").read_text())
    how = {"quant_method": "fp8", "weight_block_size": [128, 128]}
    (folder / "config.json").write_text(json.dumps(config | {"quantization_config": how}))
    asked: list[Any] = []

    def read(source: str, **given: Any) -> Any:
        asked.append(given.get("device_map"))
        model = tiny_model("llama", dtype=torch.bfloat16, positions=192, quantization_config=how).model
        return model, {"missing_keys": (), "mismatched_keys": (), "unexpected_keys": ()}

    monkeypatch.setattr(AutoModelForCausalLM, "from_pretrained", read)
    loaded = load_checkpoint(folder, str(base), device="cpu", dtype="float32")
    assert loaded.dtype == torch.bfloat16
    assert asked == [{"": torch.device("cpu")}]


@pytest.mark.parametrize(("method", "values"), [("lora", {}), ("grace", {"layer": 1})])
def test_nothing_is_trained_through_weights_that_bitsandbytes_has_not_quantized(method, values):
    loaded = tiny_model("llama", quantization_config={"quant_method": "fp8"})
    with pytest.raises(CannotEdit, match=rf"{method} on tiny-llama: .* not 8 bits \(fp8\); give the mo"):
        check_layers(loaded, read_hyper(method, "tiny", values))
    check_layers(loaded, read_hyper("prompt", "tiny"))


def test_how_weights_are_quantized_is_described():
    for how, said in (
        (None, ""),
        ({"quant_method": "gptq", "bits": 4}, "4 bits (gptq)"),
        ({"quant_method": "compressed-tensors"}, "(compressed-tensors)"),
        ({"quant_method": "bitsandbytes", "load_in_8bit": True}, "8 bits (bitsandbytes)"),
        (
            BitsAndBytesConfig(**BITS["double"]),
            "4 bits (bitsandbytes, nf4, scales in 8 bits, computed in bfloat16)",
        ),
    ):
        assert described(SimpleNamespace(quantization_config=how)) == said
