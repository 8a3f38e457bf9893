"""Settings of the commands that make templates of sentences; `config/config.schema.yaml` describes them."""

from __future__ import annotations

from typing import Literal

import msgspec


class SampleSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What `verbalize sample` draws: keys of `verbalization`, and `languages` and `seed` beside it."""

    languages: tuple[str, ...]
    entities: int
    triples: int
    seed: int


class Quality(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How `verbalize count` and `published` judge templates."""

    quality: Literal["strict", "paper"] = "strict"
    min_subjects: int = 3
    general_subjects: int = 4
    general_share: float = 0.25
