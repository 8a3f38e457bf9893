"""Scores of models whose answers are made up, of TempRIPPLE and of questions with a date."""

import json
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.questions import facts, items, write_asof

from factdrift.cli import main
from factdrift.core.intervals import wilson
from factdrift.core.tables import write_parquet
from factdrift.evaluation.scores.answers import SCORES, lines, p_value
from factdrift.evaluation.scores.dated import DATED_SCORES
from factdrift.evaluation.tables import ANSWERS
from factdrift.tempripple.schemas import TR_FACTS, TR_ITEMS, write_rows

Row = dict[str, Any]
METHODS = {"without": "none", "with": "context"}
"""Condition -> state."""


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

    def __init__(self, folder: Path, rows: list[Row], asked: list[Row], dated: list[Row]):
        self.folder = folder
        write_rows(asked, TR_ITEMS, folder / "items.parquet")
        write_rows(dated, TR_FACTS, folder / "facts.parquet")
        pq.write_table(pa.Table.from_pylist(rows, schema=ANSWERS), folder / "one.parquet")
        (folder / "run.json").write_text('{"run_id": "r"}', encoding="utf-8")
        self.scores, self.tests = folder / "scores.parquet", folder / "tests.json"
        assert self.run() == 0

    def run(self, *more: str) -> int:
        """The status of the command; `rows` is what it has written."""
        given = {"facts": "facts.parquet", "answers": "one.parquet"}
        given |= {"runs": "run.json", "out-predictions": "all.parquet", "out-runs": "runs.json"}
        given |= {"out-tests": "tests.json", "output": "scores.parquet"}
        line = [f"--{name}={self.folder / file}" for name, file in given.items()]
        status = main(["answer", "scores", str(self.folder / "items.parquet"), *line, "--draws=200", *more])
        table = pq.read_table(self.scores)
        assert table.schema.equals(SCORES)
        self.rows = table.to_pylist()
        return status

    def lines(self, name: str) -> list[str]:
        """A table over all items as text."""
        return list(lines(name, self.rows, json.loads(self.tests.read_text(encoding="utf-8")), "all"))

    def of(self, **wanted: Any) -> list[Row]:
        wanted = {"items": "all", **wanted}
        return [row for row in self.rows if all(row[key] == value for key, value in wanted.items())]


def test_what_has_no_letter_is_wrong_and_what_was_not_asked_does_not_count(tmp_path):
    def choose(item: Row) -> Any:
        return {0: None, 1: "too_long"}.get(int(item["item_id"][1]), right(item))

    found = Scored(tmp_path, predicted("m", "with", items(), choose), items(), facts())
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
    found = Scored(tmp_path, rows, items(), facts())
    cutoffs = json.dumps(dict.fromkeys(("m", "silent", "absent"), "2017-01-01"))
    path = tmp_path / "cutoffs.json"
    path.write_text(cutoffs, encoding="utf-8")
    assert found.run("--cutoffs", cutoffs) == 0
    inline = found.scores.read_bytes()
    assert found.run("--cutoffs", str(path)) == 0
    assert found.scores.read_bytes() == inline
    assert "answer.model_cutoff: absent was not asked" in capsys.readouterr().err
    # Old facts begin in 2012, 2016 and 2020; answers without a letter are counted among those that count.
    for task, model, counts in (
        *(("old", "m", (2, 1, 0)), ("old", "n", (3, 0, 0)), ("old", "silent", (2, 1, 2))),
        ("new", "m", (3, 0, 0)),
    ):
        (row,) = found.of(model=model, task=task)
        assert (row["n"], row["beyond_cutoff"], row["unparsed"]) == counts
    assert found.run("--cutoffs", '{"m": "soon"}') == 1
    assert found.run("--runs", str(tmp_path / "run.json")) == 1
    assert "--runs: 2 descriptions for 1 tables of --answers" in capsys.readouterr().err


@pytest.fixture(scope="module")
def three(tmp_path_factory) -> Scored:
    """A model under three conditions, scored in two ways."""
    rows: list[Row] = []
    for scoring in ("letter", "loglik"):
        rows += predicted("m", "without", items(), wrong, scoring)
        rows += predicted("m", "with", items(), right, scoring)
        rows += predicted("m", "rome", items(), lambda item: right(item) if item["hop"] else None, scoring)
    return Scored(tmp_path_factory.mktemp("three"), rows, items(), facts())


def test_the_table_says_which_conditions_have_fewer_items(tmp_path):
    rows = predicted("m", "without", items(), right)
    rows += predicted("m", "rome", items(), lambda item: "edit_failed" if item["hop"] else right(item))
    rows += predicted("n", "with", items(), lambda item: "too_long")
    found = Scored(tmp_path, rows, items(), facts())
    said = found.lines("table2")
    assert "w/o ctx: n (items/asked facts): 3/3, 2/2, 3/3, 2/2" in said
    assert "ROME: n (items/asked facts): 3/3, 0/0, 3/3, 0/0" in said
    assert "ROME: 4 could not be asked and do not count" in said
    # A group without any answer has a row.
    assert {(row["n"], row["accuracy"]) for row in found.rows if row["model"] == "n"} == {(0, None)}
    assert sum(row["unanswered"] for row in found.of(model="n")) == 10
    assert "w/ ctx: 10 could not be asked and do not count" in said
    assert any(line.split() == ["w/", "ctx"] + ["-"] * 8 for line in said)


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
        assert three.run(f"--folder={tmp_path}", f"--out-figures={path}") == 0
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
    found = Scored(tmp_path, rows, asked, facts())
    assert {row["scoring"] for row in found.rows} == {"written"}
    for condition, share in (("without", 0.0), ("with", 1.0)):
        mine = found.of(condition=condition)
        assert sum(row["n"] for row in mine) == len(asked)
        assert {row["accuracy"] for row in mine} == {share}
        assert {row["unparsed"] for row in mine} == {0}
    assert found.run(f"--folder={tmp_path}") == 0
    text = (tmp_path / "table2.txt").read_text(encoding="utf-8")
    assert 0 <= text.index("What was written") < text.index("Table 2")


@pytest.fixture
def asof(tmp_path) -> Path:
    return write_asof(tmp_path / "asof.parquet")


def dated_scores(asof: Path, answers: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """What the command makes of rows of ANSWERS, of one model."""
    path, output = asof.with_name("answers.parquet"), asof.with_name("scores.parquet")
    write_parquet(pa.Table.from_pylist([{"model": "m", **row} for row in answers], ANSWERS), path)
    line = ["answer", "scores", str(asof), "--benchmark=asof", "--answers", str(path), "-o", str(output)]
    assert main(line) == 0
    table = pq.read_table(output)
    assert table.schema.equals(DATED_SCORES)
    return list(table.to_pylist())


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
        (
            ["--benchmark=ripples", "--predictions=p.csv"],
            "--predictions: other programs' answers are scored on",
        ),
        (["--benchmark=asof", "--answers=a.parquet"], "--output: the scores of questions with a date"),
    ],
)
def test_what_a_benchmark_needs_is_asked_for(flags, message, capsys):
    assert main(["answer", "scores", "questions.parquet", *flags]) == 1
    assert message in capsys.readouterr().err
