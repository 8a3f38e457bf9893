"""Files of tensors with a description of what they are (safetensors). Imports torch."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open
from safetensors.torch import save_file
from torch import Tensor

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path

ABOUT = "about"
"""The one key of a file's metadata: safetensors writes several in no fixed order."""


def write_tensors(path: Path, tensors: Mapping[str, Tensor], about: Mapping[str, Any]) -> None:
    """Writes tensors, and their description as JSON in the metadata."""
    kept = {name: value.detach().cpu().contiguous() for name, value in tensors.items()}
    with atomic_path(path) as temporary:
        save_file(kept, temporary, metadata={ABOUT: json.dumps(about, sort_keys=True)})


def read_tensors(path: Path, maker: str, device: str = "cpu") -> tuple[dict[str, Tensor], dict[str, Any]]:
    """The tensors and the description that `write_tensors` wrote.

    `maker`: the command that writes such files, for messages. Raises InputError if there is no file, or it is
    not such a file.
    """
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with `{maker}`")
    try:
        with safe_open(path, framework="pt", device=device) as file:
            about: dict[str, Any] = json.loads(file.metadata()[ABOUT])
            return {name: file.get_tensor(name) for name in file.keys()}, about  # noqa: SIM118
    except (SafetensorError, OSError, TypeError, KeyError, ValueError) as error:
        raise InputError(
            f"{path}: damaged, or not written by `{maker}` ({type(error).__name__}: {error}); delete it and "
            "make it again"
        ) from None
