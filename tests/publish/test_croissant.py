"""Croissant metadata, judged by the library of its makers."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

from .conftest import update


@pytest.fixture(scope="module")
def described(published: Path) -> Any:
    import mlcroissant

    return {path.name: mlcroissant.Dataset(str(path / "croissant.json")) for path in published.iterdir()}


def test_no_fault_is_found(described: Any) -> None:
    for name, dataset in described.items():
        issues = dataset.metadata.ctx.issues
        assert not issues.errors, name
        # Only who publishes knows the day.
        assert all("datePublished" in warning for warning in issues.warnings), issues.warnings


def test_records_are_read(described: Any) -> None:
    rows = {row["data/subject"]["data/subject/id"]: row for row in described["wikifactdiff"].records("data")}
    assert sorted(rows) == [b"Q1", b"Q2", b"Q3"]
    row, wanted = rows[b"Q1"], update(1)
    assert row["data/update_prompt"].decode() == wanted["update_prompt"]
    assert [each["data/objects/label"] for each in row["data/objects"]] == [b"Ann", b"Bob"]
    (near,) = row["data/neighborhood"]
    assert near["data/neighborhood/subject.label"] == b"France"
    assert near["data/neighborhood/objects.object.label"] == b"Ada | Eve"
    assert near["data/neighborhood/objects.dist"] == 0.25
    assert [row["updates/new"] for row in described["wikifactdiff"].records("updates")] == [b"Bob"] * 3
    (first, *_) = described["klob"].records("data")
    assert [each["data/sentences/place"] for each in first["data/sentences"]] == [1, 2]
    assert len(list(described["tempripple"].records("data"))) == 2


@pytest.mark.parametrize("name", ["wikifactdiff", "wfd_repl", "klob", "tempripple", "stream"])
def test_every_column_and_field_is_described(name: str, published: Path) -> None:
    metadata = json.loads((published / name / "croissant.json").read_text("utf-8"))
    for record_set in metadata["recordSet"]:
        for field in record_set["field"]:
            assert field["description"], field["@id"]
            for inner in field.get("subField", ()):
                assert inner["description"] or field["name"] in ("subject", "relation"), inner["@id"]
    (first, *_) = metadata["recordSet"]
    shard = next((published / name / "data").iterdir())
    assert [field["name"] for field in first["field"]] == pq.read_schema(shard).names
