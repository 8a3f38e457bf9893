"""The sizes of a model from its config.json alone, before anything is loaded. Does not import torch."""

import json
from collections.abc import Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Protocol

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.files import read_yaml
from factdrift.core.paths import CONFIG
from factdrift.models.names import ALIASES, BUNDLED

_NAMES = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model"),
}
"""Size -> the keys that configurations of transformers have for it."""
_PARTS = ("text_config", "llm_config")
"""Keys that hold the configuration of the language model, in models that read images, too."""


class HasSizes(Protocol):
    """Anything with the sizes from which hyper-parameters are derived, such as `ModelSpec`."""

    @property
    def layers(self) -> int: ...

    @property
    def hidden(self) -> int: ...


class Sizes(NamedTuple):
    """Number of blocks, and width of the hidden state."""

    layers: int
    hidden: int


@cache
def read_sizes(name: str, revision: str = "main") -> Sizes:
    """The sizes of a bundled model, a folder, or a model of a hub.

    Of a model of a hub only config.json is read, from the local cache if it is there. Raises InputError if
    there is no configuration, and CannotEdit if a size is not in it.
    """
    name = ALIASES.get(name, name)
    if name in BUNDLED:
        path = CONFIG / "models" / f"{name}.yaml"
        return sizes_of(read_yaml(path)["model"], path)
    check_whole(name)
    path = Path(name, "config.json") if Path(name).is_dir() else _from_hub(name, revision)
    try:
        config = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise InputError(
            f"models: {path} cannot be read ({type(error).__name__}: {error}); name the folder of a causal "
            "language model, or the name of one"
        ) from None
    return sizes_of(config, path)


def check_whole(source: str) -> None:
    """Raises InputError if a folder holds an adapter instead of a model."""
    if Path(source, "adapter_config.json").is_file() and not Path(source, "config.json").is_file():
        raise InputError(
            f"models: {source} is an adapter, which is no model of its own; score its edits with `factdrift "
            f"edit probe --model {source} --edits EDITS -o FOLDER`, ask it with `factdrift ask {source}`, or "
            "merge it into its model and save that"
        )


def sizes_of(config: Any, path: Path) -> Sizes:
    """The sizes in a configuration as config.json has it; `path` is for the message of CannotEdit."""
    parts = [config, *(config.get(part) for part in _PARTS)] if isinstance(config, Mapping) else []
    found = {
        size: value
        for size, keys in _NAMES.items()
        for part in parts
        if isinstance(part, Mapping)
        for key in keys
        if isinstance(value := part.get(key), int) and value > 0
    }
    lacking = [size for size in _NAMES if size not in found]
    if lacking:
        keys = " nor ".join(" or ".join(_NAMES[size]) for size in lacking)
        raise CannotEdit(f"models: {path} has no {keys}, so its hyper-parameters cannot be derived")
    return Sizes(**found)


def _from_hub(name: str, revision: str) -> Path:
    """The config.json of a model of a hub, fetched if it is not in the local cache."""
    try:
        from huggingface_hub import hf_hub_download, try_to_load_from_cache
    except ModuleNotFoundError:
        raise InputError(
            f"models: {name}: hyper-parameters are derived from its config.json, which transformers fetches; "
            "run `make models`, which installs it"
        ) from None
    try:
        known = try_to_load_from_cache(name, "config.json", revision=revision)
        found = known if isinstance(known, str) else hf_hub_download(name, "config.json", revision=revision)
    except Exception as error:  # any of a dozen of the hub's, of requests' or of httpx', by its version
        (why, *_) = str(error).splitlines() or ["no message"]
        raise InputError(
            f"models: {name}: hyper-parameters are derived from its config.json, which cannot be fetched "
            f"({type(error).__name__}: {why}); correct name and revision, connect to the network once, or "
            "give the folder of the model instead"
        ) from None
    return Path(found)
