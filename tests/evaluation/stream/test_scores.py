"""Scores of a stream against plain Python, the table and the figure."""

import csv
import json
import math
from dataclasses import replace
from pathlib import Path
from statistics import fmean
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.stream_updates import link, links, stream
from support.tables import written

from factdrift.cli import main
from factdrift.evaluation.plan import plan_table
from factdrift.evaluation.questions.updates import Choice, draw, write_stream_edits
from factdrift.evaluation.scores.figures import draw_stream
from factdrift.evaluation.scores.metrics import STREAM_SCORES, Runs
from factdrift.evaluation.scores.table import write_tables
from factdrift.evaluation.tables import TABLES

Rows = list[dict[str, Any]]
META = {"model": "tiny", "model_digest": "d", "regime": "stream", "template": "none", "dtype": "float32"}
FAILED, LOST = "Q1-P6@3", "Q3-P6@2"


def chance(*key: object) -> float:
    """A number in (0, 1) that depends on the arguments."""
    return (draw(" ".join(map(str, key)), 0, "") + 1) / (2**64 + 2)


def answer(method: str, edit: str, number: int, value: float, exact: float, **more: Any) -> dict[str, Any]:
    """A row of ANSWERS to a probe."""
    row = {"model": "tiny", "method": method, "benchmark": "stream", "way": "loglik", "edit": edit}
    row |= {"question": f"{edit}#{number}", "logprobs": [math.log(value)], "tokens": [2]}
    return row | {"exact": [exact < 0.5]} | more


@pytest.fixture(scope="module")
def runs(tmp_path_factory) -> Runs:
    """A run of one method whose probabilities are drawn; an edit has failed, one is not aligned, one adds."""
    folder = tmp_path_factory.mktemp("runs")
    rows = [*links(), link("the sea", 5, 2, 1, (None, "a baker"), by=2, scenario="AddObject")]
    rows.append(link("the sea", 5, 3, 2, ("a baker", "Zoë")))
    choice = Choice(scenarios=["replacement", "add_object"])
    write_stream_edits(stream(folder / "stream.parquet", rows), folder / "edits.parquet", choice)
    edits = pq.read_table(folder / "edits.parquet").to_pylist()
    base = [
        answer("none", row["edit"], number, chance(*pair), chance("exact", *pair))
        for row in edits
        for number, probe in enumerate(row["probes"])
        for pair in [(probe["prompt"], probe["target"])]
    ]
    left = [row for row in edits if row["edit"] != LOST]
    probes = [
        answer("ft", row["edit"], row["number"], chance(*row.values()), chance("exact", *row.values()))
        | {"interval": row["interval"], "kind": row["kind"]}
        for row in plan_table(left, 5, 0).to_pylist()
    ]
    excluded, failed = {LOST: "subject"}, {FAILED: "diverged"}
    names = [row["edit"] for row in edits]
    none = [META | {"method": "none", "edit": name, "excluded": excluded.get(name)} for name in names]
    own = META | {"method": "ft", "source": "given"}
    made = [own | {"edit": row["edit"], "failed": failed.get(row["edit"])} for row in left]
    intervals = [
        {"model": "tiny", "method": "ft", "interval": number, "edits": 1, "failed": int(number == 3)}
        | {"so_far": 2 * number, "state_bytes": 100, "perplexity": 10.0 + number, "state": number}
        for number in range(1, 5)
    ]
    tables: dict[str, dict[str, Rows]] = {
        "answers": {"none": base, "ft": probes},
        "edits": {"none": none, "ft": made},
        "states": {"none": [{"model": "tiny", "method": "none", "state": 0}], "ft": intervals},
    }
    files = {
        name: [written(folder / f"{method}.{name}", TABLES[name], rows) for method, rows in of.items()]
        for name, of in tables.items()
    }
    return Runs(
        edits=folder / "edits.parquet",
        models=["tiny"],
        methods=["none", "ft"],
        answers=files["answers"],
        made=files["edits"],
        states=files["states"],
    )


