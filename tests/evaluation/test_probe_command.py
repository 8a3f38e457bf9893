"""`factdrift edit probe`: checkpoints and adapters edited elsewhere, against weights changed here."""

import json
import math
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
import torch
from safetensors.torch import load_file
from support.asking import Job, chance, saved, scoring
from support.commands import files, printed, refusal
from support.peft_models import write_adapted
from support.tiny_models import tiny_model, tiny_tokenizer
from support.updates import edits

from factdrift.core.errors import InputError
from factdrift.evaluation.tables import TABLES
from factdrift.models.loading import load_checkpoint

DOWN = "model.layers.1.mlp.down_proj"
KEYS = {"device": "cpu", "dtype": "float32", "length": 20, "batch": 2, "written_tokens": 4}


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """Edits; a model; the same with one matrix changed, as a checkpoint and as an adapter; their scores."""
    folder = tmp_path_factory.mktemp("world")
    edits(folder, fluency_sample=0.5)
    saved(folder / "base")
    write_adapted(folder, str(folder / "base"))
    probed(folder, "edited", "--base", str(folder / "base"), "--name", "theirs", to="whole")
    return folder


def probing(world: Path, folder: str, *options: str, to: str = "out") -> list[str]:
    paths = files(world, model=folder, edits="edits.parquet", output=to)
    return ["edit", "probe", *paths, f"--settings={json.dumps(KEYS)}", *options]


def probed(world: Path, folder: str, *options: str, to: str = "out") -> Path:
    """The folder that the command writes."""
    printed(*probing(world, folder, *options, to=to))
    return world / to


def scores(folder: Path) -> list[dict[str, Any]]:
    return pq.read_table(folder / "edit_scores.parquet").to_pylist()


def test_probes_of_a_checkpoint_are_those_of_its_weights(world, tmp_path):
    folder = world / "whole"
    for what, schema in TABLES.items():
        assert pq.read_schema(folder / f"theirs/0-of-1.{what}.parquet").equals(schema)
    loaded = tiny_model("llama", dtype=torch.float32)
    chances = []
    for state in ("base", "edited"):
        matrix = load_file(world / state / "model.safetensors")[f"{DOWN}.weight"]
        loaded.model.get_submodule(DOWN).weight.data.copy_(matrix)
        chances.append(math.exp(chance(loaded, "The head of government of Atlantis is", "Joe Biden")))
    rows = {(row["method"], row["edit"]): row for row in scores(folder)}
    assert len(rows) == 2 * 5
    row = rows["theirs", "Q1-P6"]
    assert [row["p_new_before"], row["p_new"]] == pytest.approx(chances, rel=1e-4)
    assert abs(chances[0] - chances[1]) > 1e-3 * chances[0]
    assert (row["regime"], row["group"], row["model"]) == ("checkpoint", 5, str(world / "base"))
    assert rows["none", "Q1-P6"]["model_digest"] != row["model_digest"]
    table = (folder / "table6.txt").read_text(encoding="utf-8")
    assert [line.split()[0] for line in table.splitlines() if "±" in line] == ["no", "theirs"] * 2


def test_the_same_tables_come_from_the_commands_for_workflow_results(world, tmp_path):
    folder = world / "whole"
    line = ["edit", "scores", "--models", world / "base", "--methods", "none", "theirs"]
    line += ["--edits", folder / "edits.parquet"]
    printed(*line, *scoring([Job(folder / name / "0-of-1") for name in ("none", "theirs")], tmp_path))
    assert pq.read_table(tmp_path / "scores.parquet").equals(pq.read_table(folder / "edit_scores.parquet"))
    assert (tmp_path / "table6.csv").read_bytes() == (folder / "table6.csv").read_bytes()


def test_an_adapter_is_merged_into_the_model_that_it_names(world):
    whole = {(row["method"], row["edit"]): row for row in scores(world / "whole")}
    found = scores(probed(world, "adapter"))
    assert {row["method"] for row in found} == {"none", "adapter"}
    for row in found:
        other = whole["none" if row["method"] == "none" else "theirs", row["edit"]]
        for column in ("efficacy_d", "generalization_d", "bleedover_nearest", "p_new"):
            assert row[column] == pytest.approx(other[column], rel=1e-4, abs=1e-7)


def test_only_some_edits(world):
    base = ("--base", str(world / "base"))
    some = scores(probed(world, "edited", *base, "--only", "Q4-P6", "Q2-P6", "--name", "x"))
    assert [row["edit"] for row in some] == ["Q2-P6", "Q4-P6"] * 2
    assert {row["group"] for row in some} == {None, 2}


def test_what_cannot_be_probed_is_refused(world):
    base = ("--base", str(world / "base"))
    saved(world / "small", layers=2)
    (world / "damaged").mkdir(exist_ok=True)
    (world / "damaged/adapter_config.json").write_text("{", encoding="utf-8")
    (world / "empty").mkdir(exist_ok=True)
    (world / "prompts").mkdir(exist_ok=True)
    about = {"peft_type": "PREFIX_TUNING", "task_type": "CAUSAL_LM", "num_virtual_tokens": 2}
    (world / "prompts/adapter_config.json").write_text(json.dumps(about), encoding="utf-8")
    for folder, options, said in (
        ("edited", (), "--base: name the model from which the checkpoint was made"),
        ("edited", (*base, "--name", "none"), "`none` is the model without edits"),
        ("edited", (*base, "--only", "Q9-P6"), "has no edit Q9-P6"),
        ("small", base, "is of another architecture or size"),
        ("empty", base, "cannot be loaded"),
        ("nowhere", base, "nowhere: no such folder"),
        ("damaged", base, "is no configuration of an adapter"),
        ("prompts", base, "puts trained vectors before each prompt"),
    ):
        assert said in refusal(*probing(world, folder, *options))


def test_a_tokenizer_with_other_tokens_is_refused(world, tmp_path):
    other = json.loads(tiny_tokenizer().backend_tokenizer.to_str())
    saved(tmp_path)
    vocab = other["model"]["vocab"]
    first, second = list(vocab)[300:302]
    vocab[first], vocab[second] = vocab[second], vocab[first]
    (tmp_path / "tokenizer.json").write_text(json.dumps(other), encoding="utf-8")
    with pytest.raises(InputError, match="has other tokens than that of"):
        load_checkpoint(tmp_path, str(world / "base"), device="cpu")
