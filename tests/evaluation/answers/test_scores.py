"""Scores of simulated models that answer always right, never right, by chance, or not at all."""

from __future__ import annotations

import datetime
import json
import random
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.questions import facts, items

from factdrift.cli import main
from factdrift.evaluation.scores.answer_jobs import AnswerScores
from factdrift.evaluation.scores.answer_table import by_hop, by_task, draw, p_value, read_scores, write_csv
from factdrift.evaluation.scores.answers import SCORES
from factdrift.evaluation.tables import ANSWERS
from factdrift.tempripple.metrics import clustered_interval, mcnemar, wilson
from factdrift.tempripple.schemas import TASKS, TR_FACTS, TR_ITEMS, write_rows

Row = dict[str, Any]
METHODS = {"without": "none", "with": "context"}
"""Condition -> state."""


def predicted(
    model: str, condition: str, asked: list[Row], choose: Any, scoring: str = "letter"
) -> list[Row]:
    """A row of ANSWERS for each item with options; `choose(item)` is the option, None, or a reason."""
    rows = []
    for item in asked:
        choice = None if item["open_only"] else choose(item)
        if item["open_only"]:
            continue
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
    """The scores of predictions, as a folder with the files of the stage."""

    def __init__(
        self,
        folder: Path,
        rows: list[Row],
        asked: list[Row],
        dated: list[Row],
        cutoffs: dict[str, str] | None = None,
    ):
        self.folder = folder
        write_rows(asked, TR_ITEMS, folder / "items.parquet")
        write_rows(dated, TR_FACTS, folder / "facts.parquet")
        path = folder / "one.parquet"
        pq.write_table(pa.Table.from_pylist(rows, schema=ANSWERS), path)
        self.scores, self.tests = folder / "scores.parquet", folder / "tests.json"
        AnswerScores(
            items_=folder / "items.parquet",
            facts=folder / "facts.parquet",
            answers=(path,),
            runs=('{"run_id": "r"}',),
            cutoffs=json.dumps(cutoffs or {}),
            strict=False,
            draws=200,
            seed=0,
            out_predictions=folder / "predictions.parquet",
            out_runs=folder / "runs.json",
            out_tests=self.tests,
            output=self.scores,
        ).run()
        table = pq.read_table(self.scores)
        assert table.schema.equals(SCORES)
        self.rows = table.to_pylist()

    def of(self, **wanted: Any) -> list[Row]:
        wanted = {"items": "all", **wanted}
        return [row for row in self.rows if all(row[key] == value for key, value in wanted.items())]


def many(number: int) -> list[Row]:
    """Items of hop 0 about new facts, each of a timeline of its own, with balanced letters."""
    item = items()[0]
    return [
        {**item, "item_id": f"m{n:05d}", "s": f"Q{n}", "asked_s": f"Q{n}", "fact_id": f"f{n}", "task": 1}
        | {"answer_index": n % 4}
        for n in range(number)
    ]


def dates_of(asked: list[Row], role: str = "new") -> list[Row]:
    day = datetime.date(2022, 3, 1)
    return [
        {"fact_id": item["fact_id"], "p": "P6", "role": role, "start_lo": day, "start_hi": day}
        for item in asked
    ]


def test_models_that_are_always_or_never_right(tmp_path: Path) -> None:
    rows = predicted("always", "without", items(), right) + predicted("never", "without", items(), wrong)
    found = Scored(tmp_path, rows, items(), facts())
    assert {row["accuracy"] for row in found.of(model="always")} == {1.0}
    assert {row["accuracy"] for row in found.of(model="never")} == {0.0}
    assert {row["by_asked_fact_high"] for row in found.of(model="never")} == {0.0}
    assert sum(row["n"] for row in found.of(model="never")) == 10
    for row in found.of(model="always"):
        assert (row["wilson_low"], row["wilson_high"]) == wilson(row["n"], row["n"])


