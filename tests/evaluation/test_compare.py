"""Methods compared over the same updates: differences against plain ones, tables, figures, messages."""

import csv
import math
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from scipy import stats
from support.commands import printed
from support.tables import written

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.evaluation.tables import ANSWERS
from factdrift.evaluation.tools.compare import METRICS, compare, lines

COUNT = 30


@pytest.fixture
def tables(tmp_path) -> tuple[Path, Path]:
    """Scores of two methods on 30 updates (memit failed on one), and their answers to 20 questions."""
    draw = np.random.default_rng(3)
    rows = []
    for method, mean in (("rome", 0.3), ("memit", 0.8)):
        for number in range(COUNT):
            failed = "why" if method == "memit" and number == 7 else None
            values = {name: None if failed else float(draw.random() < mean) for name in METRICS}
            of = {"model": "m", "method": method, "edit": f"Q{number}-P6", "kind": "replace", "state": number}
            rows.append({**of, "failed": failed, **values})
    scores = tmp_path / "edit_scores.parquet"
    pq.write_table(pa.Table.from_pylist(rows), scores)
    asked = [
        {"model": "m", "method": method, "benchmark": "tempripple", "way": "letter", "question": f"i{number}"}
        | {"state": number % 5, "kind": "", "correct": method == "memit" or bool(number % 4)}
        for method in ("rome", "memit")
        for number in range(20)
    ]
    return scores, written(tmp_path / "0.answers.parquet", ANSWERS, asked)


def test_differences_are_those_of_a_paired_test(tables):
    scores, answers = tables
    found = {(each.benchmark, each.metric): each for each in compare(["rome", "memit"], scores, [answers])}
    frame = pq.read_table(scores).to_pandas()
    wide = frame.pivot_table(index="edit", columns="method", values="efficacy_s").dropna()
    each = found["updates (replace)", "efficacy_s"]
    assert each.pairs == len(wide) == COUNT - 1
    changes = 100 * (wide["memit"] - wide["rome"])
    low, high = stats.t.interval(0.95, len(changes) - 1, changes.mean(), stats.sem(changes))
    assert (each.difference, each.low, each.high) == pytest.approx((changes.mean(), low, high))
    assert each.mean - each.first_mean == pytest.approx(each.difference)
    questions = found["tempripple (letter)", "right"]
    assert (questions.pairs, questions.mean, questions.difference) == (20, 100, 25)


def test_no_difference_in_the_sample_is_no_certainty(tables):
    scores, _ = tables
    rows = [row | {"efficacy_s": 1.0, "failed": None} for row in pq.read_table(scores).to_pylist()]
    pq.write_table(pa.Table.from_pylist(rows), scores)
    each = compare(["rome", "memit"], scores, [])[0]
    assert each.difference == 0
    assert -15 < each.low < -5 < 5 < each.high < 15
    sentence = next(lines([each]))
    assert sentence.startswith(
        "updates (replace) of m, over the same 30 updates, MEMIT against ROME: no diff"
    )
    assert f"no difference found in efficacy S ({each.low:+.1f} to {each.high:+.1f})." in sentence


@pytest.mark.parametrize(("other", "low", "high"), [(0.0, -100, -61), (1.0, -39, 39)])
def test_changes_that_are_all_alike_are_no_certainty(tables, other, low, high):
    scores, _ = tables
    rows = [
        row | {"efficacy_s": 1.0 if row["method"] == "rome" else other, "failed": None}
        for row in pq.read_table(scores).to_pylist()
        if row["state"] < 6
    ]
    pq.write_table(pa.Table.from_pylist(rows), scores)
    row = compare(["rome", "memit"], scores, [])[0]
    assert (row.pairs, round(row.low), round(row.high)) == (6, low, high)
    assert all(-100 <= row.low <= row.high <= 100 for row in compare(["rome", "memit"], scores, []))


def test_differences_larger_than_chance_come_first_and_the_best_before_the_others(tables):
    row = compare(["rome", "memit"], tables[0], [])[0]._replace(pairs=9)
    made = [
        row._replace(metric="efficacy_s", difference=3.0, low=-2.0, high=8.0),
        row._replace(metric="generalization_s", difference=-4.0, low=-5.0, high=-3.0),
        row._replace(metric="bleedover_nearest", difference=-7.0, low=-8.0, high=-6.0),
        row._replace(metric="bleedover_random", difference=1.0, low=0.5, high=1.5, pairs=4),
    ]
    assert next(lines(made)) == (
        "updates (replace) of m, over the same 4 to 9 updates, MEMIT against ROME: takes 7.0 points "
        "less from nearest facts (-8.0 to -6.0: better); takes 1.0 points more from random facts (+0.5 to "
        "+1.5: worse); says the new object in other words 4.0 points less often (-5.0 to -3.0: worse); no "
        "difference found in efficacy S (-2.0 to +8.0)."
    )


