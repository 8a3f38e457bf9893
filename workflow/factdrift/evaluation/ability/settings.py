"""What is measured of a model in general: keys of the part `edit` of the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from factdrift.models.running import Computing


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
