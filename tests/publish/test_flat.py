"""The flat table against one that is written row by row in plain Python."""

import csv
import tempfile
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as some
from support.examples import examples

from factdrift.evaluation.layouts.rows import SCHEMA
from factdrift.publish.flat import FLAT, write_flat

from .conftest import named, object_, update

TEXT = some.text(some.sampled_from("ab|,\"' é\u3042\n=@;+-"), min_size=1, max_size=6)
DATE = some.none() | some.sampled_from(["2021", "2021-05", "somevalue", "1990/8"])
DECISION, ITEM = some.sampled_from(["new", "obsolete", "static"]), some.none() | some.just("Q5")
DATES = {"start": DATE, "end": DATE, "point_in_time": DATE}
OBJECT = some.builds(object_, TEXT, DECISION, ITEM, **DATES, short=some.none() | TEXT)
UPDATE = some.tuples(some.integers(1, 9), some.lists(OBJECT, max_size=4), TEXT)
UPDATES = some.lists(UPDATE, min_size=1, max_size=15)


def sheet(text: str) -> str:
    """A text as a spreadsheet may see it; none here is a number."""
    return f"'{text}" if text.lstrip("'")[:1] in (*"=+-@", "\t", "\r") and text.lstrip("'") else text


def flat_row(row: dict[str, Any]) -> dict[str, Any]:
    """A row of the flat table, written in plain Python."""
    by_decision = {
        decision: [value for value in row["objects"] if value["decision"] == decision]
        for decision in ("obsolete", "new", "static")
    }
    lasting = [value for value in row["objects"] if value["decision"] != "obsolete"]
    cells: dict[str, Any] = {
        "subject_id": row["subject"]["id"],
        "subject": row["subject"]["label"],
        "relation_id": row["relation"]["id"],
        "relation": row["relation"]["label"],
        "static": joined(value["label"] for value in by_decision["static"]),
        "prompt": row["update_prompt"],
        "popularity": row["subject_popularity"],
        "scenario": row["scenario"],
        "split": row["split"],
    }
    shorts = [value["short"] for value in lasting if value["short"] is not None]
    cells["answers"] = joined([*(value["label"] for value in lasting), *shorts])
    for name, decision in (("old", "obsolete"), ("new", "new")):
        values = by_decision[decision]
        starts = (own["point_in_time"] if own["start"] is None else own["start"] for own in values)
        cells[name] = joined(value["label"] for value in values)
        cells[f"{name}_value"] = joined(value["raw"] for value in values)
        cells[f"{name}_start"] = joined(starts)
        cells[f"{name}_end"] = joined(value["end"] for value in values)
    return cells


def joined(values: Iterable[str | None]) -> str | None:
    texts = [value or "" for value in values]
    return " | ".join(texts) if any(texts) else None


@settings(max_examples=examples(35))
@given(UPDATES)
def test_rows(drawn: list[tuple[int, list[dict[str, Any]], str]]) -> None:
    rows = [update(number, objects=own, relation=named("P6", label)) for number, own, label in drawn]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), folder / "dataset.parquet")
        assert write_flat(folder / "dataset.parquet", folder) == len(rows)
        table = pq.read_table(folder / "updates.parquet")
        assert table.schema.equals(FLAT)
        assert table.to_pylist() == [flat_row(row) for row in rows]
        with (folder / "updates.csv").open(encoding="utf-8", newline="") as file:
            read = list(csv.DictReader(file))
    texts = [name for name in FLAT.names if name != "popularity"]
    for line, row in zip(read, table.to_pylist(), strict=True):
        assert {name: line[name] for name in texts} == {name: sheet(row[name] or "") for name in texts}
        assert float(line["popularity"]) == row["popularity"]