def by_hand(runs: Runs, method: str) -> dict[tuple[int, str, str], dict[str, float]]:
    """(interval, kind of probe, edit) -> metrics, of the edits that are compared with others."""
    edits = {row["edit"]: row for row in pq.read_table(runs.edits).to_pylist()}
    base = {row["question"]: row for row in pq.read_table(runs.answers[0]).to_pylist()}
    asked: dict[tuple[int, str, str], Rows] = {}
    for row in pq.read_table(runs.answers[1]).to_pylist():
        probe = edits[row["edit"]]["probes"][int(row["question"].partition("#")[2])]
        before = base[row["question"]]
        now = before if method == "none" else row
        one = {**probe, "p": math.exp(now["logprobs"][0]), "exact": now["exact"][0]}
        one["before"] = math.exp(before["logprobs"][0])
        asked.setdefault((row["interval"], row["kind"], row["edit"]), []).append(one)
    found = {}
    for (interval, kind, edit), probes in asked.items():
        values: dict[str, float] = {}
        if kind == "neighbors":
            for role in ("random", "nearest"):
                mine = [one for one in probes if one["role"] == role]
                fallen = [max(one["before"] - one["p"], 0) for one in mine]
                values[f"bleedover_{role}"] = fmean(fallen)
                values[f"{role}_exact"] = fmean(one["exact"] for one in mine)
        else:
            clozes: dict[str, dict[str, Any]] = {}
            for one in probes:
                clozes.setdefault(one["prompt"], {})[one["object"]] = one
            # What an addition adds is compared with itself before the edit.
            rivals = [one.get("later" if kind == "staleness" else "obsolete") for one in clozes.values()]
            pairs = zip([one["new"] for one in clozes.values()], rivals, strict=True)
            gap, *gaps = (own["p"] - (rival["p"] if rival else own["before"]) for own, rival in pairs)
            own = next(iter(clozes.values()))["new"]
            values = {"p_own": own["p"], "exact": own["exact"], "d": gap, "s": gap > 0}
            if rivals[0]:
                values["p_other"] = rivals[0]["p"]
            if gaps:
                values["generalization_d"] = fmean(gaps)
                values["generalization_s"] = fmean(one > 0 for one in gaps)
        found[interval, kind, edit] = values
    return found


def scored(runs: Runs, folder: Path) -> Rows:
    line = ["edit", "scores", f"--edits={runs.edits}", "--probes=5", f"--output={folder}"]
    for name in ("answers", "made", "states", "models", "methods"):
        line += [f"--{name}", *map(str, getattr(runs, name))]
    out = ("scores.parquet", "intervals.parquet", "written.parquet", "costs.json")
    assert main([*line, *(f"--out-{Path(name).stem}={folder / name}" for name in out)]) == 0
    table = pq.read_table(folder / "scores.parquet")
    assert table.schema.equals(STREAM_SCORES)
    return table.to_pylist()


def report(folder: Path, *costs: dict[str, Any]) -> tuple[list[str], list[dict[str, str]]]:
    """What is read of a folder of scores: lines of the table, and rows of the CSV file."""
    (folder / "costs.json").write_text(json.dumps(costs), encoding="utf-8")
    files = (folder / name for name in ("scores.parquet", "written.parquet", "costs.json"))
    text, groups = write_tables(*files, folder, stream=(folder / "intervals.parquet", ()))
    draw_stream(groups, [folder / "figure.svg"])
    with (folder / "lifelong.csv").open(encoding="utf-8") as file:
        assert (folder / "lifelong.txt").read_text(encoding="utf-8") == f"{text}\n"
        return text.splitlines(), list(csv.DictReader(file))


def test_against_plain_python(runs, tmp_path):
    found = scored(runs, tmp_path)
    for method in ("none", "ft"):
        mine = {(row["interval"], row["probe"], row["edit"]): row for row in found if row["method"] == method}
        expected = by_hand(runs, method)
        assert mine.keys() == expected.keys()
        for key, values in expected.items():
            failed = method == "ft" and (
                # What should have replaced the second ruler has failed in the third interval.
                key[2] == FAILED or (key[1] == "staleness" and key[0] >= 3 and key[2].startswith("Q1-P6"))
            )
            assert (mine[key]["failed"] == "diverged") == failed, key
            for name, value in values.items():
                assert mine[key][name] == (None if failed else pytest.approx(float(value))), (key, name)
    assert [row["method"] for row in found] == sorted((row["method"] for row in found), reverse=True)
    key = "ft", "Q4-P6@3", "staleness"
    (one,) = (row for row in found if (row["method"], row["edit"], row["probe"]) == key)
    assert (one["made_in"], one["superseded_in"], one["interval"]) == (3, 4, 4)
    assert (one["model_digest"], one["source"], one["chain"], one["link"]) == ("d", "given", "Q4-P6", 1)


