"""Sizes of a model from its configuration alone."""

import json
from pathlib import Path
from typing import Any

import pytest

from factdrift.core.errors import InputError
from factdrift.models.sizes import Sizes, read_sizes


def folder(path: Path, config: Any) -> str:
    path.mkdir(exist_ok=True)
    (path / "config.json").write_text(json.dumps(config), encoding="utf-8")
    return str(path)


@pytest.mark.parametrize(
    "config",
    [
        {"num_hidden_layers": 28, "hidden_size": 1024},
        {"n_layer": 28, "n_embd": 1024, "vocab_size": 50257},
        {"text_config": {"num_hidden_layers": 28, "hidden_size": 1024}, "vision_config": {"hidden_size": 7}},
    ],
)
def test_each_family_names_its_sizes_in_its_own_way(config: dict[str, Any], tmp_path: Path) -> None:
    assert read_sizes(folder(tmp_path, config)) == Sizes(layers=28, hidden=1024)


def test_bundled_models_need_not_be_trained_yet() -> None:
    assert read_sizes("sample") == read_sizes("sample-llama") == Sizes(4, 128)


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"hidden_size": 8}, r"has no num_hidden_layers or n_layer or .*cannot be derived"),
        ({"num_hidden_layers": 0, "hidden_size": 8}, "has no num_hidden_layers"),
        ([], "has no num_hidden_layers .* nor hidden_size"),
    ],
)
def test_a_configuration_without_sizes_is_refused(config: Any, message: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=message):
        read_sizes(folder(tmp_path, config))


def test_a_folder_without_readable_configuration_is_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"config\.json cannot be read \(FileNotFoundError"):
        read_sizes(str(tmp_path))
    (tmp_path / "config.json").write_text("{", encoding="utf-8")
    with pytest.raises(InputError, match=r"config\.json cannot be read \(JSONDecodeError"):
        read_sizes(str(tmp_path))


def test_a_configuration_on_a_hub_is_taken_from_the_cache_or_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    hub = pytest.importorskip("huggingface_hub", reason="language models are installed with `make models`")
    path = Path(folder(tmp_path, {"num_hidden_layers": 3, "hidden_size": 5}), "config.json")
    asked = []

    def cached(name: str, file: str, revision: str) -> str | None:
        return str(path) if name == "a/cached" else None

    def fetched(name: str, file: str, revision: str) -> str:
        asked.append((name, file, revision))
        if name == "a/missing":
            raise OSError("no such repository\nat all")
        return str(path)

    monkeypatch.setattr(hub, "try_to_load_from_cache", cached)
    monkeypatch.setattr(hub, "hf_hub_download", fetched)
    assert read_sizes("a/cached") == Sizes(3, 5)
    assert asked == []
    assert read_sizes("a/remote", "v2") == Sizes(3, 5)
    assert asked == [("a/remote", "config.json", "v2")]
    with pytest.raises(InputError, match=r"a/missing: .* fetched \(OSError: no such repository\); "):
        read_sizes("a/missing")
