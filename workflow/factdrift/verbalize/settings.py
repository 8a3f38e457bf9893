"""The settings by which templates are judged."""

from typing import Literal

import msgspec


class Quality(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How `verbalize count` and `published` judge templates."""

    quality: Literal["strict", "paper"] = "strict"
    min_subjects: int = 3
    general_subjects: int = 4
    general_share: float = 0.25
