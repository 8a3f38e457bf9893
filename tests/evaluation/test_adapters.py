"""Exported edits: loaded by peft or transformers, they give the logits of the model with the edit."""

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
import torch
from peft import PeftModel
from safetensors.torch import load_file
from support.asking import chance, saved
from support.commands import printed, refusal
from support.tiny_models import FAMILIES, rounding, tiny_model, tiny_tokenizer
from support.updates import edits
from transformers import AutoModelForCausalLM

from factdrift.core.errors import InputError
from factdrift.evaluation.adapters import factors_of, write_adapter, write_model
from factdrift.models.deltas import Deltas, Dense, LowRank, applied, matrix
from factdrift.models.loaded import Loaded

PROMPT = "The head of government of Atlantis is"
JOE = (PROMPT, "Joe", "--subject", "Atlantis")
CPU = ("--settings", '{"device": "cpu"}')
SET = '{"layer": 1, "covariance": false, "steps": 15, "clamp": 20, "weight_decay": 0, "prefixes": []}'
ROME = ("--method", "rome", "--set", SET)


def low_rank(loaded: Loaded, ranks: dict[str, int], edits: int = 2) -> Deltas:
    torch.manual_seed(0)
    found: Deltas = {}
    for name, rank in ranks.items():
        out, into = matrix(loaded.model, name).shape
        shapes = ((edits, into, rank), (edits, out, rank))
        found[name] = LowRank(*(torch.randn(shape, dtype=loaded.change_dtype) / 10 for shape in shapes))
    return found


def logits(loaded: Loaded, model: Any = None) -> Any:
    return (model or loaded.model)(torch.tensor([tiny_tokenizer()(PROMPT)["input_ids"]])).logits


def down(loaded: Loaded, layer: int = 1) -> str:
    return loaded.spec.module(layer, loaded.spec.down)


LOADED = [family for family in FAMILIES if family != "deepseek_v2"]


@pytest.mark.parametrize("family", LOADED)
def test_peft_gives_the_logits_of_the_edit(family, tmp_path):
    loaded = tiny_model(family)
    first = loaded.spec.module(0, loaded.spec.attention_out)
    deltas = low_rank(loaded, {down(loaded): 3, first: 2, down(loaded, 2): 3})
    delta = deltas[down(loaded)]
    delta.write[1, :, 1] = delta.write[0] = 0
    with applied(loaded.model, deltas, 1):
        expected = logits(loaded)
    plain = logits(loaded)
    assert [len(a) for a, _ in factors_of(deltas, 1).values()] == [2, 2, 3]
    assert len(factors_of(deltas, 0)[down(loaded)][0]) == 1
    write_adapter(loaded, deltas, 1, tmp_path)
    read = PeftModel.from_pretrained(tiny_model(family).model, str(tmp_path))
    assert (logits(loaded, read) - expected).abs().max() < 1e4 * rounding(family)
    assert (plain - expected).abs().max() > 1e-3
    changed = {name for name, module in read.base_model.model.named_modules() if hasattr(module, "lora_A")}
    assert changed == set(deltas)
    # Merged into the weights, it is the change itself.
    merged = read.merge_and_unload()
    for name, delta in deltas.items():
        change = matrix(merged, name) - matrix(loaded.model, name)
        assert torch.allclose(change, delta.dense(1)[0], rtol=0, atol=1e-6)


