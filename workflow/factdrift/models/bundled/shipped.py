"""Bundled models as they ship, `resources/models/`: taken where a training would give the same. No torch.

A model's folder says in MADE from which sentences, recipe and seed it was trained, and what its files are. It
ships as the training wrote it.
"""

import hashlib
import json
import shutil
import sys
from importlib.metadata import version
from pathlib import Path
from typing import Any

import msgspec
import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.files import sha256
from factdrift.core.owned import new_folder
from factdrift.core.paths import SHIPPED_MODELS
from factdrift.models.bundled.recipe import Recipe

MADE = "made.json"
RECALL = "recall.json"


class Source(msgspec.Struct, frozen=True):
    """From what a model is trained: SHA-256 of the sentences' rows and of the recipe, and the seed."""

    sentences: str
    recipe: str
    seed: int


class Made(Source, frozen=True, forbid_unknown_fields=True):
    """The source of a model; SHA-256 of the rows of all epochs (`train.rows_of`), as the code of then made
    them; versions of the packages that trained it; SHA-256 of each of its files.

    `later`: sentences of later builds for which the model is taken, too.
    """

    rows: str
    versions: dict[str, str]
    files: dict[str, str]
    later: list["Later"] = []


class Later(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """SHA-256 of sentences and of the rows made of them; how the sentences differ from the model's own."""

    sentences: str
    rows: str
    difference: str


def source_of(sentences: Path, recipe: Recipe, seed: int) -> Source:
    """The source of a model. `sentences`: a table of `corpus.SENTENCES`, of which only the rows count."""
    rows = hashlib.sha256()
    for row in pq.read_table(sentences).to_pylist():
        rows.update(json.dumps(row, sort_keys=True).encode() + b"\n")
    return Source(rows.hexdigest(), hashlib.sha256(msgspec.json.encode(recipe)).hexdigest(), seed)


def write_made(folder: Path, source: Source, rows: str) -> None:
    """Writes MADE into the folder of a model that has just been trained on `rows`, given as their SHA-256."""
    made = Made(
        **msgspec.structs.asdict(source),
        rows=rows,
        versions={package: version(package) for package in ("torch", "transformers", "tokenizers")},
        files={path.name: sha256(path) for path in sorted(folder.iterdir())},
    )
    (folder / MADE).write_bytes(msgspec.json.format(msgspec.json.encode(made), indent=2) + b"\n")


def read_made(path: Path) -> Made:
    """Raises InputError if there is no such file, or if it is none that `write_made` wrote."""
    try:
        return msgspec.json.decode(path.read_bytes(), type=Made)
    except (OSError, msgspec.DecodeError) as error:
        raise InputError(f"{path}: {error}; get the file again (git checkout), or train the model") from None


def differences(made: Made, wanted: Source) -> list[str]:
    """In what a model's source is not the wanted one: sentences, recipe, seed; empty if it is."""
    later = {entry.sentences for entry in made.later}
    others = [key for key in Source.__struct_fields__ if getattr(wanted, key) != getattr(made, key)]
    return [key for key in others if key != "sentences" or wanted.sentences not in later]


def copy_shipped(folder: Path, output: Path) -> dict[str, Any]:
    """Copies a shipped model to `output`, and returns its recall.

    Raises InputError that names a file whose bytes are not those of MADE, or as `new_folder` does.
    """
    made = read_made(folder / MADE)
    with new_folder(output) as target:
        for name in made.files:
            path = folder / name
            if not path.is_file() or sha256(path) != made.files[name]:
                raise InputError(f"{path}: is missing or damaged; get it again (git checkout {folder})")
            shutil.copyfile(path, target / name)
        shutil.copyfile(folder / MADE, target / MADE)
        recall: dict[str, Any] = json.loads((target / RECALL).read_text(encoding="utf-8"))
    return recall


def bundled_folder(name: str, built: Path, default: Path) -> Path:
    """The folder of a bundled model: as built, or as it ships if none was built and `built` is the default.

    Which model is used instead is printed on standard error.
    """
    shipped = SHIPPED_MODELS / name
    if Path(built, name, "config.json").is_file() or built != default or not shipped.is_dir():
        return built / name
    print(
        f"{built / name} was not built; {name} is used as it ships (docs/bundled-models.md)", file=sys.stderr
    )
    return shipped
