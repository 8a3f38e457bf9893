"""The constants and switches of the method."""

import datetime
from collections.abc import Iterable
from typing import Literal

import msgspec

from factdrift.core.switches import Variant, switches
from factdrift.wikidata.time import pack_date

PART = "method"
"""The part of the configuration that holds the constants."""


class UpdateSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`--settings` of the updates stage: keys of the configuration, by their full names outside of `method`.

    Descriptions and defaults are those of `config/config.schema.yaml`. What the configuration leaves to the
    variant (switches, the dropped datatypes) has the variant's own value here.
    """

    snapshots_old: datetime.date
    snapshots_new: datetime.date
    variant: Variant
    dates: Literal["variant", "first_day", "interval"]
    objects: Literal["variant", "relevant", "any"]
    merges: Literal["variant", "off", "detect"]
    leaks: Literal["variant", "keep", "drop"]
    dropped_datatypes: tuple[str, ...]
    dropped_datatypes_reference: tuple[str, ...]
    page_classes: tuple[str, ...]
    page_class_words: tuple[str, ...]
    meta_relation_class: str
    restrictive_class: str
    non_restrictive_class: str
    always_restrictive_class: str
    always_restrictive_properties: tuple[str, ...]
    type_steps: int
    start: str
    end: str
    point_in_time: str
    creation_properties: tuple[str, ...]
    publication_property: str
    death_properties: tuple[str, ...]

    def __post_init__(self) -> None:
        own: dict[str, object] = {**switches(msgspec.structs.asdict(self))}
        if self.variant == "reference":
            own["dropped_datatypes"] = self.dropped_datatypes_reference
        for name, value in own.items():
            msgspec.structs.force_setattr(self, name, value)

    @property
    def t_old(self) -> int:
        """The packed day (YYYYMMDD) of the old dump."""
        return pack_date(self.snapshots_old)

    @property
    def t_new(self) -> int:
        """The packed day of the new dump."""
        return pack_date(self.snapshots_new)


def number(identifier: str) -> int:
    """Q5 -> 5, P6 -> 6; the schema lets no other form pass."""
    return int(identifier[1:])


def numbers(identifiers: Iterable[str]) -> tuple[int, ...]:
    return tuple(map(number, identifiers))
