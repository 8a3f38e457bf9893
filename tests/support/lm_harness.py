"""Runs of lm-evaluation-harness on tasks of ours, and their answers beside our own."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

Samples = dict[str, dict[str, dict[str, Any]]]
"""Task -> id of the document -> what the harness logged of it."""


def logged(folder: Path) -> Samples:
    """The samples in an output folder of the command."""
    found: Samples = {}
    for path in folder.rglob("samples_*.jsonl"):
        name = path.name.removeprefix("samples_").rpartition("_")[0]
        rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
        found[name] = {row["doc"]["id"]: row for row in rows}
        assert len(found[name]) == len(rows)
    return found


def run_harness(model: Path, tasks: Path, names: str, output: Path) -> dict[str, Any]:
    """Runs the command of lm-eval, offline; returns the results of its tasks and groups."""
    lines = [sys.executable, "-m", "lm_eval", "run", "--model", "hf", "--device", "cpu", "--batch_size", "16"]
    lines += ["--model_args", f"pretrained={model},dtype=float32", "--include_path", str(tasks)]
    lines += ["--tasks", names, "--output_path", str(output), "--log_samples"]
    home = {"HF_HOME": str(output / "home"), "HF_HUB_OFFLINE": "1", "HF_DATASETS_OFFLINE": "1"}
    done = subprocess.run(
        lines, capture_output=True, text=True, check=False, env={**os.environ, **home}, cwd=output.parent
    )
    assert done.returncode == 0, done.stderr[-3000:]
    (path,) = output.rglob("results_*.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))["results"]
    return found


def same_answers(asked: list[dict[str, Any]], found: Samples, name: str) -> int:
    """Asserts that the harness is right about the items of a condition where we are; returns their number."""
    ours = {row["item_id"]: row for row in asked if row["condition"] == name}
    theirs = {
        id: row
        for task, rows in found.items()
        if task.startswith(f"tempripple_{name}_")
        for id, row in rows.items()
    }
    assert theirs.keys() == ours.keys()
    assert {id: bool(row["acc"]) for id, row in theirs.items()} == {
        id: row["correct"] for id, row in ours.items()
    }
    for id, row in theirs.items():
        logs = [float(value) for value, _ in row["filtered_resps"]]
        assert logs == pytest.approx(ours[id]["logprobs"], abs=1e-3)
    return len(theirs)
