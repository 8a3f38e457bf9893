"""Published folders load unchanged with the libraries that people use."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pyarrow.parquet as pq
import pytest
import yaml
from support import corpora

from factdrift.audit import of_folders

SPLITS = {
    "wikifactdiff": {"train": 2, "test": 1},
    "wfd_repl": {"train": 1},
    "klob": {"c": 2, "r": 1, "u": 1},
    "tempripple": {"test": 2},
    "stream": {"train": 3},
    "corpus": {"test": 14},
}


@pytest.mark.parametrize("name", SPLITS)
def test_datasets_polars_pandas_and_duckdb(name: str, published: Path, load: Callable[..., Any]) -> None:
    import polars

    found, data = load(published / name), published / name / "data"
    assert {split: len(rows) for split, rows in found.items()} == SPLITS[name]
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
    # Inspect's own class reads what it is told; its grader sees all names.
    hf = pytest.importorskip("inspect_ai._eval.task.hf")
    (task,) = yaml.safe_load((folder / "eval.yaml").read_text("utf-8"))["tasks"]
    spec = hf.HFTask.model_validate(task)
    rows = load(folder, spec.config)[spec.split].to_list()
    samples = [hf._record_to_sample_hf(row, spec.field_spec) for row in rows]
    assert [each.input for each in samples] == [row["question"] for row in rows]
    for row, sample in zip(rows, samples, strict=True):
        assert all(name in sample.target for name in row["answers"])


@pytest.mark.parametrize("name", ["wikifactdiff", "wfd_repl", "stream", "corpus"])
def test_the_audit_finds_no_fault_in_a_folder(name: str, published: Path) -> None:
    """It compares rows, schemas, checksums, numbers of the card and Croissant with the products."""
    assert {path.name for path in published.iterdir()} == SPLITS.keys()
    assert [fault.reason for fault in of_folders.folder(published / name, published.parent)] == []
