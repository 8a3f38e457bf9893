"""The items and the cloze tests that are asked. Nothing here needs torch."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.evaluation.questions.probes import read_updates
from factdrift.streams.schemas import ASOF
from factdrift.tempripple.schemas import TR_ITEMS, Row, read_rows, row_id


def read_items(path: Path, limit: int = 0, seed: int = 0) -> list[Row]:
    """The items that have options, by id, those of TempRIPPLE or those of a stream with a date.

    `limit`: how many of each task and number of hops, drawn with the seed; 0 for all. Raises InputError if
    there are none.
    """
    dated = pq.read_schema(path).names == ASOF.names
    items = [item for item in read_rows(path, ASOF if dated else TR_ITEMS) if not item["open_only"]]
    if not items:
        raise InputError(
            f"{path}: no item has options; build a longer stream, or one of more relations"
            if dated
            else f"{path}: no item has options; build TempRIPPLE for a longer period or more items"
        )
    if limit:
        kinds: dict[tuple[int, int], list[Row]] = defaultdict(list)
        for item in sorted(items, key=lambda item: row_id("limit", str(seed), item["item_id"])):
            kinds[item["task"], item["hop"]].append(item)
        items = [item for kind in kinds.values() for item in kind[:limit]]
    return sorted(items, key=lambda item: str(item["item_id"]))


def read_clozes(klob: Sequence[Path], edits: Path) -> list[dict[str, Any]]:
    """Rows of CLOZES without the answers of a model: KLoB's sentences, and clozes of WikiFactDiff's updates.

    `klob`: tables klob_c and klob_r. `edits`: a table EDITS. An update is asked with its new object, and with
    its obsolete object if it has one.
    """
    rows: list[dict[str, Any]] = []
    for path in klob:
        for example in pq.read_table(path, columns=["example_id", "subtask", "sentences"]).to_pylist():
            named = {"benchmark": f"klob_{example['subtask']}", "fact": example["example_id"]}
            rows += [
                {**named, "role": one["role"], "prompt": one["text"], "object": one["target_label"]}
                for one in example["sentences"]
            ]
    for update in read_updates(edits):
        objects = {"new": update.row["new"], "old": update.row["obsolete"]}
        for wording, prompt in update.clozes():
            rows += [
                {"benchmark": "wikifactdiff", "fact": update.edit.id, "prompt": prompt}
                | {"role": f"{wording}, {kind}", "object": label}
                for kind, label in objects.items()
                if label
            ]
    return rows
