"""The tables that define the method, in `resources/tempripple/`, and labels that the user supplies."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from factdrift.core.paths import NOUN_PHRASES, TEMPRIPPLE
from factdrift.tempripple.relations import BIRTH, DEATH, INCEPTION, SPORT, Relations, read_relations


class Resources(NamedTuple):
    """The folder of the method's tables, labels of items that the snapshot lacks, and noun phrases."""

    folder: Path = TEMPRIPPLE
    labels: Sequence[Path] = ()
    phrases: Path = NOUN_PHRASES

    def relations(self, immutable_set: str = "full53") -> Relations:
        mutable, immutable, types = (
            self.folder / f"{name}.tsv" for name in ("mutable", "immutable", "types")
        )
        return read_relations(mutable, immutable, types, self.phrases, immutable_set)

    def properties(self) -> list[int]:
        """The numbers of all properties that the method may read, whatever its settings."""
        relations = self.relations()
        return sorted({*relations.mutable, *relations.immutable, BIRTH, DEATH, INCEPTION, SPORT})
