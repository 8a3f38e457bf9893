"""What is told of a model without loading it: its sizes by the configuration, its files, its weights."""

import json
import time
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import huggingface_hub
import pytest

from factdrift.core.errors import InputError
from factdrift.models.loading import load
from factdrift.models.names import Sizes, model_files, models_by_folder, read_sizes


def folder(path: Path, config: Any) -> str:
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return str(path)


def test_each_family_names_its_sizes_in_its_own_way(tmp_path):
    for number, config in enumerate(
        (
            {"n_layer": 28, "n_embd": 1024, "vocab_size": 50257},
            {
                "text_config": {"num_hidden_layers": 28, "hidden_size": 1024},
                "vision_config": {"hidden_size": 7},
            },
        )
    ):
        assert read_sizes(folder(tmp_path / str(number), config)) == Sizes(layers=28, hidden=1024)
    # Bundled models need not be trained yet.
    assert read_sizes("sample") == read_sizes("sample-llama") == Sizes(4, 128)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ('{"hidden_size": 8}', r"has no num_hidden_layers or n_layer or .*cannot be derived"),
        ("[]", "has no num_hidden_layers .* nor hidden_size"),
        ("{", r"config\.json cannot be read \(JSONDecodeError"),
    ],
)
def test_a_configuration_without_sizes_is_refused(text, message, tmp_path):
    (tmp_path / "config.json").write_text(text, encoding="utf-8")
    with pytest.raises(InputError, match=message):
        read_sizes(str(tmp_path))


def test_a_configuration_on_a_hub_is_taken_from_the_cache_or_asked_for(tmp_path, monkeypatch):
    path = Path(folder(tmp_path, {"num_hidden_layers": 3, "hidden_size": 5}), "config.json")
    cached = Mock(side_effect=lambda name, file, revision: str(path) if name == "a/cached" else None)
    fetched = Mock(side_effect=[str(path)])
    asked = Mock(side_effect=[None, OSError("no such repository\nat all")])
    monkeypatch.setattr(huggingface_hub, "get_hf_file_metadata", asked)
    monkeypatch.setattr(huggingface_hub, "try_to_load_from_cache", cached)
    monkeypatch.setattr(huggingface_hub, "hf_hub_download", fetched)
    assert read_sizes("a/cached") == Sizes(3, 5)
    assert not fetched.called
    assert read_sizes("a/remote", "v2") == Sizes(3, 5)
    fetched.assert_called_once_with("a/remote", "config.json", revision="v2")
    with pytest.raises(InputError, match=r"a/missing at revision main .* \(no such repository at all\); "):
        read_sizes("a/missing")


def test_two_models_have_two_folders_of_results():
    given = ["sample", "sample-llama", "/data/mine", "org/theirs@v2"]
    assert models_by_folder(given) == {
        "sample-llama": ("sample-llama", "main"),
        "data--mine": ("/data/mine", "main"),
        "org--theirs": ("org/theirs", "v2"),
    }
    for others in (["gpt2@v1", "gpt2@v2"], ["/data/mine", "data/mine"]):
        with pytest.raises(InputError, match=r"models: .*@v?.* and .* have the same folder of results"):
            models_by_folder(others)


def test_files_of_a_model_are_all_that_can_shape_its_answers(tmp_path):
    for name in ("config.json", "model.safetensors", "tokenizer.model", "modeling_own.py", ".cache"):
        (tmp_path / name).write_text(name, encoding="utf-8")
    (tmp_path / "checkpoint-10").mkdir()
    names = [path.name for path in model_files(str(tmp_path))]
    assert names == ["config.json", "model.safetensors", "modeling_own.py", "tokenizer.model"]
    assert model_files("someone/on-a-hub") == model_files("") == []


def test_a_hub_that_cannot_be_reached_is_one_sentence(monkeypatch, capfd):
    address = "http://127.0.0.1:9/config.json"
    monkeypatch.setattr(huggingface_hub, "hf_hub_url", lambda *args, **options: address)
    begun = time.monotonic()
    for read in (read_sizes, load):
        with pytest.raises(InputError, match=r"no/such at revision main .* \(Connection refused\)"):
            read("no/such")
    # One try each: the hub's own functions take 23 s.
    assert time.monotonic() - begun < 10
    assert "".join(capfd.readouterr()) == ""
