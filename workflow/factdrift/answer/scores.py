"""Scores of all models, conditions and ways of scoring, from their predictions."""

from __future__ import annotations

import datetime
import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.answer.schemas import PREDICTIONS, SCORES
from factdrift.edit.skipped import Skipped
from factdrift.errors import CannotEdit
from factdrift.models.names import check_same_weights
from factdrift.tables import atomic_path, write_parquet
from factdrift.tempripple.schemas import TASKS, TR_FACTS, TR_ITEMS, Row, read_rows
from factdrift.tempripple.score import SELECTIONS, Answers, Key, grouped, report, within_cutoff

_INTERVALS = ("wilson", "by_timeline", "by_asked_fact")
_WHOLE = next(iter(SELECTIONS))
"""The selection that leaves no item out; only its rows have counts of what was left out for other reasons."""


def write_scores(
    items: Path,
    facts: Path,
    predictions: Sequence[Path],
    cutoffs: Mapping[str, datetime.date],
    out_predictions: Path,
    out_tests: Path,
    output: Path,
    *,
    seed: int = 0,
    draws: int = 2000,
) -> int:
    """Writes SCORES, all PREDICTIONS and the tests as JSON; returns the number of scores.

    `predictions`: of each job, in the order of the tables. `cutoffs`: the last day of a model's training
    data. The tests are those of `score.report`, by way of scoring. Items without an answer are left out and
    counted.
    """
    table = pa.concat_tables([pq.read_table(path, schema=PREDICTIONS) for path in predictions])
    write_parquet(table, out_predictions)
    asked, dated = read_rows(items, TR_ITEMS), read_rows(facts, TR_FACTS)
    by_id = {item["item_id"]: item for item in asked}
    rows = table.select(["scoring", "model", "condition", "item_id", "parsed", "correct"]).to_pylist()
    scores: list[Row] = []
    tests: dict[str, Any] = {}
    for scoring in dict.fromkeys(row["scoring"] for row in rows):
        mine = [row for row in rows if row["scoring"] == scoring]
        answered = [row for row in mine if row["correct"] is not None]
        columns = ("item_id", "condition", "correct", "model")
        found = grouped(
            (tuple(row[name] for name in columns) for row in answered),
            asked,
            str(out_predictions),
        )
        counted, beyond = within_cutoff(found, dated, cutoffs)
        tables = report(counted, dated, seed, draws)
        unanswered = [row for row in mine if row["correct"] is None]
        counts = {
            "unparsed": _tallied(_counting(answered, counted, by_id), by_id),
            "unanswered": _tallied(unanswered, by_id),
            "beyond_cutoff": beyond,
        }
        for row in tables.pop("accuracy"):
            key: Key = (row["model"], row["condition"], TASKS.index(row["task"]) + 1, row["hop"])
            whole = row["items"] == _WHOLE
            scores.append({"scoring": scoring, **_flat(row), **_of_key(counts, key if whole else None)})
        for model, condition, task, hop in {*counts["unanswered"], *counts["beyond_cutoff"]} - counted.keys():
            row = {
                "items": _WHOLE,
                "model": model,
                "condition": condition,
                "task": TASKS[task - 1],
                "hop": hop,
            }
            row |= {"scoring": scoring, "n": 0, "right": 0, "asked_facts": 0}
            scores.append(row | _of_key(counts, (model, condition, task, hop)))
        tests[scoring] = tables
    scores.sort(key=_order([row["model"] for row in rows], [row["condition"] for row in rows]))
    with atomic_path(out_tests) as partial:
        partial.write_text(json.dumps(tests, indent=1) + "\n", encoding="utf-8")
    return write_parquet(pa.Table.from_pylist(scores, schema=SCORES), output)


def _of_key(counts: Mapping[str, Mapping[Key, int]], key: Key | None) -> Row:
    return {name: None if key is None else each.get(key, 0) for name, each in counts.items()}


def _counting(rows: Sequence[Row], counted: Answers, items: Mapping[str, Row]) -> Iterator[Row]:
    """The rows without a letter, of items that the cutoff leaves."""
    kept = {(key, answer.item["item_id"]) for key, group in counted.items() for answer in group}
    for row in rows:
        if row["parsed"] is None and (_key(row, items), row["item_id"]) in kept:
            yield row


def _key(row: Row, items: Mapping[str, Row]) -> Key:
    item = items[row["item_id"]]
    return row["model"], row["condition"], item["task"], item["hop"]


def _tallied(rows: Iterable[Row], items: Mapping[str, Row]) -> Counter[Key]:
    """The number of rows by model, condition, task and hop."""
    return Counter(_key(row, items) for row in rows)


def _flat(row: Row) -> Row:
    """A row with the ends of each interval as columns of their own."""
    flat = {name: value for name, value in row.items() if name not in _INTERVALS}
    for name in _INTERVALS:
        flat[f"{name}_low"], flat[f"{name}_high"] = row[name]
    return flat


def _order(models: Sequence[str], conditions: Sequence[str]) -> Any:
    """A key that sorts scores by selection, model, way of scoring, condition, task and hop."""
    model = {name: place for place, name in enumerate(dict.fromkeys(models))}
    condition = {name: place for place, name in enumerate(("without", "with", *dict.fromkeys(conditions)))}
    condition |= {"without": -2, "with": -1}
    selections = list(SELECTIONS)
    return lambda row: (
        selections.index(row["items"]),
        model[row["model"]],
        row["scoring"],
        condition[row["condition"]],
        TASKS.index(row["task"]),
        row["hop"],
    )


def write_runs(
    runs: Sequence[Mapping[str, Any]],
    output: Path,
    without: Sequence[Skipped] = (),
    strict: bool = False,
) -> None:
    """Joins the descriptions of all runs, in their order, in one JSON file.

    `without`: the methods that have no run. Raises CannotEdit if `strict` and a method with a run was
    skipped, and InputError if runs of one model have different weights.
    """
    found = list(runs)
    for each in found:
        if strict and "skipped" in each:
            raise CannotEdit(f"{each['method']} on {each['model']}: {each['skipped']}")
    weights = zip(found, runs, strict=True)
    check_same_weights(
        (run["model"], run["model_digest"], str(path)) for run, path in weights if "model_digest" in run
    )
    found += [each._asdict() for each in without]
    with atomic_path(output) as partial:
        partial.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
