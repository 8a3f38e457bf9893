"""The items that are asked."""

from __future__ import annotations

from pathlib import Path

from factdrift.errors import InputError
from factdrift.tempripple.schemas import TR_ITEMS, Row, read_rows


def read_items(path: Path) -> list[Row]:
    """The items that have options, by id. Raises InputError if there are none."""
    items = [item for item in read_rows(path, TR_ITEMS) if not item["open_only"]]
    if not items:
        raise InputError(f"{path}: no item has options; build TempRIPPLE for a longer period or more items")
    return sorted(items, key=lambda item: str(item["item_id"]))
