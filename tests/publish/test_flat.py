"""The flat table against one that is written row by row in plain Python."""

import csv
import tempfile
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as some
from support.examples import examples

from factdrift.evaluation.layouts.rows import SCHEMA
from factdrift.publish.flat import FLAT, write_flat

from .conftest import object_, update

TEXT = some.text(some.sampled_from("ab|,\"' é\u3042\n=@;+-"), min_size=1, max_size=6)
DATE = some.none() | some.sampled_from(["2021", "2021-05", "somevalue", "1990/8"])
OBJECT = some.builds(
    object_,
    TEXT,
    some.sampled_from(["new", "obsolete", "static"]),
    some.none() | some.just("Q5"),
    start=DATE,
    end=DATE,
    point_in_time=DATE,
    short=some.none() | TEXT,
)
UPDATES = some.lists(
    some.tuples(some.integers(1, 9), some.lists(OBJECT, max_size=4), TEXT), min_size=1, max_size=15
)


def cell(values: list[str | None]) -> str | None:
    return " | ".join(value or "" for value in values) if any(values) else None


def sheet(text: str) -> str:
    """A text as a spreadsheet may see it; none here is a number."""
    return f"'{text}" if text.lstrip("'")[:1] in (*"=+-@", "\t", "\r") and text.lstrip("'") else text


def flattened(row: dict[str, Any]) -> dict[str, Any]:
    def of(field: str, *decisions: str) -> list[str | None]:
        return [value.get(field) for value in row["objects"] if value["decision"] in decisions]

    def began(decision: str) -> str | None:
        pairs = zip(of("start", decision), of("point_in_time", decision), strict=True)
        return cell([point if start is None else start for start, point in pairs])

    held = ("new", "static")
    return {
        "subject_id": row["subject"]["id"],
        "subject": row["subject"]["label"],
        "relation_id": row["relation"]["id"],
        "relation": row["relation"]["label"],
        "old": cell(of("label", "obsolete")),
        "old_value": cell(of("raw", "obsolete")),
        "old_start": began("obsolete"),
        "old_end": cell(of("end", "obsolete")),
        "new": cell(of("label", "new")),
        "new_value": cell(of("raw", "new")),
        "new_start": began("new"),
        "new_end": cell(of("end", "new")),
        "static": cell(of("label", "static")),
        "prompt": row["update_prompt"],
        "answers": cell(of("label", *held) + [text for text in of("short", *held) if text is not None]),
        "popularity": row["subject_popularity"],
        "scenario": row["scenario"],
        "split": row["split"],
    }


@settings(max_examples=examples(35))
@given(UPDATES)
def test_rows(drawn: list[tuple[int, list[dict[str, Any]], str]]) -> None:
    rows = [
        update(number, objects=objects, relation={"id": "P6", "label": label, "description": None})
        for number, objects, label in drawn
    ]
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pq.write_table(pa.Table.from_pylist(rows, schema=SCHEMA), folder / "dataset.parquet")
        assert write_flat(folder / "dataset.parquet", folder) == len(rows)
        table = pq.read_table(folder / "updates.parquet")
        assert table.schema.equals(FLAT)
        wanted = [flattened(row) for row in rows]
        assert table.to_pylist() == wanted
        with (folder / "updates.csv").open(encoding="utf-8", newline="") as file:
            read = list(csv.DictReader(file))
        popularity = [float(row.pop("popularity")) for row in read]
        assert popularity == [row.pop("popularity") for row in wanted]
        assert read == [{key: sheet(value or "") for key, value in row.items()} for row in wanted]