def test_a_model_that_answers_at_random_is_at_chance(tmp_path: Path) -> None:
    asked, draw_letter = many(4000), random.Random(1)
    rows = predicted("dice", "without", asked, lambda item: draw_letter.randrange(4))
    rows += predicted("same", "without", asked, lambda item: 0)
    found = Scored(tmp_path, rows, asked, dates_of(asked))
    (dice,), (same,) = found.of(model="dice"), found.of(model="same")
    assert dice["wilson_low"] < 0.25 < dice["wilson_high"]
    assert dice["wilson_high"] - dice["wilson_low"] < 0.03
    # Balanced letters leave nothing to a model that always says A.
    assert same["accuracy"] == 0.25


def test_a_model_that_only_repeats_the_context(tmp_path: Path) -> None:
    """It knows nothing without context, and with it the new facts only."""
    rows = predicted("parrot", "without", items(), wrong)
    rows += predicted(
        "parrot", "with", items(), lambda item: right(item) if item["task"] == 1 else wrong(item)
    )
    found = Scored(tmp_path, rows, items(), facts())
    by_task = {row["task"]: row["accuracy"] for row in found.of(condition="with")}
    assert by_task == {"new": 1.0, "old": 0.0, "new related": 0.0, "old related": 0.0}
    tests = json.loads(found.tests.read_text(encoding="utf-8"))["letter"]
    (pair,) = (row for row in tests["mcnemar"] if (row["items"], row["task"]) == ("all", "new"))
    assert (pair["only_first"], pair["only_second"], pair["p"]) == (0, 3, mcnemar(0, 3).p)
    assert {row["condition"] for row in tests["duration"]} == {"with"}


def test_what_has_no_letter_is_wrong_and_what_was_not_asked_does_not_count(tmp_path: Path) -> None:
    def choose(item: Row) -> Any:
        return {0: None, 1: "too_long"}.get(int(item["item_id"][1]), right(item))

    found = Scored(tmp_path, predicted("m", "with", items(), choose), items(), facts())
    rows = {(row["task"], row["hop"]): row for row in found.of()}
    # Items i00 and i10 are about the first place: the new fact has no letter, the old one was not asked.
    new, old = rows["new", 0], rows["old", 0]
    assert (new["n"], new["right"], new["unparsed"], new["unanswered"]) == (3, 2, 1, 0)
    assert (old["n"], old["right"], old["unparsed"], old["unanswered"]) == (2, 2, 0, 1)
    other = {(row["task"], row["hop"]): row for row in found.of(items="discriminating")}
    discriminating = [item for item in items() if item["discriminates"] and not item["open_only"]]
    for (task, hop), row in rows.items():
        mine = [item for item in discriminating if (TASKS[item["task"] - 1], item["hop"]) == (task, hop)]
        lost = {reason: [item["item_id"][1] for item in mine].count(reason) for reason in "01"}
        if mine:
            left = other[task, hop]
            assert (left["n"], left["unparsed"], left["unanswered"]) == (
                len(mine) - lost["1"],
                lost["0"],
                lost["1"],
            )
        assert row["beyond_cutoff"] == 0


def test_facts_beyond_a_models_cutoff_are_left_out_and_counted(tmp_path: Path) -> None:
    rows = predicted("m", "without", items(), right) + predicted("n", "without", items(), right)
    found = Scored(tmp_path, rows, items(), facts(), cutoffs={"m": "2017-01-01"})
    # Old facts begin in 2012, 2016 and 2020.
    (old,), (other,) = found.of(model="m", task="old"), found.of(model="n", task="old")
    assert (old["n"], old["beyond_cutoff"]) == (2, 1)
    assert (other["n"], other["beyond_cutoff"]) == (3, 0)
    (new,) = found.of(model="m", task="new")
    assert (new["n"], new["beyond_cutoff"]) == (3, 0)


def test_answers_without_a_letter_are_counted_among_those_that_count(tmp_path: Path) -> None:
    rows = predicted("m", "without", items(), lambda item: None)
    found = Scored(tmp_path, rows, items(), facts(), cutoffs={"m": "2017-01-01"})
    (old,) = found.of(task="old")
    assert (old["n"], old["unparsed"], old["beyond_cutoff"]) == (2, 2, 1)


