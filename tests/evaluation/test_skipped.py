"""Methods that cannot edit a model: skipped with the reason, by every job that could meet one."""

import csv
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.asking import Job, command, saved, scoring
from support.commands import files, printed
from support.tiny_models import tiny_tokenizer
from support.updates import CLOZES, RULERS, edits, update
from transformers import AutoConfig, AutoModelForCausalLM

from factdrift.cli import main
from factdrift.core.errors import CannotEdit, InputError
from factdrift.evaluation.methods.record import Skipped
from factdrift.evaluation.scores.costs import skipped_among, write_costs
from factdrift.evaluation.scores.groups import Group
from factdrift.evaluation.scores.table import ACCURACIES, COLUMNS, EDITS, lines, write_report
from factdrift.models import moments


@pytest.fixture(scope="module")
def world(tmp_path_factory) -> Path:
    """A folder with a model that normalises what its MLPs put out, edits, and prefixes for it."""
    folder = tmp_path_factory.mktemp("world")
    saved(folder / "model", "olmo2")
    edits(folder, limit=2)
    line = ["prefixes", "--method=memit", "--set", '{"prefixes": []}', "--model", str(folder / "model")]
    assert main(["edit", *line, "--settings", '{"device": "cpu"}', "-o", str(folder / "prefixes.json")]) == 0
    return folder


def run(world: Path, out: Path, method: str, *options: str, code: int = 0, **settings: Any) -> Job:
    edits = [world / "edits.parquet"]
    return command(world / "model", out / "job", "updates", edits, method, *options, code=code, **settings)


def test_a_strict_job_and_a_wrong_value_fail_instead(world, tmp_path, capsys):
    run(world, tmp_path, "prompt", "--strict", regime="sequential", code=1)
    said = capsys.readouterr().err
    assert "edit.regime: sequential: prompt cannot edit so" in said
    assert "sequential for all but none, prompt; " in said
    run(world, tmp_path, "ft", "--set", '{"layers": [9]}', code=1)
    assert "has no block 9" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert "cannot edit so" in run(world, tmp_path, "prompt", regime="sequential").about["skipped"]


def account(folder: Path, model: str, method: str, **more: Any) -> Path:
    path = folder / f"{model}.{method}.json"
    batch = {"edits": 2, "edit_seconds": 1.0, "evaluation_seconds": 1.0, "peak_mb": 5.0}
    batches = [] if "skipped" in more else [batch]
    path.write_text(json.dumps({"model": model, "method": method, "batches": batches, **more}))
    return path


def test_the_tables_name_what_was_skipped_and_what_was_derived(tmp_path):
    jobs = [
        account(tmp_path, "one", "rome", source="derived, not tuned: layer 5 of 28", derived=["layer"]),
        account(tmp_path, "one", "memit", skipped="it is post-norm"),
        account(tmp_path, "one", "ft", source="published", derived=[]),
        account(tmp_path, "two", "rome", skipped="no such matrix"),
    ]
    costs = tmp_path / "costs.json"
    planned = [Skipped("two", "magic", "no values")]
    found = write_costs(jobs, costs, planned)
    assert found == skipped_among(json.loads(costs.read_text()))
    assert [each[:2] for each in found] == [("one", "memit"), ("two", "rome"), ("two", "magic")]
    spent = {(each["model"], each["method"]): each for each in json.loads(costs.read_text())}
    row = {"failed": None, "template": "none", **dict.fromkeys((*COLUMNS, *ACCURACIES), 1.0)}
    methods = ("none", "ft", "rome")
    groups = [Group("one", "replace", each, [row], spent.get(("one", each), {})) for each in methods]
    text = list(lines(EDITS[0], groups, found))
    assert sum(line.startswith("ROME* ") for line in text) == 3
    assert text.count("ROME* derived, not tuned: layer 5 of 28") == 1
    assert not [line for line in text if line.startswith("FT*")]
    assert text.count("MEMIT skipped: it is post-norm") == 1
    assert text[-3:] == ["two, no method", "ROME skipped: no such matrix", "magic skipped: no values"]
    write_report(EDITS[0], groups, tmp_path, found)
    with (tmp_path / "table6.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert [(each["model"], each["method"], each["source"], each["skipped"]) for each in rows] == [
        ("one", "none", "", ""),
        ("one", "ft", "published", ""),
        ("one", "rome", "derived, not tuned: layer 5 of 28", ""),
        ("one", "memit", "", "it is post-norm"),
        ("two", "rome", "", "no such matrix"),
        ("two", "magic", "", "no values"),
    ]
    assert all(None not in each and None not in each.values() for each in rows)


def test_a_run_in_which_no_method_can_edit_fails(tmp_path):
    jobs = [account(tmp_path, "one", "rome", skipped="no such matrix")]
    said = r"none of them can edit .*: rome on one: no such matrix; ft on one: x"
    with pytest.raises(InputError, match=said):
        write_costs(jobs, tmp_path / "costs.json", [Skipped("one", "ft", "x")])
    assert not (tmp_path / "costs.json").exists()
    jobs.append(account(tmp_path, "one", "prompt"))
    with pytest.raises(CannotEdit, match="`strict` forbids: rome on one: no such matrix"):
        write_costs(jobs, tmp_path / "costs.json", strict=True)
    assert not (tmp_path / "costs.json").exists()
    assert write_costs(jobs, tmp_path / "costs.json") == [Skipped("one", "rome", "no such matrix")]
    assert write_costs(jobs[1:], tmp_path / "costs.json", strict=True) == []


