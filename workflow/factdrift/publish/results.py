"""Scores of a build in the forms that others read: the hub's `.eval_results`, and Every Eval Ever.

Both are made of the grid of right answers (docs/tables/answer_grid.md) and the descriptions of the jobs.
"""

import datetime
import hashlib
import json
import re
import uuid
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
import yaml

import factdrift
from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.files import write_json, write_text
from factdrift.core.owned import atomic_path
from factdrift.evaluation.methods.record import CONTEXT, title_of
from factdrift.evaluation.scores.grid import GRID
from factdrift.evaluation.scores.groups import by_columns
from factdrift.publish.datasets import known

SCHEMA_VERSION = "0.3.0"
"""Of Every Eval Ever's eval.schema.json."""
_UNKNOWN = "unknown"
_MODEL = ("model_digest", "revision", "dtype", "served")
_STATE = ("run_id", "hyper", "regime", "group", "template", "api")
"""What the description of a job says that its answers depend on: of the model, and of its state."""


class Score(NamedTuple):
    """A row of GRID with the description of its job."""

    row: Row
    run: Row
    task: str
    """Its id in an `eval.yaml`; empty if it is asked in no task."""
    dataset: str
    """The published folder, likewise."""

    @property
    def notes(self) -> str:
        row = self.row
        weights = self.run.get("model_digest") or self.run.get("run_id")
        return (
            f"state: {title_of(row['method'])}; way: {row['way']}; kind: {row['kind']}; n: {row['judged']}; "
            f"95 % interval (Wilson): {row['low']:.4f} to {row['high']:.4f}; digest: {weights}"
        )


def write_results(grid: Path, runs: Sequence[Path], hub: str, date: str, output: Path) -> tuple[int, int]:
    """Writes `MODEL/.eval_results/*.yaml` and `data/factdrift/MODEL/*.json` into a folder; returns how many.

    `runs`: descriptions of the jobs, in the folders of the workflow. `hub`: the account with the folders.
    Raises InputError if `output` exists, the day is none, or `scores_of` raises it.
    """
    if output.exists():
        raise InputError(f"{output}: exists; remove it, or name another folder")
    try:
        day = datetime.datetime.fromisoformat(date).replace(tzinfo=datetime.UTC)
    except ValueError:
        raise InputError(
            f"--date: {date!r} is no day; Every Eval Ever requires the day of the results, such as 2026-11-29"
        ) from None
    scores = list(scores_of(grid, runs))
    of_hub = [score for score in scores if score.task]
    records = by_columns(({**score.row, "score": score} for score in scores), "model", "method")
    with atomic_path(output) as folder:
        for score in of_hub:
            name = "_".join(_word(score.row[part]) for part in ("benchmark", "method", "way", "kind"))
            entry = {
                "dataset": {"id": f"{hub}/{score.dataset}", "task_id": score.task},
                "value": score.row["share"],
                "date": date,
                "notes": score.notes,
            }
            path = folder.joinpath(*_parts(score.row["model"]), ".eval_results", f"{name}.yaml")
            _check_new(path, grid)
            write_text(yaml.safe_dump([entry], sort_keys=False), path)
        for (model, _), rows in records.items():
            record = _record([row["score"] for row in rows], hub, day)
            digest = hashlib.sha256(record["evaluation_id"].encode()).digest()
            name = str(uuid.UUID(bytes=digest[:16], version=4))
            path = folder.joinpath("data", "factdrift", *_parts(model), f"{name}.json")
            _check_new(path, grid)
            write_json(record, path)
    return len(of_hub), len(records)


def _check_new(path: Path, grid: Path) -> None:
    """Raises InputError if a score has been written to a path, as for two folders of models with one name."""
    if path.exists():
        raise InputError(f"{grid}: two of its models have the name of {path}; give a grid of one")


