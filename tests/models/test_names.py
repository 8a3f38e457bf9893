"""The files behind a model's name, and rows of one name from two sets of weights."""

import os
from pathlib import Path

import pytest

from factdrift.core.errors import InputError
from factdrift.models.names import check_same_weights, model_files, weights_stamp


def test_files_of_a_model_are_all_that_can_shape_its_answers(tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors", "tokenizer.model", "modeling_own.py", ".cache"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / "checkpoint-10").mkdir()
    names = [path.name for path in model_files(str(tmp_path))]
    assert names == ["config.json", "model.safetensors", "modeling_own.py", "tokenizer.model"]
    assert model_files("someone/on-a-hub") == model_files("") == []


def test_other_weights_change_the_stamp_also_older_ones(tmp_path: Path) -> None:
    weights = tmp_path / "model.safetensors"
    weights.write_bytes(b"first")
    before = weights_stamp(str(tmp_path))
    assert weights_stamp(str(tmp_path)) == before
    weights.write_bytes(b"other")
    os.utime(weights, (1, 1))
    older = weights_stamp(str(tmp_path))
    (tmp_path / "vocab.txt").write_text("a", encoding="utf-8")
    assert len({before, older, weights_stamp(str(tmp_path))}) == 3
    assert weights_stamp("someone/on-a-hub") == ""


def test_rows_of_one_model_have_one_digest() -> None:
    check_same_weights([("a", "1" * 64, "x"), ("b", "2" * 64, "y"), ("a", "1" * 64, "z")])
    message = r"models: a: rome.parquet was made with other weights \(1{12}\) than memit.parquet"
    with pytest.raises(InputError, match=message):
        check_same_weights([("a", "1" * 64, "rome.parquet"), ("a", "2" * 64, "memit.parquet")])
