"""From a model on disk to the tables, on an untrained model."""

import itertools
import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
import pytest

pytest.importorskip("torch", reason="language models are installed with `make models`")
from support.asking import Job, command, saved
from support.questions import write_tables

from factdrift.cli import main
from factdrift.evaluation.methods.record import UNEDITED

HYPER = json.dumps({"layers": [1], "steps": 2})


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with items, facts and a model."""
    folder = tmp_path_factory.mktemp("bench")
    write_tables(folder)
    saved(folder / "model")
    return folder


def asked(bench: Path, method: str, *more: str, name: str = "", **given: Any) -> Job:
    """What `factdrift evaluate` writes under the name, or that of the method."""
    facts = () if method in UNEDITED else ("--facts", str(bench / "tr_facts.parquet"))
    items = [bench / "tr_items.parquet"]
    out = bench / (name or method)
    return command(bench / "model", out, "tempripple", items, method, *facts, *more, batch=4, **given)


def scores_of(bench: Path, jobs: Sequence[Job], out: Path, *more: str) -> None:
    """`factdrift answer scores`, which writes into a folder."""
    line = ["answer", "scores", "--items", str(bench / "tr_items.parquet"), "--draws", "50", *more]
    line += ["--facts", str(bench / "tr_facts.parquet")]
    line += ["--answers", *(str(job.path("answers.parquet")) for job in jobs)]
    line += ["--runs", *(str(job.path("json")) for job in jobs)]
    line += [f"--out-predictions={out / 'predictions.parquet'}", f"--out-runs={out / 'runs.json'}"]
    assert main([*line, f"--out-tests={out / 'tests.json'}", "-o", str(out / "scores.parquet")]) == 0


def options(folder: Path) -> list[str]:
    """Of `factdrift answer table`, which reads what is in the folder and writes into it."""
    files = {"scores": "scores.parquet", "tests": "tests.json", "runs": "runs.json", "output": ""}
    return [f"--{name}={folder / file}" for name, file in files.items()]


def test_from_a_model_to_the_tables(bench: Path, capsys: pytest.CaptureFixture[str]) -> None:
    jobs = [asked(bench, "none"), asked(bench, "context"), asked(bench, "ft", "--set", HYPER)]
    skipped = [[str(bench / "model"), "magic", "it has no values"]]
    scores_of(bench, jobs, bench, "--skipped", json.dumps(skipped))
    read = options(bench)
    assert main(["answer", "table", *read]) == 0
    said = capsys.readouterr().out
    assert "letter\nn (items/asked facts): 3/3, 2/2, 3/3, 2/2\n" in said
    inline = (bench / "runs.json").read_text(encoding="utf-8")
    assert main(["answer", "table", *read, "--runs", inline]) == 0
    assert said.endswith(capsys.readouterr().out)
    for given, said in (
        ("--scores=none.parquet", "--scores: none.parquet: no such file"),
        *(("--runs=none.json", "--runs: none.json: "), ("--runs=@none.json", "--runs: none.json: ")),
    ):
        assert main(["answer", "table", *read, given]) == 1
        assert f"factdrift: {said}" in capsys.readouterr().err
    for table in ("table2", "table3"):
        text = (bench / f"{table}.txt").read_text(encoding="utf-8")
        assert "\nmagic skipped: it has no values" in text
    predictions = pq.read_table(bench / "predictions.parquet").to_pylist()
    conditions = {(row["scoring"], row["condition"]) for row in predictions}
    wanted = itertools.product(("letter", "loglik"), ("without", "with", "edited-ft"))
    assert conditions == set(wanted)
    assert len(predictions) == 6 * 10
    unedited, context, edited, _ = json.loads((bench / "runs.json").read_text(encoding="utf-8"))
    assert [run["method"] for run in (unedited, context, edited)] == ["none", "context", "ft"]
    assert edited["hyper"]["layers"] == [1]
    assert len({run["run_id"] for run in (unedited, context, edited)}) == 3
    assert sum(batch["evaluation_seconds"] for batch in unedited["batches"]) > 0


def test_a_model_that_cannot_be_run_is_skipped_and_the_others_are_asked(
    bench: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    shutil.copytree(bench / "model", tmp_path / "vision")
    (tmp_path / "vision/config.json").write_text('{"model_type": "qwen2_5_vl"}', encoding="utf-8")
    other = ["--model", str(tmp_path / "vision")]
    jobs = [asked(bench, "none"), asked(bench, "none", *other, name="lost")]
    jobs.append(asked(bench, "ft", *other, name="lost-ft"))
    asked(bench, "ft", *other, "--strict", name="strict-ft", code=1)
    scores_of(bench, jobs, tmp_path)
    models = set(pq.read_table(tmp_path / "scores.parquet")["model"].to_pylist())
    assert models == {str(bench / "model")}
    assert main(["answer", "table", *options(tmp_path)]) == 0
    said = capsys.readouterr().out
    assert f"on {tmp_path / 'vision'}: skipped: models: " in said
    assert "is of the type 'qwen2_5_vl', for which" in said.split("Table")[-1]
