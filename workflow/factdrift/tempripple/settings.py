"""The settings of the stage. Descriptions and defaults: `tempripple` in `config/config.schema.yaml`."""

import datetime
from typing import Literal

import msgspec

from factdrift.wikidata.ids import entity_number

PART = "tempripple"
"""The part of the configuration that holds the settings."""


class TempRippleSettings(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings on which facts and related facts depend."""

    snapshot_date: datetime.date = msgspec.field(name="snapshots_new")
    window_start: datetime.date
    change_start: datetime.date
    change_end: datetime.date
    """The day after the window and the change period."""
    immutable_from: datetime.date | None
    immutable_until: datetime.date | None
    gap_days: int
    cap_per_property: int
    type_depth: int
    unite_same_object: bool
    on_ambiguous: Literal["drop", "keep"]
    coverage: Literal["gap", "strict", "off"]
    new_rule: Literal["start", "any"]
    infer_end_from_next: bool
    restrictive_qualifiers: tuple[str, ...]
    exclude_object_classes: tuple[str, ...]
    immutable_set: Literal["full53", "seed_visible"]
    require_start: bool
    cap_per_fact: int | None
    leak_check: bool
    grammar: Literal["variant", "fitted", "plain"]
    """`variant` is `fitted` where no variant is known, as outside a workflow."""
    slice: bool

    def __post_init__(self) -> None:
        for key, letter in (("restrictive_qualifiers", "P"), ("exclude_object_classes", "Q")):
            for name in getattr(self, key):
                if entity_number(name) is None or name[0] != letter:
                    raise ValueError(f"{key}: {name!r} is not an id such as {letter}518")
        if not self.window_start < self.change_start < self.change_end:
            raise ValueError("window_start, change_start and change_end must be in this order")
        first, last = self.immutable_span
        if first > last:
            raise ValueError(
                "immutable_from (by default window_start) must not be after immutable_until (by default the "
                "day before change_end)"
            )

    @property
    def partial_period(self) -> bool:
        """Whether the snapshot is older than the end of the change period."""
        return self.snapshot_date < self.change_end

    @property
    def last_day(self) -> datetime.date:
        """The day on which the facts hold: the last of the window, or the snapshot's if that is earlier."""
        return min(self.change_end - datetime.timedelta(days=1), self.snapshot_date)

    @property
    def immutable_span(self) -> tuple[int, int]:
        """The day numbers of `immutable_from` and `immutable_until`, by default the window's."""
        first = self.immutable_from or self.window_start
        last = self.immutable_until or self.change_end - datetime.timedelta(days=1)
        return first.toordinal(), last.toordinal()

    def numbers(self, key: Literal["restrictive_qualifiers", "exclude_object_classes"]) -> list[int]:
        """The ids of a setting as numbers: P518 is 518."""
        return [int(name[1:]) for name in getattr(self, key)]


class ItemSettings(TempRippleSettings, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """The settings on which items depend: those of the facts, and those of dates and options."""

    as_of: Literal["auto", "on", "off"]
    same_timeline: Literal["exclude", "include"]
    alike: tuple[Literal["P641", "P31"], ...]
    seed: int = 0

    @property
    def dated(self) -> bool:
        """Whether question and context name the day on which they hold."""
        return self.last_day < self.snapshot_date if self.as_of == "auto" else self.as_of == "on"
