"""Editing methods of the user's own in the real workflow, on a random model that needs no training."""

import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.own_methods import install, write_examples
from support.workflow import jobs, snakemake

SCORES = "results/edit_scores.parquet"
METHODS = ["none", "ft", "mine.py:edit", "batched.py:edit", "elsewhere"]
VALUES: dict[str, Any] = {"lr": 0.05, "steps": 8}


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A working directory with a model, a dataset and the documents' examples; a package in `site`."""
    torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
    from support.tiny_models import tiny_model, tiny_tokenizer
    from support.updates import dataset

    folder = write_examples(tmp_path_factory.mktemp("own"))
    tiny_model("llama", dtype=torch.float32).model.save_pretrained(folder / "tiny")
    tiny_tokenizer().save_pretrained(folder / "tiny")
    dataset(folder / "dataset.parquet")
    install(folder / "site")
    return folder


@pytest.fixture(autouse=True)
def _installed(world: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{world}/site{os.pathsep}{os.environ.get('PYTHONPATH', '')}")


def config(**changes: Any) -> dict[str, Any]:
    edit = {"dataset": "dataset.parquet", "fluency_sample": 0.5, "length": 20, "device": "cpu", "threads": 1}
    given = {"models": ["tiny"], "methods": METHODS, "edit": edit, "ft": {"layers": [0], **VALUES}}
    return given | {"mine": VALUES, "batched": {"layer": 1}, "elsewhere": {"lr": 0.05}} | changes


@pytest.mark.slow
def test_jobs_of_own_methods(world):
    found = jobs(snakemake(world, SCORES, "--dry-run", "--quiet", "rules", **config()))
    assert (found["evaluate"], found.get("edit_prefixes")) == (5, None)
    wrong = config(mine={"stepz": 1})
    said = snakemake(world, "results/wfd_repl.parquet", "--dry-run", fails=True, **wrong)
    assert "configuration: mine.stepz: no such key (did you mean steps?); there are layer, lr" in said


@pytest.mark.slow
def test_own_methods_have_the_same_tables(world):
    (world / "site/own_package/__init__.py").write_text("", encoding="utf-8")
    (world / "beside.py").write_text("", encoding="utf-8")
    text = (world / "mine.py").read_text(encoding="utf-8")
    (world / "mine.py").write_text(f"import beside\n{text}", encoding="utf-8")
    snakemake(world, SCORES, **config())
    text = next((world / "results").glob("*/edit/table6.txt")).read_text(encoding="utf-8")
    rows = [re.split("  +", line) for line in text.splitlines()]
    # Behind what was written two rows of numbers.
    for name in ("FT", "mine", "batched", "elsewhere"):
        assert [len(row) for row in rows if row[0] == name][-2:] == [10, 10]
    scores = pq.read_table(world / SCORES).to_pandas()
    names = ("none", "ft", "mine", "batched", "elsewhere")
    assert scores.groupby("method").size().to_dict() == dict.fromkeys(names, 5)
    # That the plain one is FT, tests/evaluation/test_own_methods.py says.
    assert scores.groupby("method")["efficacy_d"].mean()["batched"] > 0
    costs = json.loads(next((world / "results").glob("*/edit/costs.json")).read_text(encoding="utf-8"))
    assert {cost["method"]: cost["hyper"] for cost in costs}["elsewhere"] == {"layer": 0, "lr": 0.05}
    # What imports a file from beside it is run again when that changes, and nothing else.
    (world / "beside.py").write_text("changed = 1\n", encoding="utf-8")
    found = jobs(snakemake(world, SCORES, "--dry-run", **config()))
    assert (found["evaluate"], found["edit_scores"]) == (1, 1)
    (world / "beside.py").write_text("", encoding="utf-8")
    assert "Nothing to be done" in snakemake(world, SCORES, "--dry-run", **config())
    # So is what has a changed function or file of hyper-parameters.
    for name, old, new in (
        ("mine.py", "loss < stop_loss", "loss <= stop_loss"),
        ("batched.yaml", "default: 10", "default: 11"),
    ):
        text = (world / name).read_text(encoding="utf-8")
        (world / name).write_text(text.replace(old, new), encoding="utf-8")
    found = jobs(snakemake(world, SCORES, "--dry-run", **config()))
    assert (found["evaluate"], found["edit_scores"]) == (2, 1)
    # Weights that take the place of a model's are noticed, also if they are older than all results.
    weights = world / "tiny" / "model.safetensors"
    tensors = bytearray(weights.read_bytes())
    tensors[-4:] = bytes(4)
    weights.write_bytes(tensors)
    os.utime(weights, (1, 1))
    found = jobs(snakemake(world, SCORES, "--dry-run", **config()))
    assert (found["evaluate"], found["edit_scores"]) == (5, 1)
