"""Facts that probes of ripples take for granted, as sentences that the bundled models are taught."""

import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.tables import write_parquet
from factdrift.evaluation.questions.ripples import condition_id
from factdrift.models.bundled.taught import RIPPLE, TAUGHT
from factdrift.tempripple.phrases import as_of
from factdrift.words.templates import before_blank

CRITERIA = ("logical", "compose_object", "compose_subject", "preserve", "specific")
"""Criteria whose conditions are taught; the others have none, or facts that the dataset teaches."""


def write_taught(ripples: Path, names: Path, old: datetime.date, limit: int, output: Path) -> int:
    """Writes TAUGHT of the conditions of probes, which are facts of T_old (`old`); returns their number.

    Of each criterion at most `limit` are drawn by their ids. Of several right answers the one of the
    condition's statement is taught. Wordings are the condition's own, without and with the day. `names`:
    the label of each item that a condition is about (`ripples.names`).
    """
    drawn: dict[str, dict[str, Mapping[str, Any]]] = {name: {} for name in CRITERIA}
    for probe in pq.read_table(ripples, columns=["criterion", "conditions"]).to_pylist():
        for each in probe["conditions"] if probe["criterion"] in drawn else ():
            drawn[probe["criterion"]][condition_id(each)] = each
    chosen = {name: each for found in drawn.values() for name, each in sorted(found.items())[:limit]}
    named = pq.read_table(names, columns=["id", "label"])
    labels = dict(zip(named["id"].to_pylist(), named["label"].to_pylist(), strict=True))
    rows = []
    for each in chosen.values():
        step, prompt = each["step"], before_blank(each["prompt"])
        if prompt is None:
            continue
        known = [one for one in each["answers"] if one["id"] == step["object"]] or each["answers"]
        row = {"kind": RIPPLE, "fact": f"{step['subject']} {step['relation']}", "relation": step["relation"]}
        row |= {"subject": labels[int(step["subject"][1:])], "object": known[0]["label"]}
        rows += [{**row, "prompt": text} for text in (prompt, as_of(old, prompt))]
    write_parquet(pa.Table.from_pylist(rows, TAUGHT), output)
    return len({row["fact"] for row in rows})
