"""Scores in the forms of others, read back by the hub's own library and Every Eval Ever's schema."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import jsonschema
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import yaml

from factdrift.cli import main
from factdrift.core.intervals import wilson
from factdrift.evaluation.scores.grid import GRID
from factdrift.publish.datasets import known
from factdrift.publish.results import _parts

SCHEMA = Path(__file__).parents[1] / "data/every_eval_ever/eval.schema.json"
LOCAL, FAR = "EleutherAI/gpt-j-6b@float16", "base"


def row(model: str, benchmark: str, method: str, way: str, right: int, judged: int, kind: str = "all") -> Any:
    share = {"share": right / judged, "low": wilson(right, judged)[0], "high": wilson(right, judged)[1]}
    numbers = {"asked": judged + 1, "answered": judged, "judged": judged, "right": right, "trained": 0}
    names = {"model": model, "benchmark": benchmark, "method": method, "way": way, "kind": kind}
    return dict.fromkeys(GRID.names) | names | numbers | (share if judged else {})


ROWS = [
    row(LOCAL, "tempripple", "none", "letter", 3, 10),
    row(LOCAL, "tempripple", "context", "letter", 9, 10),
    row(LOCAL, "tempripple", "rome", "loglik", 7, 8),
    row(LOCAL, "corpus", "none", "written", 1, 4),
    row(LOCAL, "corpus", "retrieved-bm25", "written", 3, 4),
    row(LOCAL, "updates", "rome", "loglik", 2, 4, "new object"),
    row(LOCAL, "updates", "rome", "loglik", 1, 4, "old object"),
    row(FAR, "tempripple", "none", "letter", 0, 10),
]


@pytest.fixture
def given(tmp_path: Path) -> list[str]:
    """The command's arguments, with a grid and descriptions in the folders of the workflow."""
    unjudged = dict.fromkeys(GRID.names) | {"model": LOCAL, "benchmark": "corpus", "method": "none"}
    rows = [*ROWS, unjudged | {"way": "loglik", "kind": "all", "judged": 0}]
    pq.write_table(pa.Table.from_pylist(rows, schema=GRID), tmp_path / "grid.parquet")
    runs = []
    for model, benchmark, method in {(each["model"], each["benchmark"], each["method"]) for each in ROWS}:
        if model == LOCAL:
            path = tmp_path / "evaluation/gpt" / benchmark / method / "0-of-1.json"
            about = {"model": model, "method": method, "run_id": "a" * 16, "model_digest": "d" * 64}
            about |= {"dtype": "float16", "hyper": {"layer": 1} if method == "rome" else None}
        else:
            path = tmp_path / "evaluation/chat" / benchmark / "read.json"
            about = {"model": model, "run_id": "b" * 16, "served": ["base-1"]}
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(about), encoding="utf-8")
        runs.append(str(path))
    line = ["publish", "results", str(tmp_path / "grid.parquet"), "--hub", "someone", "--runs", *runs]
    return [*line, "--date", "2026-11-29", "-o", str(tmp_path / "out")]


def test_the_hub_reads_a_file_for_each_state_way_and_kind(given: list[str], tmp_path: Path) -> None:
    hub = pytest.importorskip("huggingface_hub")
    assert main(given) == 0
    found = {}
    for path in (tmp_path / "out").rglob(".eval_results/*.yaml"):
        (entry,) = hub.parse_eval_result_entries(yaml.safe_load(path.read_text("utf-8")))
        found[path.relative_to(tmp_path / "out").as_posix()] = entry
    here, far = "EleutherAI/gpt-j-6b/.eval_results/", "unknown/base/.eval_results/"
    assert {name: (entry.dataset_id, entry.task_id, entry.value) for name, entry in found.items()} == {
        f"{here}tempripple_none_letter_all.yaml": ("someone/tempripple", "tempripple_without", 0.3),
        f"{here}tempripple_context_letter_all.yaml": ("someone/tempripple", "tempripple_with", 0.9),
        f"{here}tempripple_rome_loglik_all.yaml": ("someone/tempripple", "tempripple_without", 0.875),
        f"{here}corpus_none_written_all.yaml": ("someone/corpus", "corpus_without", 0.25),
        f"{far}tempripple_none_letter_all.yaml": ("someone/tempripple", "tempripple_without", 0.0),
    }
    # Each names a task of the folder that it names, its way, n, interval and digest.
    tasks = {f"someone/{each.folder}": [task["id"] for task in each.tasks_of_hub] for each in known()}
    assert all(entry.task_id in tasks[entry.dataset_id] for entry in found.values())
    low, high = wilson(7, 8)
    assert found[f"{here}tempripple_rome_loglik_all.yaml"].notes == (
        f"state: ROME; way: loglik; kind: all; n: 8; 95 % interval (Wilson): {low:.4f} to {high:.4f}; "
        f"digest: {'d' * 64}"
    )
    assert {entry.date for entry in found.values()} == {"2026-11-29"}


