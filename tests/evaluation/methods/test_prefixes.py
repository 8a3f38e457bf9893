import json

import pytest
import torch
from support.tiny_edits import tiny_hyper
from support.tiny_models import tiny_model

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.evaluation.methods import shared
from factdrift.evaluation.methods.shared import draw_prefixes, read_prefixes, write_prefixes
from factdrift.models.loading import load


def test_the_reference_has_twenty_one_for_rome_and_six_for_memit():
    loaded = tiny_model("gpt2")
    rome = draw_prefixes(loaded, tiny_hyper("rome"), 0)
    assert (len(rome), rome[0]) == (21, "")
    assert all(prefix.endswith(". ") for prefix in rome[1:])
    memit = draw_prefixes(loaded, tiny_hyper("memit"), 0)
    assert [prefix.split()[0][:3] for prefix in memit[1:4]] == ["The", "The", "Bec"]
    assert len(memit) == 6


def test_braces_are_no_part_of_a_prefix(monkeypatch):
    monkeypatch.setattr(shared, "sampled", lambda *more, **others: ["a {b} c"])
    assert draw_prefixes(tiny_model("gpt2"), tiny_hyper("rome"), 0)[1] == "a  b  c. "


def test_a_file_keeps_them_and_fits_one_model(tmp_path):
    loaded = tiny_model("gpt2")
    path = tmp_path / "prefixes.json"
    write_prefixes(path, loaded, tiny_hyper("memit"), 7)
    assert read_prefixes(path, loaded) == draw_prefixes(loaded, tiny_hyper("memit"), 7)
    assert read_prefixes(path, loaded) != draw_prefixes(loaded, tiny_hyper("memit"), 8)
    assert json.loads(path.read_text(encoding="utf-8"))["seed"] == 7
    with pytest.raises(InputError, match="another model than tiny-llama"):
        read_prefixes(path, tiny_model("llama"))
    with pytest.raises(InputError, match="no such file"):
        read_prefixes(tmp_path / "none.json", loaded)


def test_the_command_writes_them_for_a_model_of_ones_own(tmp_path, monkeypatch):
    loaded = tiny_model("gpt2", dtype=torch.float32)
    folder = tmp_path / "model"
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    threads = []
    monkeypatch.setattr(torch, "set_num_threads", threads.append)
    line = ["--model", folder, "--method", "memit", "--set", '{"layers": [0, 1]}', "--seed", 7]
    line += ["--settings", '{"device": "cpu"}', "--threads", 2, "-o", tmp_path / "p.json"]
    assert main(["edit", "prefixes", *map(str, line)]) == 0
    model = load(str(folder), device="cpu")
    assert len(read_prefixes(tmp_path / "p.json", model)) == 6
    assert threads == [2]
