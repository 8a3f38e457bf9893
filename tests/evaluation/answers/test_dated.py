"""Scores of questions with a date, on answers by hand."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.questions import write_asof

from factdrift.cli import main
from factdrift.core.tables import write_parquet
from factdrift.evaluation.scores.dated import DATED_SCORES
from factdrift.evaluation.tables import ANSWERS


@pytest.fixture
def items(tmp_path: Path) -> Path:
    return write_asof(tmp_path / "asof.parquet")


def written_scores(items: Path, answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the command makes of rows of ANSWERS, of one model."""
    path, output = items.with_name("answers.parquet"), items.with_name("scores.parquet")
    write_parquet(pa.Table.from_pylist([{"model": "m", **row} for row in answers], ANSWERS), path)
    line = ["answer", "dated-scores", "--items", str(items), "--answers", str(path), "-o", str(output)]
    assert main(line) == 0
    table = pq.read_table(output)
    assert table.schema.equals(DATED_SCORES)
    return list(table.to_pylist())


def scores(
    items: Path, likely: dict[tuple[str, str], float], without: dict[str, str] | None = None
) -> dict[tuple[str, str], dict[str, Any]]:
    """The scores where an option has the log-probability of (date, label), else -9.

    `without`: date -> why there is no answer.
    """
    answers = []
    for item in pq.read_table(items).to_pylist():
        logprobs = [likely.get((item["date"], label), -9.0) for label in item["options"]]
        best = logprobs.index(max(logprobs))
        own = {"parsed": best, "correct": best == item["answer_index"], "logprobs": logprobs}
        if reason := (without or {}).get(item["date"]):
            own = {"reason": reason, "correct": False if reason == "not_finite" else None}
        answers.append({"way": "loglik", "method": "none", "question": item["item_id"]} | own)
    return {(row["precision"], row["holds"]): row for row in written_scores(items, answers)}


def test_accuracy_wins_and_robustness(items: Path):
    # Ann is likelier in 2012 than in 2017 and 2020, Bob is not likelier in 2017 than in 2012.
    ann = {("2012", "Ann"): -1.0, ("2017", "Ann"): -2.0, ("2020", "Ann"): -5.0}
    found = scores(items, ann | {("2017", "Bob"): -3.0, ("2012", "Bob"): -3.0})
    everything = found["year", "all"]
    assert (everything["n"], everything["right"]) == (3, 1)
    # Each of three facts is compared with itself under the two dates of the others.
    assert (everything["pairs"], everything["won"], everything["facts"]) == (6, 2 + 1, 3)
    assert everything["robust"] == pytest.approx(1 / 3)
    assert found["year", "then"]["win_rate"] == 1
    assert found["year", "before"]["win_rate"] == 0.5
    assert found["day", "all"]["won"] == 0
    assert list(found)[:4] == [("day", name) for name in ("all", "before", "now", "then")]


def test_what_has_no_answer_is_counted_and_output_that_is_not_finite_is_wrong(items: Path):
    likely = {("2012", "Ann"): -1.0, ("2017", "Bob"): -1.0, ("2020", "Cid"): -1.0}
    row = scores(items, likely, {"2012": "not_finite"})["year", "all"]
    assert (row["n"], row["right"], row["unanswered"]) == (3, 2, 0)
    # Ann's two pairs, and those of the others with 2012, are not won.
    assert (row["pairs"], row["won"], row["pairs_left_out"], row["facts"], row["robust"]) == (6, 2, 0, 3, 0)
    row = scores(items, likely, {"2012": "too_long"})["year", "all"]
    assert (row["n"], row["right"], row["unanswered"]) == (2, 2, 1)
    assert (row["pairs"], row["won"], row["pairs_left_out"], row["facts"], row["robust"]) == (2, 2, 4, 2, 1)
    rows = scores(items, likely, {item["date"]: "too_long" for item in pq.read_table(items).to_pylist()})
    assert {(row["n"], row["accuracy"], row["win_rate"]) for row in rows.values()} == {(0, None, None)}


def test_states_are_compared_on_what_all_are_asked(items: Path):
    asked = {item["date"]: item for item in pq.read_table(items).to_pylist() if item["precision"] == "year"}
    right = {
        "none": {"2012": True, "2017": True, "2020": False},
        "context": {"2012": True, "2017": False, "2020": True},
        "rome": {"2017": False, "2020": True},
    }
    answers = [
        {"way": "letter", "method": method, "question": asked[date]["item_id"], "correct": said}
        for method, by_date in right.items()
        for date, said in by_date.items()
    ]
    counts = ("n", "right", "kept", "lost", "gained")
    found = {
        (row["condition"], row["questions"]): tuple(row[name] for name in counts)
        for row in written_scores(items, answers)
        if row["holds"] == "all"
    }
    assert found == {
        ("without", "all"): (3, 2, 2, 0, 0),
        ("without", "edited"): (2, 1, 1, 0, 0),
        ("with", "all"): (3, 2, 1, 1, 1),
        ("with", "edited"): (2, 1, 0, 1, 1),
        ("edited-rome", "edited"): (2, 1, 0, 1, 1),
    }
