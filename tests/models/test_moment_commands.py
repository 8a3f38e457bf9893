import argparse
import re

import pytest
import torch
from support.tiny_models import TEXT, tiny_model

from factdrift.errors import InputError
from factdrift.models import moment_commands
from factdrift.models.moments import count_moments, read_moments

pytestmark = pytest.mark.filterwarnings("ignore:second moments")


def command(*arguments):
    parser = argparse.ArgumentParser()
    moment_commands.register(parser.add_subparsers())
    options = parser.parse_args([str(each) for each in arguments])
    options.run(options)


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
