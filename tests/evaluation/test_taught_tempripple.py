"""What a bundled model is taught of TempRIPPLE holds at T_old."""

from __future__ import annotations

import datetime
from pathlib import Path

import pyarrow as pa
from support.tables import written

from factdrift.evaluation.questions.taught import tempripple_wordings
from factdrift.tempripple.schemas import TR_FACTS, TR_RELATED

OLD = datetime.date(2021, 1, 4)
ENTITY = pa.struct([("id", pa.string())])
CHANGES = pa.schema(
    [("subject", ENTITY), ("relation", ENTITY), ("objects", pa.list_(pa.struct([("decision", pa.string())])))]
)


def test_a_fact_is_taught_that_had_certainly_begun_on_the_day(tmp_path: Path) -> None:
    days = [OLD + datetime.timedelta(1), OLD, OLD - datetime.timedelta(400), None]
    facts = [
        {"fact_id": f"f{place}", "s": "Q1", "p": "P6", "s_label": "Town", "o_label": f"Mayor {place}"}
        | {"ordinal": place, "ordinal_text": f"{place}th", "start_hi": day}
        | {
            "phrase": f"the {place}th mayor of Town",
            "statement": f"the {place}th mayor of Town is Mayor {place}",
        }
        for place, day in enumerate(days, start=4)
    ]
    tables = [
        written(tmp_path / f"{name}.parquet", schema, rows)
        for name, schema, rows in (
            ("facts", TR_FACTS, facts),
            ("related", TR_RELATED, []),
            ("wikifactdiff", CHANGES, []),
        )
    ]
    taught = tempripple_wordings(*tables, OLD)
    assert len({row["fact"] for row in taught}) == 2
    assert [(row["object"], row["prompt"]) for row in taught[::3]] == [
        ("Mayor 5", "The most recent mayor of Town is"),
        ("Mayor 6", "The previous mayor of Town is"),
    ]
