import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tiny_models import tiny_model

from factdrift.core.errors import InputError
from factdrift.models.texts import read_texts, sampled


def test_files_of_three_kinds(tmp_path):
    (tmp_path / "a.txt").write_text("one\n\ntwo — three\n", encoding="utf-8")
    (tmp_path / "b.jsonl").write_text('{"text": "four"}\n{"text": ""}\n', encoding="utf-8")
    pq.write_table(pa.table({"id": [1, 2], "text": ["five", None]}), tmp_path / "c.parquet")
    pq.write_table(pa.table({"prompt": ["It is"], "object": ["six"]}), tmp_path / "d.parquet")
    paths = [tmp_path / name for name in ("a.txt", "b.jsonl", "c.parquet", "d.parquet")]
    assert list(read_texts(paths)) == ["one", "two — three", "four", "five", "It is six"]


def test_faults_name_file_and_line(tmp_path):
    (tmp_path / "b.jsonl").write_text('{"text": "four"}\n{"title": "x"}\n', encoding="utf-8")
    pq.write_table(pa.table({"id": [1]}), tmp_path / "c.parquet")
    for name, message in (
        ("b.jsonl", r"b\.jsonl, line 2"),
        ("c.parquet", "no column 'text'"),
        ("d", "no such file"),
    ):
        with pytest.raises(InputError, match=message):
            list(read_texts([tmp_path / name]))


def test_a_model_writes_the_same_for_the_same_seed():
    loaded = tiny_model("llama")
    one, other, third = (sampled(loaded, "The", 10, 4, seed, top_k=5) for seed in (3, 3, 4))
    assert one == other != third
    assert len(set(one)) > 1
    assert all(text.startswith("The") for text in one)


def test_a_text_without_a_start_begins_as_texts_do():
    loaded = tiny_model("llama")
    (text,) = sampled(loaded, "", 6, 1, 0)
    assert "<|endoftext|>" not in text