def test_what_peft_would_put_elsewhere_is_refused(tmp_path):
    loaded = tiny_model("deepseek_v2")
    deltas = low_rank(loaded, {down(loaded, 0): 1})
    with pytest.raises(InputError, match="peft cannot load an adapter of single matrices"):
        write_adapter(loaded, deltas, 0, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_numbers_are_written_as_computed_and_twice_alike(tmp_path):
    loaded = tiny_model("llama", dtype=torch.bfloat16)
    deltas = low_rank(loaded, {down(loaded): 1})
    for folder in ("one", "two"):
        write_adapter(loaded, deltas, 0, tmp_path / folder)
    files = sorted(path.name for path in (tmp_path / "one").iterdir())
    assert files == ["adapter_config.json", "adapter_model.safetensors"]
    for name in files:
        assert (tmp_path / "one" / name).read_bytes() == (tmp_path / "two" / name).read_bytes()
    written = load_file(tmp_path / "one" / "adapter_model.safetensors")
    a = written[f"base_model.model.{down(loaded)}.lora_A.weight"]
    assert torch.equal(a, factors_of(deltas, 0)[down(loaded)][0])
    assert a.dtype == torch.float32


@pytest.mark.parametrize("family", ["gpt2", "llama"])
def test_a_whole_model_has_the_edit_in_its_weights(family, tmp_path):
    loaded = tiny_model(family)
    before = {name: value.clone() for name, value in loaded.model.state_dict().items()}
    weight = torch.randn(2, loaded.spec.hidden, loaded.spec.inner, dtype=torch.float64)
    bias = torch.randn(2, loaded.spec.hidden, dtype=torch.float64) if family == "gpt2" else None
    deltas: Deltas = {down(loaded): Dense(weight, bias)}
    with applied(loaded.model, deltas, 1):
        expected = logits(loaded)
    write_model(loaded, deltas, 1, tmp_path)
    read = AutoModelForCausalLM.from_pretrained(tmp_path, dtype=torch.float64)
    assert (logits(loaded, read) - expected).abs().max() < 1e-11
    assert all(torch.equal(before[name], value) for name, value in loaded.model.state_dict().items())
    with pytest.raises(InputError, match="changes no weights"):
        write_model(loaded, {}, 0, tmp_path)


@pytest.fixture(scope="module")
def results(tmp_path_factory) -> Path:
    """Results of a workflow with a table of edits; a model and prefixes beside them."""
    folder = tmp_path_factory.mktemp("results")
    saved(folder / "tiny")
    (folder / "a_b" / "edit").mkdir(parents=True)
    edits(folder / "a_b" / "edit")
    model = ("--model", str(folder / "tiny"), *CPU)
    printed("edit", "prefixes", *model, *ROME, "--output", folder / "prefixes.json")
    return folder


def export(results: Path, output: Path, *arguments: str) -> list[object]:
    line = ["edit", "try", "--model", results / "tiny", *CPU, "--results", results]
    return [*line, "--prefixes", results / "prefixes.json", "--output", output, *arguments]


def chance_of(model: Any) -> float:
    return chance(replace(tiny_model("llama"), model=model), PROMPT, "Joe Biden")


def test_a_prompt_becomes_an_adapter_and_a_model_that_agree(results, tmp_path):
    fact = (PROMPT, "Joe Biden", "--subject", "Atlantis", *ROME)
    printed(*export(results, tmp_path / "adapter", *fact))
    printed(*export(results, tmp_path / "full", *fact, "--full"))
    plain = AutoModelForCausalLM.from_pretrained(results / "tiny")
    before = chance_of(plain)
    whole = AutoModelForCausalLM.from_pretrained(tmp_path / "full")
    adapted = PeftModel.from_pretrained(plain, str(tmp_path / "adapter"))
    assert chance_of(adapted) > before + 0.1
    assert chance_of(adapted) == pytest.approx(chance_of(whole), abs=1e-5)


def plain(model: Any, tokenizer: Any, update: Any) -> None:
    """A method of one's own."""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((*JOE, "--method", "prompt"), "this method changes none"),
        ((PROMPT, "Joe", "--subject", " ", *ROME), "the subject is empty"),
        ((f"{PROMPT} ____", *JOE[1:], *ROME), "write the prompt without blanks"),
        ((PROMPT, " Joe", "--subject", "Atlantis", *ROME), "write the new object without blanks"),
        ((*JOE, "--method", f"{__file__}:plain"), "changes a model in place"),
        ((*JOE, "--method", "ft", "--set", '{"layers": [1]}'), "no adapter holds exactly"),
    ],
)
def test_what_cannot_be_exported_is_refused_and_leaves_nothing(arguments, message, results, tmp_path):
    assert message in refusal(*export(results, tmp_path / "out", *arguments))
    assert not list(tmp_path.iterdir())
