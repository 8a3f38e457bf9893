"""Published folders load unchanged with the libraries that people use."""

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pyarrow.parquet as pq
import pytest
from support import corpora, hub

SPLITS = {"wikifactdiff": {"train": 2, "test": 1}, "wfd_repl": {"train": 1}, "stream": {"train": 3}}
SPLITS |= {"klob": {"c": 2, "r": 1, "u": 1}, "tempripple": {"test": 2}, "corpus": {"test": 14}}


@pytest.mark.parametrize("name", SPLITS)
def test_datasets_polars_pandas_and_duckdb(name: str, published: Path, load: Callable[..., Any]) -> None:
    import polars

    found, data = load(published / name), published / name / "data"
    assert {split: len(rows) for split, rows in found.items()} == SPLITS[name]
    if name == "tempripple":
        (found["open"],) = load(published / name, "data_open").values()
    rows = [row for path in sorted(data.iterdir()) for row in pq.read_table(path).to_pylist()]
    assert [row for split in sorted(found) for row in found[split].to_list()] == rows
    assert polars.read_parquet(f"{data}/*.parquet").to_dicts() == rows
    assert duckdb.sql(f"SELECT * FROM '{data}/*.parquet'").to_arrow_table().to_pylist() == rows
    frame = pandas.read_parquet(data)
    assert len(frame) == len(rows)
    if "objects" in frame:
        labels = [[value["label"] for value in objects] for objects in frame["objects"]]
        assert labels == [[value["label"] for value in row["objects"]] for row in rows]


def test_the_flat_table_is_a_second_configuration_and_csv(published: Path, load: Callable[..., Any]) -> None:
    assert load(published / "wikifactdiff", "updates")["full"]["subject"] == ["Land 1", "Land 2", "Land 3"]
    path = published / "wikifactdiff" / "updates.csv"
    assert list(pandas.read_csv(path)["new"]) == ["Bob"] * 3
    query = f"SELECT old, old_end::VARCHAR FROM '{path}' ORDER BY subject LIMIT 1"
    assert duckdb.sql(query).fetchall() == [("Ann", "2021-01-20")]


def test_the_corpus_has_documents_timelines_and_half_lives(published: Path, load: Callable[..., Any]) -> None:
    folder = published / "corpus"
    sizes = {name: load(folder, name)["test"].num_rows for name in ("documents", "known", "half_life")}
    assert sizes == {"documents": len(corpora.documents()), "known": 1, "half_life": 1}


def tasks_of(folder: Path, cache: Path, monkeypatch: pytest.MonkeyPatch) -> list[Any]:
    """The tasks that Inspect makes of a folder on the hub."""
    import huggingface_hub

    hf = pytest.importorskip("inspect_ai._eval.task.hf")
    read = hf.hf_dataset

    def local(path: str, revision: str, **given: Any) -> Any:
        return read(str(folder), cached=False, cache_dir=str(cache), **given)

    with monkeypatch.context() as patch:
        patch.setattr(huggingface_hub, "hf_hub_download", lambda **_: folder / "eval.yaml")
        patch.setattr(hf, "hf_dataset", local)
        tasks: list[Any] = hf.task_create_from_hf("hf/someone/folder")
    return tasks


def test_inspect_asks_the_questions_of_a_folder(published, monkeypatch, tmp_path):
    found = {}
    for name in ("wfd_repl", "tempripple", "stream", "corpus"):
        tasks = tasks_of(published / name, tmp_path, monkeypatch)
        found[name] = {task.name.rpartition("/")[2]: task for task in tasks}
    (ripples,) = found["wfd_repl"].values()
    assert [sample.input for sample in ripples.dataset] == [f"Land {n} is led by ____" for n in (1, 2)]
    assert "Ann 1" in ripples.dataset[0].target
    assert "A. 1" in ripples.dataset[0].target
    (corpus,) = found["corpus"].values()
    rows = pq.read_table(published / "corpus/data").to_pylist()
    assert [each.input for each in corpus.dataset] == [row["question"] for row in rows]
    for row, sample in zip(rows, corpus.dataset, strict=True):
        assert all(name in sample.target for name in row["answers"])
    # Items without options are a configuration of their own, if there are any.
    assert list(found["stream"]) == ["asof_without", "asof_with"]
    sizes = {name: len(task.dataset) for name, task in found["tempripple"].items()}
    assert sizes == {"tempripple_without": 2, "tempripple_with": 2, "tempripple_open": 1}
    (sample,) = found["tempripple"]["tempripple_open"].dataset
    assert (sample.input, sample.target, sample.choices) == ("Who leads land 2?", "Caesar", None)


FROM_THE_HUB = """
import importlib, json, datasets
datasets.disable_progress_bars()
load = lambda *name: datasets.load_dataset("someone/tempripple", *name)["test"].num_rows
tasks = importlib.import_module("inspect_ai._eval.task.hf").task_create_from_hf("hf/someone/tempripple")
print(json.dumps([load(), load("data_open"), {task.name: len(task.dataset) for task in tasks}]))
"""


@pytest.mark.slow
def test_an_uploaded_folder_is_read_through_the_hub(published: Path, tmp_path: Path) -> None:
    """With the clients' own requests, which read the hub's address when they are imported."""
    pytest.importorskip("inspect_ai")
    own = {"HF_HOME": str(tmp_path), "HF_HUB_OFFLINE": "0", "HF_DATASETS_OFFLINE": "0"}
    with hub.serving(published / "tempripple", "someone/tempripple") as address:
        command = [sys.executable, "-c", FROM_THE_HUB]
        variables = os.environ | own | {"HF_ENDPOINT": address}
        ended = subprocess.run(command, env=variables, capture_output=True, text=True, check=False)
    assert ended.returncode == 0, ended.stderr[-4000:]
    with_options, without_options, tasks = json.loads(ended.stdout.splitlines()[-1])
    assert (with_options, without_options) == (2, 1)
    sizes = (("without", 2), ("with", 2), ("open", 1))
    assert tasks == {f"hf/someone/tempripple/tempripple_{way}": rows for way, rows in sizes}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_the_context_stands_before_the_question_and_the_right_letter_counts(published, monkeypatch, tmp_path):
    inspect_ai = pytest.importorskip("inspect_ai")
    from inspect_ai.model import ModelOutput, ModelUsage, get_model

    monkeypatch.chdir(tmp_path)
    for task in tasks_of(published / "tempripple", tmp_path, monkeypatch)[:2]:
        answers = [ModelOutput.from_content("mock", f"ANSWER: {letter}") for letter in "CA"]
        for answer in answers:
            answer.usage = ModelUsage()  # Inspect would fetch a tokenizer to count them
        model = get_model("mockllm/model", custom_outputs=answers)
        (log,) = inspect_ai.eval(task, model=model, display="none", max_connections=1, max_samples=1)
        assert log.status == "success", log.error
        asked = [sample.messages[0].text for sample in log.samples]
        for number, text in zip((1, 3), asked, strict=True):
            assert f"Who leads land {number}?" in text
            assert (f"Land {number} is led by c." in text) == task.name.endswith("_with")
        (metric,) = [score.metrics["accuracy"].value for score in log.results.scores]
        assert metric == 0.5
