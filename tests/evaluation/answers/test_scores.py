"""Scores of answers, made up or of a model: of TempRIPPLE and of questions with a date."""

import itertools
import json
import shutil
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.asking import command, saved
from support.commands import files, printed, refusal
from support.questions import items, write_asof, write_tables
from support.tables import written

from factdrift.core.intervals import wilson
from factdrift.evaluation.scores.answers import SCORES, lines, p_value
from factdrift.evaluation.scores.dated import DATED_SCORES
from factdrift.evaluation.tables import ANSWERS

Row = dict[str, Any]
METHODS = {"without": "none", "with": "context"}
"""Condition -> state."""
OUTPUTS = {"out_predictions": "all.parquet", "out_runs": "runs.json", "out_tests": "tests.json"}


def predicted(
    model: str, condition: str, asked: list[Row], choose: Any, scoring: str = "letter"
) -> list[Row]:
    """A row of ANSWERS for each item with options; `choose(item)` is the option, None, or a reason."""
    rows = []
    for item in asked:
        if item["open_only"]:
            continue
        choice = choose(item)
        row = {"model": model, "way": scoring, "method": METHODS.get(condition, condition)}
        row |= {"benchmark": "tempripple", "question": item["item_id"]}
        if isinstance(choice, str):
            row["reason"] = choice
        else:
            row |= {"parsed": choice, "correct": choice == item["answer_index"], "output": ""}
        rows.append(row)
    return rows


def right(item: Row) -> int:
    return int(item["answer_index"])


def wrong(item: Row) -> int:
    return (right(item) + 1) % 4


class Scored:
    """The scores of predictions, by the command, as a folder with the files of the stage."""

    def __init__(self, folder: Path, rows: list[Row]):
        self.folder, (asked, dated) = folder, write_tables(folder)
        answers = written(folder / "answers.parquet", ANSWERS, rows)
        (folder / "run.json").write_text('{"run_id": "r"}', encoding="utf-8")
        self.line = ["answer", "scores", asked, f"--facts={dated}", f"--answers={answers}", "--draws=200"]
        self.line += files(folder, runs="run.json", output="scores.parquet", **OUTPUTS)
        self.run()

    def run(self, *more: str) -> None:
        """Runs the command; `rows` is what it has written."""
        printed(*self.line, *more)
        table = pq.read_table(self.folder / "scores.parquet")
        assert table.schema.equals(SCORES)
        self.rows = table.to_pylist()

    def lines(self, name: str) -> list[str]:
        """A table over all items as text."""
        tests = json.loads((self.folder / "tests.json").read_text(encoding="utf-8"))
        return list(lines(name, self.rows, tests, "all"))

    def of(self, **wanted: Any) -> list[Row]:
        wanted = {"items": "all", **wanted}
        return [row for row in self.rows if all(row[key] == value for key, value in wanted.items())]


def test_what_has_no_letter_is_wrong_and_what_was_not_asked_does_not_count(tmp_path):
    def choose(item: Row) -> Any:
        return {0: None, 1: "too_long"}.get(int(item["item_id"][1]), right(item))

    found = Scored(tmp_path, predicted("m", "with", items(), choose))
    counts = ("n", "right", "unparsed", "unanswered")
    rows = {(row["task"], row["hop"]): tuple(row[name] for name in counts) for row in found.of()}
    # Items i00 and i10 are about the first place: the new fact has no letter, the old one was not asked.
    assert (rows["new", 0], rows["old", 0]) == ((3, 2, 1, 0), (2, 2, 0, 1))
    assert {row["beyond_cutoff"] for row in found.rows} == {0}
    # Items with an even number of the fact discriminate: i00, i20 and i40, which are of new facts.
    some = {(row["task"], row["hop"]): row for row in found.of(items="discriminating")}
    assert {task for task, _ in some} == {"new", "new related"}
    assert tuple(some["new", 0][name] for name in counts) == (3, 2, 1, 0)