def test_intervals_resample_asked_facts(tmp_path: Path) -> None:
    asked = [{**item, "asked_s": f"Q{place // 10}"} for place, item in enumerate(many(40))]
    rows = predicted(
        "m", "without", asked, lambda item: right(item) if item["asked_s"] < "Q2" else wrong(item)
    )
    (row,) = Scored(tmp_path, rows, asked, dates_of(asked)).of()
    clusters = [(item["asked_s"], item["asked_p"]) for item in asked]
    wanted = clustered_interval([cluster[0] < "Q2" for cluster in clusters], clusters, 0, 200)
    assert (row["by_asked_fact_low"], row["by_asked_fact_high"]) == wanted
    assert row["by_asked_fact_high"] - row["by_asked_fact_low"] > row["wilson_high"] - row["wilson_low"]


@pytest.fixture(scope="module")
def three(tmp_path_factory: pytest.TempPathFactory) -> Scored:
    """A model under three conditions, scored in two ways."""
    rows: list[Row] = []
    for scoring in ("letter", "loglik"):
        rows += predicted("m", "without", items(), wrong, scoring)
        rows += predicted("m", "with", items(), right, scoring)
        rows += predicted("m", "rome", items(), lambda item: right(item) if item["hop"] else None, scoring)
    return Scored(tmp_path_factory.mktemp("three"), rows, items(), facts())


def test_the_table_says_which_conditions_have_fewer_items(tmp_path: Path) -> None:
    rows = predicted("m", "without", items(), right)
    rows += predicted("m", "rome", items(), lambda item: "edit_failed" if item["hop"] else right(item))
    scored = Scored(tmp_path, rows, items(), facts())
    lines = list(by_task(read_scores(scored.scores, scored.tests)))
    assert "w/o ctx: n (items/asked facts): 3/3, 2/2, 3/3, 2/2" in lines
    assert "ROME: n (items/asked facts): 3/3, 0/0, 3/3, 0/0" in lines
    assert "ROME: 4 could not be asked and do not count" in lines


def test_the_table_by_task(three: Scored) -> None:
    lines = list(by_task(read_scores(three.scores, three.tests)))
    assert lines[lines.index("m, letter") + 1] == "n (items/asked facts): 3/3, 2/2, 3/3, 2/2"
    rows = [line.split() for line in lines if line.startswith(("w/", "ROME  "))]
    assert [row[0] for row in rows[:3]] == ["w/o", "w/", "ROME"]
    assert rows[1][2:] == ["1.000", "[1.00,", "1.00]", ".250", "1.000", "[1.00,", "1.00]", ".500"] * 2
    assert rows[2][1:5] == ["0.000", "[0.00,", "0.00]", "1.000"]
    assert "ROME: 6 answers have no letter, or no finite likelihood, and count as wrong" in lines


def test_the_table_by_hop(three: Scored) -> None:
    lines = list(by_hop(read_scores(three.scores, three.tests)))
    rome = next(line for line in lines if line.startswith("ROME"))
    assert rome.split()[:4] == ["ROME", "0.000", "1.000", ".100"]
    assert rome.split()[4] == "-"


def test_the_tables_as_csv_and_the_figure(three: Scored, tmp_path: Path) -> None:
    scores = read_scores(three.scores, three.tests)
    write_csv([scores], {"new": ("new", 0)}, tmp_path / "t.csv")
    lines = (tmp_path / "t.csv").read_text(encoding="utf-8").splitlines()
    assert len(lines) == 1 + 2 * 3
    assert lines[0].startswith("items,model,scoring,condition,task,hop")
    for form in ("svg", "pdf"):
        draw(three.scores, [tmp_path / f"f.{form}"])
        draw(three.scores, [tmp_path / f"g.{form}"])
        assert (tmp_path / f"f.{form}").read_bytes() == (tmp_path / f"g.{form}").read_bytes()
    assert "ROME" in (tmp_path / "f.svg").read_text(encoding="utf-8")


def test_p_values_are_short() -> None:
    assert [p_value(p) for p in (None, 1.0, 0.0421, 0.0009)] == ["-", "1.000", ".042", "<.001"]


