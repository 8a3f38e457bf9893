"""Spans of days, and the updates of a sequence of dumps."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from support.worlds import time_of

from factdrift.streams.changes import Span

DAYS = [20150101, 20170101, 20190101, 20210104]


def span(text: str) -> Span:
    time = time_of(text)
    return Span(text, time["precision"], time["first"], time["last"])


def updates_of(pairs: list[Path]) -> dict[tuple[int, int, int], list[dict[str, Any]]]:
    """(interval, subject, property) -> the triples of the update, in the order of the dumps."""
    found: dict[tuple[int, int, int], list[dict[str, Any]]] = {}
    for interval, pair in enumerate(pairs, start=1):
        for row in pq.read_table(pair / "updates.parquet").to_pylist():
            if row["dropped_by"] is None:
                found.setdefault((interval, row["subject"], row["property"]), []).append(row)
    for update in found.values():
        update.sort(
            key=lambda row: (row["old_position"] is None, row["old_position"] or 0, row["new_position"] or 0)
        )
    return found