def scores_of(grid: Path, runs: Sequence[Path]) -> Iterator[Score]:
    """The rows of the grid that are scores.

    Rows that nobody judged are none, nor likelihoods of old objects, which are no right answers. Raises
    InputError if a file cannot be read, the grid has no score, or a score's job has no description.
    """
    try:
        rows = pq.read_table(grid, schema=GRID).to_pylist()
    except pa.ArrowInvalid as error:
        raise InputError(f"{grid}: is no table of `answer grid`: {error}") from error
    scores = [row for row in rows if row["judged"] and not row["kind"].endswith("old object")]
    if not scores:
        raise InputError(f"{grid}: no answer in it was judged, so that there is no score")
    about: dict[tuple[str, ...], Row] = {}
    for path in runs:
        run = json.loads(path.read_text("utf-8"))
        # The job of a chat model has all its states, and is a folder less deep.
        folders = (path.parent.name,) if "served" in run else (path.parents[1].name, run["method"])
        about[run["model"], *folders] = run
    tasks = {task["id"]: data.folder for data in known() for task in data.tasks_of_hub}
    for row in scores:
        job = row["model"], row["benchmark"]
        if (run := about.get((*job, row["method"])) or about.get(job)) is None:
            raise InputError(
                f"--runs: no description of {row['model']} in the state {row['method']} on "
                f"{row['benchmark']}; add results/*/evaluation/*/{row['benchmark']}/{row['method']}/*.json"
            )
        task = f"{row['benchmark']}_{'with' if row['method'] == CONTEXT else 'without'}"
        if row["method"].startswith("retrieved") or task not in tasks:
            task = ""
        yield Score(row, run, task, tasks.get(task, ""))


def _record(scores: Sequence[Score], hub: str, day: datetime.datetime) -> dict[str, Any]:
    """The record of a model in a state, in Every Eval Ever's schema."""
    row, run = scores[0].row, scores[0].run
    developer, name = _parts(row["model"])
    called = "".join([name, *row["model"].partition("@")[1:]])
    model = called if developer == _UNKNOWN else f"{developer}/{called}"
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"factdrift/{model}/{row['method']}/{day.timestamp():.0f}",
        "retrieved_timestamp": f"{day.timestamp():.0f}",
        "evaluation_timestamp": day.date().isoformat(),
        "source_metadata": {
            "source_name": "factdrift",
            "source_type": "evaluation_run",
            "source_organization_name": hub,
            "evaluator_relationship": "third_party",
        },
        "eval_library": {"name": "factdrift", "version": factdrift.__version__},
        "model_info": {
            "name": model,
            "id": model,
            "developer": developer,
            "additional_details": {
                "deployment_type": "self_deployed" if "model_digest" in run else _UNKNOWN,
                "model_availability": _UNKNOWN,
                **_details(run, _MODEL),
            },
        },
        "evaluation_results": [_result(score, hub) for score in scores],
    }


def _result(score: Score, hub: str) -> dict[str, Any]:
    """A score with its n and its interval."""
    row = score.row
    source: dict[str, Any] = {"dataset_name": row["benchmark"], "source_type": "other"}
    if score.dataset:
        source |= {"source_type": "hf_dataset", "hf_repo": f"{hub}/{score.dataset}", "hf_split": "test"}
    return {
        "evaluation_result_id": "/".join(row[part] for part in ("benchmark", "method", "way", "kind")),
        "evaluation_name": row["benchmark"],
        "source_data": source,
        "metric_config": {
            "evaluation_description": f"Share of right answers; way {row['way']}, kind {row['kind']}.",
            "metric_id": "accuracy",
            "metric_unit": "proportion",
            "lower_is_better": False,
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 1,
        },
        "score_details": {
            "score": row["share"],
            "details": {name: str(row[name]) for name in ("asked", "answered", "judged", "right")},
            "uncertainty": {
                "confidence_interval": {"lower": row["low"], "upper": row["high"], "confidence_level": 0.95}
                | {"method": "wilson"},
                "num_samples": row["judged"],
            },
        },
        "generation_config": {
            "additional_details": {"way": row["way"], "kind": row["kind"], "state": row["method"]}
            | _details(score.run, _STATE)
        },
    }


def _details(run: Row, names: Sequence[str]) -> dict[str, str]:
    """Fields of a description as texts, without those that it lacks."""
    values = {name: run[name] for name in names if run.get(name) is not None}
    return {name: value if isinstance(value, str) else json.dumps(value) for name, value in values.items()}


def _word(text: str) -> str:
    """A part of a file's name."""
    return re.sub(r"[^\w.-]+", "-", text)


def _parts(model: str) -> tuple[str, str]:
    """Developer and name of a model of the hub; who made another one, such as a folder, is not known."""
    *before, name = model.partition("@")[0].rstrip("/").split("/")
    is_of_hub = len(before) == 1 and before[0] not in ("", ".", "..")
    return _word(before[0]) if is_of_hub else _UNKNOWN, _word(name)
