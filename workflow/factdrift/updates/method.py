"""The constants and switches of the method, typed: what the user sets, and what the stage works with."""

from __future__ import annotations

import datetime
from typing import Literal

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.switches import switches

Variant = Literal["paper", "reference", "revised"]
Dates = Literal["first_day", "interval"]

PART = "method"
"""The part of the configuration that holds the constants."""


class MethodSettings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """`--settings` of the updates stage: keys of the configuration, by their full names outside of `method`.

    Descriptions and defaults are those of `config/config.schema.yaml`.
    """

    snapshots_old: str
    snapshots_new: str
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


class Method(msgspec.Struct, frozen=True):
    """Constants and switches of the method; every id is a number (P585 is 585, Q51118821 is 51118821).

    The switches are those of one variant, resolved; `t_old` and `t_new` are packed days (YYYYMMDD).
    """

    variant: Variant
    dates: Dates
    objects: Literal["relevant", "any"]
    merges: Literal["off", "detect"]
    leaks: Literal["keep", "drop"]
    t_old: int
    t_new: int
    start: int
    end: int
    point_in_time: int
    dropped_datatypes: tuple[str, ...]
    page_classes: tuple[int, ...]
    page_class_words: tuple[str, ...]
    meta_relation_class: int
    restrictive_class: int
    non_restrictive_class: int
    always_restrictive_class: int
    always_restrictive_properties: tuple[int, ...]
    type_steps: int
    creation_properties: tuple[int, ...]
    publication_property: int
    death_properties: tuple[int, ...]


def method_of(given: MethodSettings) -> Method:
    """The method that settings describe. Raises InputError that names the key that is wrong."""
    chosen = switches(msgspec.structs.asdict(given))
    datatypes = given.dropped_datatypes_reference if given.variant == "reference" else given.dropped_datatypes
    days = {f"t_{which}": _day(getattr(given, key), key) for which, key in _DAYS.items()}
    lists = {name: tuple(map(_number, getattr(given, name))) for name in _LISTS_OF_IDS}
    values = {
        **msgspec.structs.asdict(given),
        **{name: chosen[name] for name in ("dates", "objects", "merges", "leaks")},
        **{name: _number(getattr(given, name)) for name in _IDS},
        **{"dropped_datatypes": datatypes, **days, **lists},
    }
    return msgspec.convert(values, Method)


_DAYS = {"old": "snapshots_old", "new": "snapshots_new"}
_IDS = (
    *("meta_relation_class", "restrictive_class", "non_restrictive_class", "always_restrictive_class"),
    *("start", "end", "point_in_time", "publication_property"),
)
_LISTS_OF_IDS = ("page_classes", "always_restrictive_properties", "creation_properties", "death_properties")


def _number(identifier: str) -> int:
    """Q5 -> 5, P6 -> 6; the schema lets no other form pass."""
    return int(identifier[1:])


def _day(date: str, key: str) -> int:
    """2021-01-04 -> 20210104."""
    try:
        return int(datetime.date.fromisoformat(date).strftime("%Y%m%d"))
    except ValueError:
        raise InputError(f"--settings: {key}: {date!r} is no date; write it as 2021-01-04") from None