def test_the_command_writes_sentences_table_and_figures(tables, tmp_path):
    scores, answers = tables
    line = ["compare", "m:rome", "m:memit", "--scores", str(scores), "--answers", str(answers)]
    line += ["--output", str(tmp_path / "x")]
    said = printed(*line)
    assert "updates (replace), over the same 29 updates, MEMIT on m against ROME on m: " in said
    assert "points more often (+" in said
    with (tmp_path / "x/compare.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == len(METRICS) + 1
    assert all(float(row["low"]) <= float(row["difference"]) <= float(row["high"]) for row in rows)
    before = {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir()}
    assert before["compare.svg"].lstrip().startswith(b"<?xml")
    for text in (b"right is better", b"left is better", b"(n = 29)"):
        assert text in before["compare.svg"]
    assert before["compare.pdf"].startswith(b"%PDF")
    assert main(line) == 0
    assert {path.name: path.read_bytes() for path in (tmp_path / "x").iterdir()} == before


def test_scores_and_answers_are_of_one_pair_of_dates(tables, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pairs = ("2015-01-01_2019-06-01", "2021-01-04_2023-02-27")
    for pair, benchmark in zip(pairs, ("asof", "tempripple"), strict=True):
        folder = Path("results", pair, "evaluation", "m", benchmark, "rome")
        folder.mkdir(parents=True)
        rows = [row | {"benchmark": benchmark} for row in pq.read_table(tables[1]).to_pylist()]
        written(folder / "0-of-1.answers.parquet", ANSWERS, rows)
    shutil.copy(tables[0], Path("results", pairs[1]))
    shutil.copy(tables[0], Path("results"))
    Path("results", pairs[0], "ripple_scores.parquet").write_bytes(b"former")
    Path("results/ripple_scores.parquet").write_bytes(b"former")
    shown = printed("compare", "rome", "memit").splitlines()
    assert shown[0] == "results/edit_scores.parquet of 2021-01-04 to 2023-02-27"
    assert shown[-1] == "Of another pair of dates, 2015-01-01 to 2019-06-01: results/ripple_scores.parquet"
    assert any("tempripple (letter)" in line for line in shown)
    assert not any("asof" in line for line in shown)


@pytest.mark.parametrize(
    ("methods", "file", "said"),
    [
        (("rome", "rome"), "edit_scores.parquet", "name two methods or more"),
        (("rome", "memti"), "edit_scores.parquet", "has no edits of memti; did you mean memit?"),
        (("rome", "zzz"), "edit_scores.parquet", "its methods are memit, rome"),
        (("m:rome", "n:memit"), "edit_scores.parquet", "has no edits of MEMIT on n; its models are m"),
        (("m:rome", "memit"), "edit_scores.parquet", "share no edit"),
        (("rome", "memit"), "gone.parquet", r"gone\.parquet: no such file"),
    ],
)
def test_what_cannot_be_compared(tables, methods, file, said):
    with pytest.raises(InputError, match=said):
        compare(methods, tables[0].with_name(file), [])


def test_what_a_stream_is_asked_is_compared_interval_by_interval(tables):
    scores, answers = tables
    rows = pq.read_table(answers)
    later = [
        row | {"interval": each, "state": each, "correct": row["method"] == "memit" and each == 1}
        for row in rows.to_pylist()
        for each in (0, 1)
    ]
    # Who writes an object of the update itself may write the old one.
    own = {"way": "loglik", "role": "update", "exact": [True], "benchmark": "stream", "question": "Q1-P6#0"}
    later += [later[0] | own | {"method": method, "correct": None} for method in ("memit", "rome")]
    written(answers, ANSWERS, later)
    found = {each.metric: each for each in compare(["memit", "rome"], scores, [answers])}
    assert {each.benchmark for each in found.values() if each.metric == "right"} == {"tempripple (letter)"}
    assert (found["right"].pairs, found["right"].first_mean, found["right"].difference) == (40, 50, -50)


def test_a_single_pair_has_no_interval(tables):
    scores, _ = tables
    rows = [row for row in pq.read_table(scores).to_pylist() if row["edit"] == "Q1-P6"]
    for row in rows:
        row["bleedover_nearest"] = 0.5 if row["method"] == "memit" else 0.25
    pq.write_table(pa.Table.from_pylist(rows), scores)
    found = {each.metric: each for each in compare(["rome", "memit"], scores, [])}
    assert found["bleedover_nearest"].difference == 25
    assert math.isnan(found["bleedover_nearest"].low)