def test_facts_beyond_a_models_cutoff_are_left_out_and_counted(tmp_path, capsys):
    choices = {"m": right, "n": right, "silent": lambda item: None}
    rows = [row for model, choose in choices.items() for row in predicted(model, "without", items(), choose)]
    found = Scored(tmp_path, rows)
    cutoffs = json.dumps(dict.fromkeys(("m", "silent", "absent"), "2017-01-01"))
    (tmp_path / "cutoffs.json").write_text(cutoffs, encoding="utf-8")
    found.run("--cutoffs", tmp_path / "cutoffs.json")
    of_file = found.rows
    found.run("--cutoffs", cutoffs)
    assert found.rows == of_file
    assert "answer.model_cutoff: absent was not asked" in capsys.readouterr().err
    # Old facts begin in 2012, 2016 and 2020; answers without a letter are counted among those that count.
    for task, model, counts in (
        *(("old", "m", (2, 1, 0)), ("old", "n", (3, 0, 0)), ("old", "silent", (2, 1, 2))),
        ("new", "m", (3, 0, 0)),
    ):
        (row,) = found.of(model=model, task=task)
        assert (row["n"], row["beyond_cutoff"], row["unparsed"]) == counts
    assert "no object from models to days" in refusal(*found.line, "--cutoffs", '{"m": "soon"}')
    said = refusal(*found.line, "--runs", tmp_path / "run.json")
    assert "--runs: 2 descriptions for 1 tables of --answers" in said


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> Scored:
    """A model under three conditions, scored in two ways."""
    rows: list[Row] = []
    for scoring in ("letter", "loglik"):
        rows += predicted("m", "without", items(), wrong, scoring)
        rows += predicted("m", "with", items(), right, scoring)
        rows += predicted("m", "rome", items(), lambda item: right(item) if item["hop"] else None, scoring)
    return Scored(tmp_path_factory.mktemp("three"), rows)


def test_the_tables_by_task_and_by_hop(three):
    for row in three.of(condition="with"):
        assert (row["wilson_low"], row["wilson_high"]) == wilson(row["n"], row["n"])
    said = three.lines("table2")
    assert said[said.index("m, letter") + 1] == "n (items/asked facts): 3/3, 2/2, 3/3, 2/2"
    rows = [line.split() for line in said if line.startswith(("w/", "ROME  "))]
    assert [row[0] for row in rows[:3]] == ["w/o", "w/", "ROME"]
    assert rows[1][2:] == ["_1.000_", "[0.44,", "1.00]", ".250", "_1.000_", "[0.34,", "1.00]", ".500"] * 2
    assert rows[2][1:5] == ["0.000", "[0.00,", "0.56]", "1.000"]
    assert "ROME: 6 answers have no letter, or no finite likelihood, and count as wrong" in said
    by_hop = three.lines("table3")
    rome = next(line for line in by_hop if line.startswith("ROME"))
    assert rome.split()[:5] == ["ROME", "0.000", "_1.000_", ".100", "-"]
    assert [p_value(p) for p in (None, 1.0, 0.0421, 0.0009)] == ["-", "1.000", ".042", "<.001"]


def test_the_tables_as_csv_and_the_figure(three, tmp_path):
    one, two = tmp_path / "one.svg", tmp_path / "two.svg"
    for path in (one, two):
        three.run(f"--folder={tmp_path}", f"--out-figures={path}")
    header, *rows = (line.split(",") for line in (tmp_path / "table2.csv").read_text().splitlines())
    assert len([row for row in rows if row[0] == "all" and row[4:6] == ["new", "0"]]) == 2 * 3
    assert header[:6] == ["items", "model", "scoring", "condition", "task", "hop"]
    assert one.read_bytes() == two.read_bytes()
    assert "ROME" in one.read_text(encoding="utf-8")


