"""Scores of all models, conditions and ways of scoring, from their predictions."""

from __future__ import annotations

import operator
import sys
from collections import Counter
from collections.abc import Mapping, Sequence, Set
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.files import write_json
from factdrift.core.tables import write_parquet
from factdrift.evaluation.methods.record import UNEDITED, Skipped
from factdrift.evaluation.scores.conditions import condition_of
from factdrift.evaluation.scores.cutoff import cutoffs_of
from factdrift.evaluation.tables import ANSWERS
from factdrift.models.names import check_same_weights
from factdrift.tempripple.schemas import TASKS, TR_FACTS, TR_ITEMS, Row, read_rows
from factdrift.tempripple.score import SELECTIONS, Cutoff, Key, grouped, report, within_cutoff

if TYPE_CHECKING:
    from factdrift.evaluation.scores.answer_jobs import AnswerScores

PREDICTIONS = pa.schema(
    [
        *((name, pa.string()) for name in ("run_id", "model", "scoring", "condition", "item_id")),
        ("output", pa.string()),
        ("parsed", pa.int8()),
        ("correct", pa.bool_()),
        ("logprobs", pa.list_(pa.float64())),
        ("reason", pa.string()),
    ]
)
"""One row for each item, condition and way of scoring. `logprobs` are those of the four options, by
`normalise`; null for the other ways. `reason` says why there is no answer; `correct` is null then."""

_INTERVALS = ("wilson", "by_timeline", "by_asked_fact")
SCORES = pa.schema(
    [
        *((name, pa.string()) for name in ("items", "model", "scoring", "condition", "task")),
        ("hop", pa.int8()),
        *((name, pa.int32()) for name in ("n", "right", "unparsed", "unanswered", "beyond_cutoff")),
        ("accuracy", pa.float64()),
        *((f"{name}_{end}", pa.float64()) for name in _INTERVALS for end in ("low", "high")),
        ("asked_facts", pa.int32()),
        ("accuracy_of_asked_facts", pa.float64()),
    ]
)
"""One row for each selection of items, model, way of scoring, condition, task and hop."""


def write_scores(job: AnswerScores) -> int:
    """Writes SCORES, all PREDICTIONS and the tests as JSON; returns the number of scores.

    The tests are those of `score.report`, by way of scoring. Items without an answer are left out and
    counted.
    """
    cutoffs = {model: Cutoff(day, day) for model, day in job.last_days().items()}
    for path in job.dates:
        cutoffs |= cutoffs_of(path)
    table = predictions(job.answers, job.described())
    write_parquet(table, job.out_predictions)
    asked, dated = read_rows(job.items_, TR_ITEMS), read_rows(job.facts, TR_FACTS)
    by_id = {item["item_id"]: item for item in asked}
    rows = table.select(["scoring", "model", "condition", "item_id", "parsed", "correct"]).to_pylist()
    models = {row["model"] for row in rows}
    for model in sorted(job.last_days().keys() - models):
        others = ", ".join(sorted(models))
        print(
            f"answer.model_cutoff: {model} was not asked, so its date says nothing; {others} were",
            file=sys.stderr,
        )
    scores: list[Row] = []
    tests: dict[str, Any] = {}
    for scoring in dict.fromkeys(row["scoring"] for row in rows):
        mine = [row for row in rows if row["scoring"] == scoring]
        answered = [row for row in mine if row["correct"] is not None]
        columns = ("item_id", "condition", "correct", "model")
        found = grouped(
            (tuple(row[name] for name in columns) for row in answered),
            asked,
            f"{job.out_predictions}, row",
        )
        counted = within_cutoff(found, dated, cutoffs)
        tables = report(counted, dated, job.seed, job.draws)
        kept = {(key, answer.item["item_id"]) for key, group in counted.items() for answer in group}
        accuracies = tables.pop("accuracy")
        for selection, wanted in SELECTIONS.items():
            chosen = [row for row in mine if wanted(by_id[row["item_id"]])]
            own = {
                (row["model"], row["condition"], TASKS.index(row["task"]) + 1, row["hop"]): _flat(row)
                for row in accuracies
                if row["items"] == selection
            }
            for key, counts in _counts(chosen, kept, by_id).items():
                model, condition, task, hop = key
                named: Row = {"items": selection, "model": model, "condition": condition}
                named |= {"task": TASKS[task - 1], "hop": hop, "scoring": scoring}
                nothing = {"n": 0, "right": 0, "asked_facts": 0}
                scores.append(named | own.get(key, nothing) | counts)
        tests[scoring] = tables
    scores.sort(key=_order([row["model"] for row in rows], [row["condition"] for row in rows]))
    write_json(tests, job.out_tests)
    return write_parquet(pa.Table.from_pylist(scores, schema=SCORES), job.output)


