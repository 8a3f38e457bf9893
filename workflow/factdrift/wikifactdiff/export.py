"""JSON Lines with the field names and the nesting of the public dataset Orange/WikiFactDiff."""

import json
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.core.owned import atomic_path
from factdrift.core.progress import tracked
from factdrift.core.tables import records

Record = dict[str, Any]

FIELDS = (
    *("subject", "relation", "update_prompt", "generalization_prompts", "subject_is_ph_new"),
    *("relation_is_temp_func", "is_replace", "subject_popularity"),
)


def export(dataset: Path, output: Path) -> int:
    """Writes one line an update, in the order of the table, with the fields that the public dataset has.

    Returns their number.
    """
    rows: int = pq.read_metadata(dataset).num_rows
    with atomic_path(output) as temporary, temporary.open("w", encoding="utf-8") as file:
        for record in tracked(records(dataset), "export", rows, "updates"):
            public = {name: record[name] for name in FIELDS}
            public["objects"] = [_named(value, "decision") for value in record["objects"]]
            public["neighborhood"] = [_neighbor(fact) for fact in record["neighborhood"]]
            file.write(json.dumps(public, ensure_ascii=False) + "\n")
    return rows


def _neighbor(fact: Record) -> Record:
    objects = [
        {"object": _named(value["object"]), "prompt": value["prompt"], "dist": value["dist"]}
        for value in fact["objects"]
    ]
    return {"subject": fact["subject"], "dist": fact["dist"], "objects": objects}


def _named(value: Record, *more: str) -> Record:
    return {name: value[name] for name in ("id", "label", "description", *more)}
