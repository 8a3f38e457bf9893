"""Settings of the jobs that probe a model: the keys of the part `edit` of the configuration that they use."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated, Literal

import msgspec

from factdrift.core.errors import InputError
from factdrift.models.running import Computing

SCENARIOS = {
    "replacement": "ReplaceObject",
    "archive": "Archive",
    "add_object": "AddObject",
    "add_relation": "AddRelation",
    "add_entity": "AddEntity",
    "other": "Other",
}
"""Name of a scenario in the configuration -> in the dataset."""

Positive = Annotated[int, msgspec.Meta(ge=1)]


class Probing(Computing, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a model is run and probed."""

    batch: Positive
    budget: Positive | Literal["auto"]
    length: Positive


class Settings(Probing, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a model is run and probed, and which edits are made together."""

    regime: Literal["independent", "sequential", "batch", "stream"]
    group: Positive

    @property
    def edits(self) -> int:
        """Edits that are made and probed together."""
        return self.batch if self.regime == "independent" else self.group


class StreamKeys(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is asked of earlier edits of a stream: the keys of `edit.stream`."""

    probes: int


class StreamSettings(Probing, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """How a model is run and probed on a stream."""

    stream: StreamKeys


def check_regime(settings: Settings) -> None:
    """Raises InputError for the regime that only the jobs of a stream have."""
    if settings.regime == "stream":
        raise InputError(
            "edit.regime: stream: the updates of a stream are scored in results/stream_scores.parquet, which "
            "you can ask for with any regime; leave the key out for other results"
        )


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

    budget: Positive | Literal["auto"]
    ability: AbilityKeys