def test_items_without_options_count_in_writing(tmp_path):
    asked = items()
    assert any(item["open_only"] for item in asked)
    rows = []
    for method, verdict in (("none", "stale"), ("context", "correct")):
        named = {"model": "m", "way": "written", "method": method, "benchmark": "tempripple"}
        named |= {"output": ".", "verdict": verdict, "correct": verdict == "correct"}
        roles = {item["item_id"]: f"{item['task']} {item['hop']}" for item in asked}
        rows += [named | {"question": id, "role": role} for id, role in roles.items()]
    found = Scored(tmp_path, rows)
    assert {row["scoring"] for row in found.rows} == {"written"}
    for condition, share in (("without", 0.0), ("with", 1.0)):
        mine = found.of(condition=condition)
        assert sum(row["n"] for row in mine) == len(asked)
        assert {row["accuracy"] for row in mine} == {share}
        assert {row["unparsed"] for row in mine} == {0}
    found.run(f"--folder={tmp_path}")
    text = (tmp_path / "table2.txt").read_text(encoding="utf-8")
    assert 0 <= text.index("What was written") < text.index("Table 2")


@pytest.fixture
def asof(tmp_path) -> Path:
    return write_asof(tmp_path / "asof.parquet")


def dated_scores(asof: Path, answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the command makes of rows of ANSWERS, of one model."""
    output = asof.with_name("scores.parquet")
    path = written(asof.with_name("answers.parquet"), ANSWERS, [{"model": "m", **row} for row in answers])
    printed("answer", "scores", asof, "--benchmark=asof", "--answers", path, "-o", output)
    assert pq.read_schema(output).equals(DATED_SCORES)
    return pq.read_table(output).to_pylist()


def scores_where(
    asof: Path, likely: dict[tuple[str, str], float], without: dict[str, str] | None = None
) -> dict[tuple[str, str], dict[str, Any]]:
    """The scores where an option has the log-probability of (date, label), else -9.

    `without`: date -> why there is no answer.
    """
    answers = []
    for item in pq.read_table(asof).to_pylist():
        logprobs = [likely.get((item["date"], label), -9.0) for label in item["options"]]
        best = logprobs.index(max(logprobs))
        own = {"parsed": best, "correct": best == item["answer_index"], "logprobs": logprobs}
        if reason := (without or {}).get(item["date"]):
            own = {"reason": reason, "correct": False if reason == "not_finite" else None}
        answers.append({"way": "loglik", "method": "none", "question": item["item_id"]} | own)
    return {(row["precision"], row["holds"]): row for row in dated_scores(asof, answers)}


def test_accuracy_wins_and_robustness(asof):
    # Ann is likelier in 2012 than in 2017 and 2020, Bob is not likelier in 2017 than in 2012.
    ann = {("2012", "Ann"): -1.0, ("2017", "Ann"): -2.0, ("2020", "Ann"): -5.0}
    found = scores_where(asof, ann | {("2017", "Bob"): -3.0, ("2012", "Bob"): -3.0})
    everything = found["year", "all"]
    assert (everything["n"], everything["right"]) == (3, 1)
    # Each of three facts is compared with itself under the two dates of the others.
    assert (everything["pairs"], everything["won"], everything["facts"]) == (6, 2 + 1, 3)
    assert everything["robust"] == pytest.approx(1 / 3)
    assert found["year", "then"]["win_rate"] == 1
    assert found["year", "before"]["win_rate"] == 0.5
    assert found["day", "all"]["won"] == 0
    assert list(found)[:4] == [("day", name) for name in ("all", "before", "now", "then")]


def test_what_has_no_answer_is_counted_and_output_that_is_not_finite_is_wrong(asof):
    likely = {("2012", "Ann"): -1.0, ("2017", "Bob"): -1.0, ("2020", "Cid"): -1.0}
    row = scores_where(asof, likely, {"2012": "not_finite"})["year", "all"]
    assert (row["n"], row["right"], row["unanswered"]) == (3, 2, 0)
    # Ann's two pairs, and those of the others with 2012, are not won.
    assert (row["pairs"], row["won"], row["pairs_left_out"], row["facts"], row["robust"]) == (6, 2, 0, 3, 0)
    row = scores_where(asof, likely, {"2012": "too_long"})["year", "all"]
    assert (row["n"], row["right"], row["unanswered"]) == (2, 2, 1)
    assert (row["pairs"], row["won"], row["pairs_left_out"], row["facts"], row["robust"]) == (2, 2, 4, 2, 1)
    rows = scores_where(asof, likely, {item["date"]: "too_long" for item in pq.read_table(asof).to_pylist()})
    assert {(row["n"], row["accuracy"], row["win_rate"]) for row in rows.values()} == {(0, None, None)}


def test_states_are_compared_on_what_all_are_asked(asof):
    asked = {item["date"]: item for item in pq.read_table(asof).to_pylist() if item["precision"] == "year"}
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
        for row in dated_scores(asof, answers)
        if row["holds"] == "all"
    }
    assert found == {
        ("without", "all"): (3, 2, 2, 0, 0),
        ("without", "edited"): (2, 1, 1, 0, 0),
        ("with", "all"): (3, 2, 1, 1, 1),
        ("with", "edited"): (2, 1, 0, 1, 1),
        ("edited-rome", "edited"): (2, 1, 0, 1, 1),
    }


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "--answers: name tables of answers"),
        (["--benchmark=ripples", "--predictions=p.csv"], "--predictions: other programs' answers are scored"),
        (["--benchmark=asof", "--answers=a.parquet"], "--output: the scores of questions with a date"),
    ],
)
def test_what_a_benchmark_needs_is_asked_for(flags, message):
    assert message in refusal("answer", "scores", "questions.parquet", *flags)


def test_from_a_model_to_the_tables(tmp_path):
    items, facts = write_tables(tmp_path)
    model, vision = saved(tmp_path / "model"), tmp_path / "vision"
    shutil.copytree(model, vision)
    (vision / "config.json").write_text('{"model_type": "qwen2_5_vl"}', encoding="utf-8")
    jobs = [
        command(folder, tmp_path / name, "tempripple", [items], method, *more, batch=4)
        for folder, name, method, *more in (
            (model, "none", "none"),
            (model, "context", "context"),
            (model, "ft", "ft", f"--facts={facts}", "--set", '{"layers": [1], "steps": 2}'),
            (vision, "lost", "none"),
        )
    ]
    line = ["answer", "scores", items, f"--facts={facts}", "--draws=50", f"--folder={tmp_path}"]
    line += ["--skipped", json.dumps([[str(model), "magic", "it has no values"]])]
    line += ["--answers", *(job.path("answers.parquet") for job in jobs)]
    line += ["--runs", *(job.path("json") for job in jobs)]
    said = printed(*line, *files(tmp_path, output="scores", **OUTPUTS))
    assert "letter\nn (items/asked facts): 3/3, 2/2, 3/3, 2/2\n" in said
    assert jobs[-1].about["skipped"].startswith(f"models: {vision}")
    assert "is of the type 'qwen2_5_vl', for which" in said.split("Table")[-1]
    for option, file in (("--facts", "none.parquet"), ("--runs", "none.json")):
        assert f"factdrift: {option}: {file}: no such file" in refusal(*line, "-o=o", f"{option}={file}")
    for table in ("table2", "table3"):
        assert "\nmagic skipped: it has no values" in (tmp_path / f"{table}.txt").read_text(encoding="utf-8")
    predictions = pq.read_table(tmp_path / "all.parquet").to_pylist()
    assert {row["model"] for row in predictions} == {str(model)}
    conditions = {(row["scoring"], row["condition"]) for row in predictions}
    assert conditions == {*itertools.product(("letter", "loglik"), ("without", "with", "edited-ft"))}
    assert len(predictions) == 6 * 10
    unedited, context, edited, *_ = json.loads((tmp_path / "runs.json").read_text(encoding="utf-8"))
    assert [run["method"] for run in (unedited, context, edited)] == ["none", "context", "ft"]
    assert edited["hyper"]["layers"] == [1]
    assert len({run["run_id"] for run in (unedited, context, edited)}) == 3
    assert sum(batch["evaluation_seconds"] for batch in unedited["batches"]) > 0
