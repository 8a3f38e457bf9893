"""Scores of what follows from updates, from answers by hand; an edit that writes one object everywhere."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from factdrift.core.tables import write_parquet
from factdrift.evaluation.questions.clozes import condition_id, read_ripples
from factdrift.evaluation.questions.question import Tables
from factdrift.evaluation.questions.updates import EDITS
from factdrift.evaluation.scores.ripples import Judged, lines, scores, share_of
from factdrift.evaluation.tables import ANSWERS
from factdrift.evaluation.ways.asked import verdict
from factdrift.ripples.tables import MUST_CHANGE, PROBES

Row = dict[str, Any]
NEW = "Olaf Scholz"


def answer(label: str) -> Row:
    return {"id": None, "label": label, "aliases": [f"{label} II"]}


def probe(number: int, criterion: str, update: str, right: str, known: bool = True) -> Row:
    condition = {"prompt": f"Fact {number} is ____", "answers": [answer("so")], "step": None}
    found: Row = {"probe_id": f"p{number}", "update": update, "criterion": criterion, "stale": []}
    found |= {"prompt": f"Probe {number} is ____", "answers": [answer(right)]}
    return found | {"conditions": [condition] * known, "must_change": criterion in MUST_CHANGE}


ROWS = [
    probe(1, "alias", "Q1-P6", NEW, known=False),
    probe(2, "compose_object", "Q1-P6", "Britta Ernst"),
    probe(3, "specific", "Q1-P6", "Berlin"),
    probe(4, "history_old", "Q1-P6", "Angela Merkel"),
    probe(5, "neighbor", "Q2-P6", "Mark Rutte"),
    probe(6, "history_new", "Q2-P6", NEW, known=False),
    probe(7, "specific", "Q9-P9", "nobody edits this"),
]


@pytest.fixture
def files(tmp_path) -> tuple[Path, Path]:
    """Probes, and two edits that have some of them."""
    edits = [
        {"edit": name, "prompt": f"The head of {name} is", "target": NEW, "subject_label": name, "probes": []}
        for name in ("Q1-P6", "Q2-P6")
    ]
    write_parquet(pa.Table.from_pylist(ROWS, schema=PROBES), tmp_path / "ripples.parquet")
    write_parquet(pa.Table.from_pylist(edits, schema=EDITS), tmp_path / "edits.parquet")
    return tmp_path / "ripples.parquet", tmp_path / "edits.parquet"


def answers_of(files: tuple[Path, Path], method: str, written: dict[str, str], output: Path) -> Path:
    """Answers in writing, `written` by the id of the question or `*`."""
    rows = []
    for each in read_ripples(Tables(files)).questions:
        text = written.get(each.id, written.get("*"))
        if text is not None and (method == "none" or not each.unedited):
            row = {"model": "m", "method": method, "benchmark": "ripples", "question": each.id}
            rows.append({**row, "way": "written", "output": text, **verdict(each, text, each.prompt)})
    write_parquet(pa.Table.from_pylist(rows, schema=ANSWERS), output)
    return output


def test_a_method_that_writes_the_new_object_everywhere_is_caught(files, tmp_path):
    rights = {row["probe_id"]: row["answers"][0]["label"] for row in ROWS}
    known = {condition_id(row["conditions"][0]): "so" for row in ROWS if row["conditions"]}
    known[condition_id(ROWS[1]["conditions"][0])] = "otherwise"
    said = {"none": {**rights, "p1": "?", "p6": "?", **known}, "everywhere": {"*": f" {NEW}."}}
    paths = [answers_of(files, each, texts, tmp_path / f"{each}.parquet") for each, texts in said.items()]
    rows = scores(files[0], paths, 0).to_pylist()
    of = {(row["method"], row["criterion"]): row for row in rows}
    for criterion in ("alias", "history_new"):
        assert of["everywhere", criterion]["right"] == 1
        assert of["none", criterion]["right"] == 0
    for criterion in ("specific", "history_old", "neighbor"):
        row = of["everywhere", criterion]
        assert (row["right"], row["kept"], row["lost"], row["gained"]) == (0, 0, 1, 0)
        assert (of["none", criterion]["right"], row["known"], row["known_right"]) == (1, 1, 0)
    # A condition that the unedited model gives wrong.
    assert of["everywhere", "compose_object"]["known"] == 0
    assert of["everywhere", "compose_object"]["known_right"] is None
    text = "\n".join(lines(rows))
    assert "0.0 / unknown" in text


def test_intervals_are_of_updates():
    def answers(*shares: tuple[int, int]) -> list[Judged]:
        return [
            Judged(f"u{update}", number < right, True, None)
            for update, (right, count) in enumerate(shares)
            for number in range(count)
        ]

    assert share_of(answers((8, 8), (0, 8), (8, 8), (0, 8)), 0) == (0.5, 0.0, 1.0)
    share, low, high = share_of(answers(*[(8, 8)] * 4), 0)
    assert (share, high) == (1, 1)
    assert low == pytest.approx(4 / (4 + 1.96**2))
    assert share_of([], 0) == (None, None, None)