def predictions(answers: Sequence[Path], runs: Sequence[Mapping[str, Any]]) -> pa.Table:
    """PREDICTIONS of runs, in their order; those of an unedited model together.

    In each by way of scoring, condition and item. `runs`: the description of each run, whose answers are at
    the same place. Raises InputError if there are more or fewer of them.
    """
    if len(answers) != len(runs):
        raise InputError(
            f"--runs: {len(runs)} descriptions for {len(answers)} tables of --answers; give one for each "
            "table, in the same order"
        )
    groups: dict[tuple[str, str], list[Row]] = {}
    for path, run in zip(answers, runs, strict=True):
        for row in pq.read_table(path, schema=ANSWERS).to_pylist():
            logprobs = row["logprobs"]
            if logprobs and run["answer_normalise"] == "sum":
                logprobs = [mean * count for mean, count in zip(logprobs, row["tokens"], strict=True)]
            group = row["model"], "" if row["method"] in UNEDITED else row["method"]
            groups.setdefault(group, []).append(
                {
                    **{name: row[name] for name in ("model", "output", "parsed", "correct", "reason")},
                    **{"run_id": run.get("run_id"), "scoring": row["way"], "item_id": row["question"]},
                    **{"condition": condition_of(row["method"]), "logprobs": logprobs},
                }
            )
    order = operator.itemgetter("scoring", "condition", "item_id")
    rows = [row for group in groups.values() for row in sorted(group, key=order)]
    return pa.Table.from_pylist(rows, schema=PREDICTIONS)


def _counts(
    rows: Sequence[Row], kept: Set[tuple[Key, str]], items: Mapping[str, Row]
) -> dict[Key, Counter[str]]:
    """What is wrong because there is no answer, and what does not count, by model, condition, task and hop.

    `kept`: the answers that the cutoff leaves, by key and item. An answer in writing need not name an option.
    """
    found: dict[Key, Counter[str]] = {}
    for row in rows:
        item = items[row["item_id"]]
        key: Key = (row["model"], row["condition"], item["task"], item["hop"])
        counts = found.setdefault(key, Counter(unparsed=0, unanswered=0, beyond_cutoff=0))
        if row["correct"] is None:
            counts["unanswered"] += 1
        elif (key, row["item_id"]) not in kept:
            counts["beyond_cutoff"] += 1
        elif row["parsed"] is None and row["scoring"] != "written":
            counts["unparsed"] += 1
    return found


def _flat(row: Row) -> Row:
    """A row with the ends of each interval as columns of their own."""
    flat = {name: value for name, value in row.items() if name not in _INTERVALS}
    for name in _INTERVALS:
        flat[f"{name}_low"], flat[f"{name}_high"] = row[name]
    return flat


def _order(models: Sequence[str], conditions: Sequence[str]) -> Any:
    """A key that sorts scores by selection, model, way of scoring, condition, task and hop."""
    model = {name: place for place, name in enumerate(dict.fromkeys(models))}
    condition = {name: place for place, name in enumerate(dict.fromkeys(("without", "with", *conditions)))}
    selections = list(SELECTIONS)
    return lambda row: (
        selections.index(row["items"]),
        model[row["model"]],
        (row["scoring"] != "written", row["scoring"]),
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
    check_same_weights(
        (run["model"], run["model_digest"], f"the run of {run['method']}")
        for run in found
        if "model_digest" in run
    )
    found += [each._asdict() for each in without]
    write_json(found, output)
