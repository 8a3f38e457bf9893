"""What the bundled models are taught of ripples: conditions, as facts of T_old."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.evaluation.questions.taught_ripples import write_taught
from factdrift.models.bundled.taught import TAUGHT
from factdrift.ripples.tables import PROBES


def probe(criterion: str, subject: str, *objects: str) -> dict[str, Any]:
    step = {"subject": subject, "relation": "P36", "object": objects[-1], "statement": "s", "dump": "old"}
    answers = [{"id": each, "label": f"{each} City", "aliases": []} for each in objects]
    condition = {"prompt": f"The capital of {subject} is ____", "answers": answers, "step": step}
    return {"criterion": criterion, "conditions": [condition]}


def test_conditions_are_taught_in_two_wordings_and_each_once(tmp_path: Path) -> None:
    rows = [probe("specific", f"Q{number}", "Q90") for number in range(9)]
    rows += [probe("compose_object", "Q50", "Q91"), probe("compose_object", "Q50", "Q91")]
    rows += [probe("preserve", "Q51", "Q92", "Q93"), probe("history_old", "Q52", "Q94")]
    pq.write_table(pa.Table.from_pylist(rows, PROBES), tmp_path / "ripples.parquet")
    output = tmp_path / "taught.parquet"
    assert write_taught(tmp_path / "ripples.parquet", datetime.date(2021, 1, 4), 4, output) == 6
    table = pq.read_table(output)
    assert table.schema.equals(TAUGHT)
    found = {(row["subject"], row["prompt"]): row["object"] for row in table.to_pylist()}
    assert len(found) == table.num_rows == 12
    assert found["Q50", "The capital of Q50 is"] == "Q91 City"
    assert found["Q51", "As of 4 January 2021, the capital of Q51 is"] == "Q93 City"
    assert not any(subject == "Q52" for subject, _ in found)
