"""The constants and switches of the method, typed; their defaults stand in `config/config.schema.yaml`."""

from __future__ import annotations

from typing import Literal

import msgspec

from factdrift.settings import InputError

Variant = Literal["paper", "reference", "revised"]
Dates = Literal["first_day", "interval"]


class Method(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Spec sections 1 to 5; every id is a number (P585 is 585, Q51118821 is 51118821).

    `dates`, `objects` and `merges` are the resolved switches of one variant, the T's packed days (YYYYMMDD).
    """

    variant: Variant
    dates: Dates
    objects: Literal["relevant", "any"]
    merges: Literal["off", "detect"]
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


def decode(text: str) -> Method:
    """Reads the JSON object that the workflow hands to the commands as `--method`."""
    try:
        return msgspec.json.decode(text, type=Method)
    except msgspec.MsgspecError as error:
        raise InputError(
            f"--method: {error}; it is made from the key 'method' of the configuration"
        ) from error
