"""Published folders load unchanged with the libraries that people use."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import duckdb
import pandas
import pyarrow.parquet as pq
import pytest

from .conftest import ROWS

SPLITS = {
    "wikifactdiff": {"train": 2, "test": 1},
    "wfd_repl": {"train": 1},
    "klob": {"c": 2, "r": 1, "u": 1},
    "tempripple": {"test": 2},
    "stream": {"train": 3},
}


def test_one_folder_for_each_data_set(published: Path) -> None:
    assert {path.name for path in published.iterdir()} == SPLITS.keys()


@pytest.mark.parametrize("name", SPLITS)
def test_datasets(name: str, published: Path, load: Callable[..., Any]) -> None:
    found = load(published / name)
    assert {split: len(rows) for split, rows in found.items()} == SPLITS[name]
    for split, rows in found.items():
        stored = pq.read_table(sorted((published / name / "data").glob(f"{split}-*.parquet")))
        assert rows.column_names == stored.column_names
        assert rows.to_list() == stored.to_pylist()


def test_the_flat_table_is_a_second_configuration(published: Path, load: Callable[..., Any]) -> None:
    assert load(published / "wikifactdiff", "updates")["full"]["subject"] == ["Land 1", "Land 2", "Land 3"]


@pytest.mark.parametrize("name", SPLITS)
def test_polars_pandas_and_duckdb(name: str, published: Path) -> None:
    import polars

    data = published / name / "data"
    rows = [row for path in sorted(data.iterdir()) for row in pq.read_table(path).to_pylist()]
    assert len(rows) == sum(SPLITS[name].values())
    assert polars.read_parquet(f"{data}/*.parquet").to_dicts() == rows
    assert duckdb.sql(f"SELECT * FROM '{data}/*.parquet'").to_arrow_table().to_pylist() == rows
    frame = pandas.read_parquet(data)
    assert len(frame) == len(rows)
    if "objects" in frame:
        labels = [[value["label"] for value in objects] for objects in frame["objects"]]
        assert labels == [[value["label"] for value in row["objects"]] for row in rows]


def test_csv(published: Path) -> None:
    frame = pandas.read_csv(published / "wikifactdiff" / "updates.csv")
    assert list(frame["new"]) == ["Bob"] * 3
    path = published / "wikifactdiff" / "updates.csv"
    query = f"SELECT old, old_end::VARCHAR FROM '{path}' ORDER BY subject LIMIT 1"
    assert duckdb.sql(query).fetchall() == [("Ann", "2021-01-20")]


def test_rows_are_those_of_the_products(published: Path) -> None:
    for name in ("klob_c", "tempripple"):
        schema, rows = ROWS[f"{name}.parquet"]
        folder, split = ("klob", "c") if name == "klob_c" else ("tempripple", "test")
        (shard,) = (published / folder / "data").glob(f"{split}-*")
        assert pq.read_table(shard).to_pylist() == rows
        assert pq.read_schema(shard).equals(schema)
