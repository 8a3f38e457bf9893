import re

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch
from support.tiny_models import TEXT, tiny_model

from factdrift.cli import parser
from factdrift.core.errors import InputError
from factdrift.core.jobs import record
from factdrift.models.moments import count_moments, read_file, read_moments

pytestmark = pytest.mark.filterwarnings("ignore:second moments")


def command(*arguments):
    options = parser("models").parse_args(["models", *map(str, arguments)])
    record(options.job, options).run()


@pytest.fixture
def folder(tmp_path):
    loaded = tiny_model("llama", dtype=torch.float32)
    loaded.model.save_pretrained(tmp_path / "model")
    loaded.tokenizer.save_pretrained(tmp_path / "model")
    return tmp_path / "model"


def test_parts_of_a_corpus_add_up_to_the_whole(folder, tmp_path, capsys):
    for name, texts in (("one", TEXT[:2]), ("two", TEXT[2:]), ("all", TEXT)):
        (tmp_path / f"{name}.txt").write_text("\n".join(texts) + "\n", encoding="utf-8")
        command(
            "moments", "--model", folder, "--layers", 0, 2, "--texts", tmp_path / f"{name}.txt",
            "-o", tmp_path / name,
        )  # fmt: skip
    said = capsys.readouterr().out
    assert "0.safetensors" in said
    assert re.search(r"all: the texts have \d+ tokens, fewer than the 200,000", said)
    files = [tmp_path / name / "2.safetensors" for name in ("one", "two")]
    command("add-moments", *files, "-o", tmp_path / "sum.safetensors")
    from factdrift.models.loading import load

    loaded = load(str(folder))
    total, whole = (
        read_moments(path, loaded)
        for path in (tmp_path / "sum.safetensors", tmp_path / "all" / "2.safetensors")
    )
    assert torch.allclose(total.total, whole.total, rtol=1e-12)
    assert total.tokens == whole.tokens
    assert torch.allclose(whole.total, count_moments(loaded, [2], TEXT)[2].total, rtol=1e-12)
    with pytest.raises(InputError, match=r"0\.safetensors: moments of different models or layers"):
        command("add-moments", files[0], tmp_path / "one" / "0.safetensors", "-o", tmp_path / "x")


def test_from_what_the_model_writes(folder, tmp_path, capsys):
    for name in ("one", "two"):
        command(
            "moments", "--model", folder, "--layers", 1, "--sampled", "--tokens", 500, "-o", tmp_path / name
        )
    said = capsys.readouterr().out
    assert "500 tokens" in said
    assert "fewer" not in said
    one, two = ((tmp_path / name / "1.safetensors").read_bytes() for name in ("one", "two"))
    assert one == two


def test_facts_of_the_benchmark_are_named_and_warned_of(folder, tmp_path, capsys):
    rows = [{"prompt": text, "object": "Biden"} for text in TEXT]
    pq.write_table(pa.Table.from_pylist(rows), tmp_path / "sentences.parquet")
    given = ["moments", "--model", folder, "--layers", 1, "--tokens", 20]
    command(*given, "--facts", tmp_path / "sentences.parquet", "-o", tmp_path / "facts")
    assert "this flatters ROME and MEMIT" in capsys.readouterr().err
    (tmp_path / "other.txt").write_text("\n".join(TEXT) + "\n", encoding="utf-8")
    command(*given, "--texts", tmp_path / "other.txt", "-o", tmp_path / "other")
    command(*given, "--sampled", "-o", tmp_path / "sampled")
    assert "flatters" not in capsys.readouterr().err
    said = {name: read_file(tmp_path / name / "1.safetensors") for name in ("facts", "other", "sampled")}
    assert {name: moments.texts for name, moments in said.items()} == {
        "facts": "the benchmark's facts",
        "other": "other.txt",
        "sampled": "text that the model wrote",
    }
    files = [tmp_path / name / "1.safetensors" for name in ("facts", "other")]
    command("add-moments", *files, "-o", tmp_path / "sum.safetensors")
    assert read_file(tmp_path / "sum.safetensors").texts == "the benchmark's facts + other.txt"