def test_every_eval_ever_reads_a_record_for_each_model_and_state(given: list[str], tmp_path: Path) -> None:
    assert main(given) == 0
    check = jsonschema.Draft7Validator(json.loads(SCHEMA.read_text("utf-8")))
    records = {}
    for path in (tmp_path / "out/data").rglob("*.json"):
        record = json.loads(path.read_text("utf-8"))
        assert [error.message for error in check.iter_errors(record)] == []
        assert record["schema_version"] == check.schema["version"]
        _, _, developer, model, name = path.relative_to(tmp_path / "out").as_posix().split("/")
        assert (developer, model) in (("EleutherAI", "gpt-j-6b"), ("unknown", "base"))
        assert name[14] == "4"  # the kind of UUID that its repository asks for
        records[record["evaluation_id"]] = record
    states = {f"factdrift/{each['model']}/{each['method']}" for each in ROWS}
    assert {name.rpartition("/")[0] for name in records} == states
    assert {name.rpartition("/")[2] for name in records} == {"1795910400"}
    seen = {}
    for record in records.values():
        for result in record["evaluation_results"]:
            state = result["generation_config"]["additional_details"]
            score, spread = (result["score_details"][name] for name in ("score", "uncertainty"))
            bounds = spread["confidence_interval"]
            key = record["model_info"]["id"], result["evaluation_name"], state["state"], state["way"]
            numbers = score, bounds["lower"], bounds["upper"], spread["num_samples"]
            seen[*key, state["kind"]] = numbers
            assert state["run_id"] in ("a" * 16, "b" * 16)
    names = ("model", "benchmark", "method", "way", "kind")
    values = ("share", "low", "high", "judged")
    due = {tuple(each[name] for name in names): tuple(each[name] for name in values) for each in ROWS}
    del due[LOCAL, "updates", "rome", "loglik", "old object"]
    assert seen == due
    rome = records[f"factdrift/{LOCAL}/rome/1795910400"]
    assert rome["model_info"]["additional_details"]["model_digest"] == "d" * 64
    details = rome["evaluation_results"][0]["generation_config"]["additional_details"]
    assert json.loads(details["hyper"]) == {"layer": 1}


def test_equal_scores_give_equal_bytes(given: list[str], tmp_path: Path) -> None:
    assert main(given) == 0
    assert main([*given[:-1], str(tmp_path / "again")]) == 0
    first, again = (
        {path.relative_to(root): path.read_bytes() for path in root.rglob("*") if path.is_file()}
        for root in (tmp_path / "out", tmp_path / "again")
    )
    assert first == again


def test_what_is_missing_is_named(given: list[str], tmp_path: Path, refused: Callable[..., str]) -> None:
    dated = given.index("--date") + 1
    assert "--date: 'yesterday' is no day" in refused(*given[:dated], "yesterday", *given[dated + 1 :])
    without = [word for word in given if "/corpus/none/" not in word]
    assert "no description of EleutherAI/gpt-j-6b@float16 in the state none on corpus" in refused(*without)
    (tmp_path / "out").mkdir()
    assert "out: exists" in refused(*given)
    (tmp_path / "out").rmdir()
    pq.write_table(GRID.empty_table(), tmp_path / "grid.parquet")
    assert "no answer in it was judged" in refused(*given)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize(
    ("model", "developer", "name"),
    [
        ("EleutherAI/gpt-j-6b@main", "EleutherAI", "gpt-j-6b"),
        ("smollm2", "unknown", "smollm2"),
        ("/home/someone/models/mine/", "unknown", "mine"),
        ("../mine", "unknown", "mine"),
    ],
)
def test_only_a_name_of_the_hub_says_who_made_a_model(model: str, developer: str, name: str) -> None:
    assert _parts(model) == (developer, name)


def test_models_of_one_name_are_not_written_over_each_other(given, tmp_path, refused):
    grid, run = tmp_path / "grid.parquet", tmp_path / "evaluation/gpt/tempripple/none/0-of-1.json"
    rows = [row(f"/{folder}/mine", "tempripple", "none", "letter", 1, 2) for folder in "ab"]
    pq.write_table(pa.Table.from_pylist(rows, schema=GRID), grid)
    runs = []
    for number, each in enumerate(rows):
        path = run.parents[3] / str(number) / "tempripple/none/0-of-1.json"
        path.parent.mkdir(parents=True)
        path.write_text(json.dumps({"model": each["model"], "method": "none", "run_id": "a"}), "utf-8")
        runs.append(str(path))
    assert "two of its models have the name" in refused(*given[:6], *runs, *given[-4:])
    assert not (tmp_path / "out").exists()