def test_output_that_is_not_finite_counts_as_the_worst(runs, tmp_path):
    rows = pq.read_table(runs.answers[1]).to_pylist()
    for row in rows:
        row |= {"logprobs": None, "exact": [False], "reason": "not_finite"}
    lost = written(tmp_path / "lost.parquet", TABLES["answers"], rows)
    given = replace(runs, answers=[runs.answers[0], lost], methods=["ft"])
    found = [row for row in scored(given, tmp_path) if row["failed"] is None]
    known = pq.read_table(runs.answers[0]).to_pylist()
    assert {row["probe"] for row in found} == {"current", "retention", "staleness", "neighbors"}
    for row in found:
        assert row["not_finite"] > 0
        assert row["d"] is row["generalization_d"] is None
        if row["probe"] == "neighbors":
            assert row["bleedover_nearest"] > 0
            assert (row["nearest_exact"], row["random_exact"]) == (0, 0)
        else:
            assert (row["s"], row["exact"]) == (row["probe"] == "staleness", 0)
    whole = [row["bleedover_nearest"] for row in found if row["bleedover_nearest"] is not None]
    assert max(whole) <= max(math.exp(row["logprobs"][0]) for row in known)
    _, rows = report(tmp_path)
    for line in rows:
        mine = [row for row in found if row["interval"] == int(line["interval"])]
        assert int(line["not_finite"]) == len(mine) > 0
        assert line["efficacy_d_n"] == ""
        assert int(line["efficacy_s_n"] or 0) == sum(row["probe"] == "current" for row in mine)


def test_the_table_says_what_the_scores_say(runs, tmp_path):
    found = scored(runs, tmp_path)
    spent = [{"interval": number, "edit_seconds": 3.0, "edits": 2} for number in range(1, 5)]
    job = {"model": "tiny", "method": "ft", "intervals": spent, "derived": ["lr"], "source": "derived: lr 1"}
    skipped = {"model": "tiny", "method": "memit", "skipped": "no null space"}
    other = {"model": "large", "method": "ft", "skipped": "no memory"}
    lines, rows = report(tmp_path, job, skipped, other)
    assert any(line.startswith("FT* ") for line in lines)
    assert "MEMIT skipped: no null space" in lines
    assert lines[-2:] == ["large, no method", "FT skipped: no memory"]
    assert [(row["method"], row["interval"]) for row in rows] == [
        (method, str(number)) for method in ("none", "ft") for number in range(1, 5)
    ]
    for row in rows:
        for name, probe, column in (
            *(("efficacy_s", "current", "s"), ("retention_exact", "retention", "exact")),
            *(("staleness_s", "staleness", "s"), ("bleedover_nearest", "neighbors", "bleedover_nearest")),
        ):
            key = row["method"], int(row["interval"]), probe
            mine = [one for one in found if (one["method"], one["interval"], one["probe"]) == key]
            values = [100 * one[column] for one in mine if one[column] is not None]
            assert row[name] == (f"{fmean(values):.6g}" if values else "")
            assert row[f"{name}_n"] == (str(len(values)) if values else "")
    assert [row["perplexity"] for row in rows] == ["", "", "", "", "11", "12", "13", "14"]
    assert [row["seconds_per_edit"] for row in rows[4:]] == ["1.5"] * 4
    drawn = (tmp_path / "figure.svg").read_text(encoding="utf-8")
    report(tmp_path, job)
    assert drawn == (tmp_path / "figure.svg").read_text(encoding="utf-8")
    assert "facts since replaced" in drawn
    assert "mathdefault" not in drawn
