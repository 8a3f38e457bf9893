"""lm-evaluation-harness on the bundled model and TempRIPPLE of the sample."""

import json
import shutil
from pathlib import Path

import pyarrow.compute as pc
import pyarrow.parquet as pq
import pytest
from support.lm_harness import logged, run_harness, same_answers

from factdrift.cli import main
from factdrift.evaluation.scores.answers import predictions


@pytest.mark.slow
def test_the_harness_gets_our_answers_item_by_item_on_the_bundled_model(
    trained: Path, tempripple: Path, tmp_path: Path
) -> None:
    pytest.importorskip("lm_eval", reason="lm-eval is installed with `pip install lm_eval`")
    table = pq.read_table(tempripple / "results" / "tempripple.parquet")
    table = table.filter(pc.and_(pc.invert(table["open_only"]), pc.equal(table["hop"], 0)))
    questions, model = tmp_path / "items.parquet", trained / "results" / "models" / "sample-llama"
    pq.write_table(table, questions)
    tasks = tmp_path / "tasks"
    line = ["answer", "lm-eval", "--questions", f"tempripple={questions}", "--prompt", "{context} {cloze}"]
    assert main([*line, "-o", str(tasks)]) == 0
    keys = {"device": "cpu", "dtype": "float32", "answer_scoring": ["loglik"], "answer_normalise": "sum"}
    given = ["--benchmark", "tempripple", "--questions", str(questions), "--model", str(model)]
    states = [tmp_path / state for state in ("none", "context")]
    for folder in states:
        line = ["evaluate", *given, "--method", folder.name, "--settings", json.dumps(keys)]
        line += ["--parts", str(folder / "parts"), "--out-run", str(folder / "run.json")]
        line += [f"--out-{name}={folder / name}" for name in ("answers", "edits", "states")]
        assert main(line) == 0
    runs = [json.loads((folder / "run.json").read_text("utf-8")) for folder in states]
    asked = predictions([folder / "answers" for folder in states], runs).to_pylist()
    moved = tmp_path / "elsewhere"
    shutil.move(tasks, moved)  # a folder of tasks names no path
    results = run_harness(model, moved, "tempripple_without,tempripple_with", tmp_path / "out")
    found = logged(tmp_path / "out")
    for condition in ("without", "with"):
        assert same_answers(asked, found, condition) == len(table)
        right = [row["correct"] for row in asked if row["condition"] == condition]
        assert results[f"tempripple_{condition}"]["acc,none"] == pytest.approx(sum(right) / len(right))
    accuracy = [results[f"tempripple_{condition}_new"]["acc,none"] for condition in ("without", "with")]
    assert accuracy[1] > accuracy[0] + 0.2  # the model believes the sentence before a question