def test_the_commands_write_the_same(three: Scored, tmp_path: Path) -> None:
    folder = three.folder
    (folder / "run.json").write_text("{}", encoding="utf-8")
    named = {"--items": "items.parquet", "--facts": "facts.parquet", "--answers": "one.parquet"}
    options = [word for option, name in named.items() for word in (option, str(folder / name))]
    options += ["--runs", str(folder / "run.json"), "--draws", "200", "-o", str(tmp_path / "scores.parquet")]
    for name, file in (("predictions", "all.parquet"), ("runs", "runs.json"), ("tests", "tests.json")):
        options += [f"--out-{name}", str(tmp_path / file)]
    assert main(["answer", "scores", *options]) == 0
    assert (tmp_path / "scores.parquet").read_bytes() == three.scores.read_bytes()
    assert (tmp_path / "tests.json").read_bytes() == three.tests.read_bytes()
    assert main(["answer", "scores", *options, "--cutoffs", '{"m": "soon"}']) == 1
    (folder / "cutoffs.json").write_text('{"m": "2017-01-01"}', encoding="utf-8")
    written = []
    for cutoffs in ('{"m": "2017-01-01"}', f"@{folder / 'cutoffs.json'}", str(folder / "cutoffs.json")):
        assert main(["answer", "scores", *options, "--cutoffs", cutoffs]) == 0
        written.append((tmp_path / "scores.parquet").read_bytes())
    assert written[0] != three.scores.read_bytes()
    assert written[0] == written[1] == written[2]
    read = ["--scores", str(three.scores), "--tests", str(three.tests), "--runs", str(tmp_path / "runs.json")]
    assert main(["answer", "table", *read, "--output", str(tmp_path)]) == 0
    assert "Table 2" in (tmp_path / "table2.txt").read_text(encoding="utf-8")


def test_a_group_without_any_answer_has_a_row(tmp_path: Path) -> None:
    rows = predicted("m", "with", items(), lambda item: "too_long")
    found = Scored(tmp_path, rows, items(), facts())
    assert {(row["n"], row["accuracy"]) for row in found.rows} == {(0, None)}
    assert sum(row["unanswered"] for row in found.of()) == 10
    discriminating = [item for item in items() if item["discriminates"] and not item["open_only"]]
    assert sum(row["unanswered"] for row in found.of(items="discriminating")) == len(discriminating)
    lines = list(by_task(read_scores(found.scores, found.tests)))
    assert "w/ ctx: 10 could not be asked and do not count" in lines
    assert any(line.split() == ["w/", "ctx"] + ["-"] * 8 for line in lines)
    draw(found.scores, [tmp_path / "empty.svg"])


def test_items_without_options_count_in_writing(tmp_path: Path) -> None:
    """All are right with the fact and none without; McNemar's test is over the open items, too."""
    asked = items()
    opened = [item for item in asked if item["open_only"]]
    assert opened
    rows = [
        {"model": "m", "way": "written", "method": method, "benchmark": "tempripple"}
        | {"question": item["item_id"], "role": f"{item['task']} {item['hop']}", "output": "."}
        | {"verdict": verdict, "correct": verdict == "correct"}
        for method, verdict in (("none", "stale"), ("context", "correct"))
        for item in asked
    ]
    found = Scored(tmp_path, rows, asked, facts())
    assert {row["scoring"] for row in found.rows} == {"written"}
    for condition, share in (("without", 0.0), ("with", 1.0)):
        mine = found.of(condition=condition)
        assert sum(row["n"] for row in mine) == len(asked)
        assert {row["accuracy"] for row in mine} == {share}
        assert {row["unparsed"] for row in mine} == {0}
    read = ["--scores", str(found.scores), "--tests", str(found.tests), "--runs", f"{tmp_path}/runs.json"]
    given = [*read, "--answers", f"{tmp_path}/one.parquet", "--output", str(tmp_path)]
    assert main(["answer", "table", *given]) == 0
    text = (tmp_path / "table2.txt").read_text(encoding="utf-8")
    assert 0 <= text.index("What was written") < text.index("Table 2")
