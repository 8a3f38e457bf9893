"""The items that are asked."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from factdrift.errors import InputError
from factdrift.streams.asof import ASOF
from factdrift.tempripple.schemas import TR_ITEMS, Row, read_rows


def read_items(path: Path) -> list[Row]:
    """The items that have options, by id, those of TempRIPPLE or those of a stream with a date.

    Raises InputError if there are none.
    """
    dated = pq.read_schema(path).names == ASOF.names
    items = [item for item in read_rows(path, ASOF if dated else TR_ITEMS) if not item["open_only"]]
    if not items:
        raise InputError(
            f"{path}: no item has options; build a longer stream, or one of more relations"
            if dated
            else f"{path}: no item has options; build TempRIPPLE for a longer period or more items"
        )
    return sorted(items, key=lambda item: str(item["item_id"]))
