"""The file ability.json: what is measured of a model besides probes, and what it is without any edit."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path

if TYPE_CHECKING:
    from factdrift.models.loaded import Loaded


class Ability(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is measured on each edited model, and what it is for the unedited one: the file ability.json."""

    model: str
    """The digest of the model for whose tokens it was made."""
    name: str
    """Of the model."""
    text: str
    """Which text it is, for tables; empty if the perplexity is not measured."""
    tokens: int
    """That are predicted."""
    pieces: list[list[int]]
    edits: list[str]
    """The independent edits that are measured."""
    tasks: list[str]
    limit: int
    perplexity: float | None
    results: dict[str, dict[str, float]] | None
    """Of the tasks; None without tasks."""


NONE = Ability(
    model="",
    name="",
    text="",
    tokens=0,
    pieces=[],
    edits=[],
    tasks=[],
    limit=0,
    perplexity=None,
    results=None,
)
"""Of a model that cannot be run."""


def write_ability(ability: Ability, path: Path) -> None:
    with atomic_path(path) as temporary:
        temporary.write_bytes(msgspec.json.encode(ability) + b"\n")


def read_ability(path: Path, loaded: Loaded | None = None) -> Ability:
    """Reads a file of `write_ability`; raises InputError if it is missing, damaged or of another model."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with `factdrift edit ability`")
    try:
        found = msgspec.json.decode(path.read_bytes(), type=Ability)
    except msgspec.DecodeError as error:
        raise InputError(
            f"{path}: damaged, or not written by `factdrift edit ability` ({error}); make it again"
        ) from None
    if loaded is not None and found.model != loaded.digest:
        raise InputError(f"{path}: of another model than {loaded.name}; delete it and make it again")
    return found