def test_costs_have_each_interval_of_a_stream(tmp_path):
    path = tmp_path / "job.json"
    batch = {"edits": 2, "edit_seconds": 3.0, "evaluation_seconds": 1.0, "peak_mb": 5.0, "interval": 1}
    batches = [batch, batch | {"interval": 2, "left_out": 4}]
    path.write_text(json.dumps({"model": "one", "method": "rag", "batches": batches}))
    write_costs([path], tmp_path / "costs.json")
    (found,) = json.loads((tmp_path / "costs.json").read_text())
    assert (found["edits"], found["edit_seconds"], found["left_out"]) == (4, 6.0, 4)
    assert found["intervals"] == batches


def test_mend_is_skipped_where_too_few_facts_are_left_to_train_it(world, tmp_path):
    rows = [update(subject, number) for number, subject in enumerate(RULERS, start=1)]
    for row in rows:
        row["neighborhood"] = row["random_neighborhood"] = []
    table = edits(tmp_path, rows).with_name("dataset.parquet")
    templates = [{"property": 6, "rank": rank, "template": text} for rank, text in enumerate(CLOZES)]
    pq.write_table(pa.Table.from_pylist(templates), tmp_path / "templates.parquet")
    line = ["edit", "train-editor", "--method=mend", f"--dataset={table}", f"--model={world / 'model'}"]
    line += files(tmp_path, edits="edits.parquet", templates="templates.parquet", out_split="split.json")
    said = printed(*line, '--settings={"device": "cpu"}', f"--output={tmp_path / 'mend'}")
    assert "too few to train the editor of mend" in said
    assert json.loads((tmp_path / "split.json").read_text(encoding="utf-8"))["train"] == []
    job = run(world, tmp_path, "mend", f"--editor={tmp_path / 'mend'}")
    assert "too few to train the editor of mend" in job.about["skipped"]


def test_a_model_that_cannot_be_run_is_skipped_with_all_of_its_methods(world, tmp_path, capsys):
    """One of a family that is not supported, and one that does not write text from text alone."""
    folder = tmp_path / "bloom"
    config = AutoConfig.for_model("bloom", hidden_size=24, n_layer=2, n_head=4, vocab_size=340, seq_length=96)
    AutoModelForCausalLM.from_config(config).save_pretrained(folder)
    tiny_tokenizer().save_pretrained(folder)
    vision = tmp_path / "vision"
    shutil.copytree(folder, vision)
    (vision / "config.json").write_text('{"model_type": "qwen2_5_vl"}', encoding="utf-8")
    edits = world / "edits.parquet"
    asked = [(world / "model", "none"), (vision, "none")]
    asked[1:1] = [(folder, method) for method in ("none", "ft", "rome")]
    jobs = [
        command(model, tmp_path / f"{model.name}-{method}", "updates", [edits], method, written_tokens=1)
        for model, method in asked
    ]
    of = ["--model", str(folder), '--settings={"device": "cpu"}']
    assert main(["edit", "prefixes", *of, "--method=rome", "-o", str(tmp_path / "prefixes.json")]) == 0
    assert main(["models", "moments", *of, "--sampled", "-o", str(tmp_path / "moments")]) == 0
    refused = "of the family 'bloom', which is not in"
    assert refused in (tmp_path / "prefixes.json").read_text(encoding="utf-8")
    needs = [f"--moments={tmp_path / 'moments'}", f"--prefixes={world / 'prefixes.json'}"]
    reason = run(world, tmp_path / "rome", "rome", *needs).about["skipped"]
    assert refused in reason
    # A block that has moments is not skipped for another's sake.
    (tmp_path / "moments" / "0.safetensors").touch()
    moments.check_counted(tmp_path / "moments", [0])
    with pytest.raises(CannotEdit):
        moments.check_counted(tmp_path / "moments", [0, 1])
    of[1] = str(world / "model")
    (tmp_path / "strange").mkdir()
    (tmp_path / "strange" / "0.safetensors").write_text("mine")
    assert main(["models", "moments", *of, "--sampled", "-o", str(tmp_path / "strange")]) == 1
    capsys.readouterr()
    given = ["--edits", edits, *scoring(jobs, tmp_path), "--costs", *(job.path("json") for job in jobs)]
    given += ["--methods", "none", "ft", "rome", "--models", world / "model", folder, vision]
    said = printed("edit", "scores", *given)
    assert f"skipped: none, ft, rome on {folder}: models: {folder} is of the family 'bloom'" in said
    assert f"skipped: none on {vision}: models: {vision} is of the type 'qwen2_5_vl', for which" in said
    assert set(pq.read_table(tmp_path / "scores.parquet")["model"].to_pylist()) == {str(world / "model")}
    assert len(skipped_among(json.loads((tmp_path / "costs.json").read_text()))) == 4
    command(folder, tmp_path / "no", "updates", [edits], "ft", "--strict", code=1)
    assert not list(tmp_path.glob("no*"))
