"""From a model on disk to the tables, on an untrained model."""

import itertools
import json
import shutil

import pyarrow.parquet as pq
from support.asking import command, saved
from support.questions import write_tables

from factdrift.cli import main


def test_from_a_model_to_the_tables(tmp_path, capsys):
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
    line = ["answer", "scores", str(items), f"--facts={facts}", "--draws=50"]
    line += ["--skipped", json.dumps([[str(model), "magic", "it has no values"]])]
    line += ["--answers", *(str(job.path("answers.parquet")) for job in jobs)]
    line += ["--runs", *(str(job.path("json")) for job in jobs)]
    files = {"predictions": "predictions.parquet", "runs": "runs.json", "tests": "tests.json"}
    line += [f"--out-{name}={tmp_path / file}" for name, file in files.items()]
    line += [f"--folder={tmp_path}", "-o", str(tmp_path / "scores.parquet")]
    assert main(line) == 0
    said = capsys.readouterr().out
    assert "letter\nn (items/asked facts): 3/3, 2/2, 3/3, 2/2\n" in said
    assert f"on {vision}: skipped: models: " in said
    assert "is of the type 'qwen2_5_vl', for which" in said.split("Table")[-1]
    for given, message in (
        ("--facts=none.parquet", "--facts: none.parquet: no such file"),
        ("--runs=none.json", "--runs: none.json: no such file"),
    ):
        assert main([*line, given]) == 1
        assert f"factdrift: {message}" in capsys.readouterr().err
    for table in ("table2", "table3"):
        text = (tmp_path / f"{table}.txt").read_text(encoding="utf-8")
        assert "\nmagic skipped: it has no values" in text
    predictions = pq.read_table(tmp_path / "predictions.parquet").to_pylist()
    assert {row["model"] for row in predictions} == {str(model)}
    conditions = {(row["scoring"], row["condition"]) for row in predictions}
    assert conditions == {*itertools.product(("letter", "loglik"), ("without", "with", "edited-ft"))}
    assert len(predictions) == 6 * 10
    unedited, context, edited, *_ = json.loads((tmp_path / "runs.json").read_text(encoding="utf-8"))
    assert [run["method"] for run in (unedited, context, edited)] == ["none", "context", "ft"]
    assert edited["hyper"]["layers"] == [1]
    assert len({run["run_id"] for run in (unedited, context, edited)}) == 3
    assert sum(batch["evaluation_seconds"] for batch in unedited["batches"]) > 0
