"""What is measured of a model in general: keys of the part `edit`, and the file ability.json."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path
from factdrift.models.running import Computing

if TYPE_CHECKING:
    from factdrift.models.loaded import Loaded


class AbilityKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is measured of a model in general: the keys of `edit.ability`."""

    text: str | list[str]
    tokens: int
    length: int
    sample: int
    tasks: list[str]
    limit: int

    @property
    def files(self) -> list[Path]:
        """The files of the text; none if the model writes it."""
        if self.text == "auto":
            return []
        return [Path(path) for path in ([self.text] if isinstance(self.text, str) else self.text)]


class AbilitySettings(Computing, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a model is run, and what is measured of it in general."""

    budget: Annotated[int, msgspec.Meta(ge=1)] | Literal["auto"]
    ability: AbilityKeys


class Ability(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is measured on each edited model, and what it is for the unedited one: the file ability.json.

    The defaults are those of a model that cannot be run.
    """

    model: str = ""
    """The digest of the model for whose tokens it was made."""
    name: str
    """Of the model."""
    text: str = ""
    """Which text it is, for tables; empty if the perplexity is not measured."""
    tokens: int = 0
    """Number of predicted tokens."""
    pieces: list[list[int]] = []
    edits: list[str] = []
    """The independent edits that are measured."""
    tasks: list[str] = []
    limit: int = 0
    perplexity: float | None = None
    results: dict[str, dict[str, float]] | None = None
    """Task -> metric -> value; None without tasks."""


def write_ability(ability: Ability, path: Path) -> None:
    with atomic_path(path) as temporary:
        temporary.write_bytes(msgspec.json.encode(ability) + b"\n")


def read_ability(path: Path, loaded: Loaded | None = None) -> Ability:
    """Reads a file of `write_ability`; raises InputError if it is missing, damaged or of another model."""
    if not path.is_file():
        raise InputError(f"{path}: no such file; make it with `factdrift edit ability`")
    try:
        ability = msgspec.json.decode(path.read_bytes(), type=Ability)
    except msgspec.DecodeError as error:
        raise InputError(
            f"{path}: damaged, or not written by `factdrift edit ability` ({error}); make it again"
        ) from None
    if loaded is not None and ability.model != loaded.digest:
        raise InputError(f"{path}: of another model than {loaded.name}; delete it and make it again")
    return ability
