"""Names of models: as users give them, in tables and in paths; and the weights behind a name."""

import hashlib
from collections.abc import Iterable
from pathlib import Path

from factdrift.core.errors import InputError

ALIASES = {"sample": "sample-llama"}
BUNDLED = ("sample-llama", "sample-gpt2")
"""The models that the rule `sample_model` trains."""


def split_name(given: str) -> tuple[str, str]:
    """Splits NAME or NAME@REVISION into the name used in tables and the revision (default `main`)."""
    name, _, revision = given.partition("@")
    return ALIASES.get(name, name), revision or "main"


def folder_of(name: str) -> str:
    """The name of the folder that holds the results of a model."""
    return ALIASES.get(name, name).strip("/").replace("/", "--")


def models_by_folder(models: Iterable[str]) -> dict[str, tuple[str, str]]:
    """Folder of results -> name and revision of each model of the configuration, in its order.

    Raises InputError if two models, such as two revisions of one, have the same folder.
    """
    found: dict[str, tuple[str, str]] = {}
    for name, revision in map(split_name, models):
        folder = folder_of(name)
        other, its = found.setdefault(folder, (name, revision))
        if (other, its) != (name, revision):
            raise InputError(
                f"models: {other}@{its} and {name}@{revision} have the same folder of results, {folder}; "
                "name one of them, and run the other one in a directory of its own"
            )
    return found


def model_files(name: str) -> list[Path]:
    """The files of a model that is a folder: weights, configuration, tokenizer, code; else none. Sorted."""
    folder = Path(name)
    if not name or not folder.is_dir():
        return []
    return sorted(path for path in folder.iterdir() if path.is_file() and not path.name.startswith("."))


def weights_stamp(name: str) -> str:
    """SHA-256 over name, size and time of modification of each of `model_files`; empty if there are none.

    It changes when other weights are put in the place of a model's, older ones among them, and reads none.
    """
    files = [(path.name, path.stat()) for path in model_files(name)]
    stamps = [f"{file} {stat.st_size} {stat.st_mtime_ns}" for file, stat in files]
    return hashlib.sha256("\n".join(stamps).encode()).hexdigest() if stamps else ""


def check_same_weights(rows: Iterable[tuple[str, str, str]]) -> None:
    """Raises InputError if rows that bear the name of one model come from different weights.

    `rows`: the model's name, the SHA-256 of its weights (`model_digest`), and where a row comes from, for the
    message.
    """
    first: dict[str, tuple[str, str]] = {}
    for model, digest, place in rows:
        known, where = first.setdefault(model, (digest, place))
        if digest != known:
            raise InputError(
                f"models: {model}: {where} was made with other weights ({known[:12]}) than {place} "
                f"({digest[:12]}); give the two sets of weights two names, or remove the older results and "
                "make them again"
            )
