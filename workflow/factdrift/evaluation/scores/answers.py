"""Scores of all models, conditions and ways of scoring, from their answers to TempRIPPLE.

They are written in the layout of its paper, by task as its Table 2 and by hop with its tests.
"""

from collections import Counter, defaultdict
from collections.abc import Iterator, Mapping, Sequence, Set
from functools import partial
from pathlib import Path
from typing import Any

import pyarrow as pa

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.files import write_csv, write_text
from factdrift.core.owned import claim
from factdrift.core.score_table import HIGHER, Cell, Column, Line, bounded, rules, table
from factdrift.core.tables import database, sql
from factdrift.evaluation.methods.record import UNEDITED, Skipped, record_of
from factdrift.evaluation.scores.conditions import CONDITION
from factdrift.evaluation.scores.costs import skipped_among
from factdrift.evaluation.scores.groups import by_columns, by_text, skipped_lines, unscored_lines
from factdrift.evaluation.scores.written import written_table
from factdrift.evaluation.scores.written_lines import written_lines
from factdrift.models.bundled.taught import recall_lines
from factdrift.models.names import check_same_weights
from factdrift.tempripple.schemas import TASKS
from factdrift.tempripple.score import SELECTIONS, Cutoff, grouped, read_predictions, report, within_cutoff

PREDICTIONS = schema_of(
    "run_id model scoring condition item_id output: string, parsed: int8, correct: bool",
    "logprobs: [float64], reason: string",
)
"""One row for each item, condition and way of scoring (docs/tables/answer_predictions.md)."""

_BY = ("items", "model", "scoring", "condition", "task", "hop")
LOST = {
    "unparsed": "answers have no letter, or no finite likelihood, and count as wrong",
    "unanswered": "could not be asked and do not count",
    "beyond_cutoff": "do not count because of the model's cutoff",
}
"""Column of SCORES -> what its number is of, where it is not 0."""
_INTERVALS = ("wilson", "by_timeline", "by_asked_fact")
SCORES = schema_of(
    f"{' '.join(_BY[:-1])}: string, hop: int8, n right {' '.join(LOST)}: int32, accuracy: float64",
    *(f"{name}_low {name}_high: float64" for name in _INTERVALS),
    "asked_facts: int32, accuracy_of_asked_facts: float64",
)
"""One row for each selection of items, model, way of scoring, condition, task and hop."""

TABLES: dict[str, dict[str, tuple[str, int]]] = {
    "table2": {
        "new": ("new", 0),
        "new related": ("new related", 1),
        "old": ("old", 0),
        "old related": ("old related", 1),
    },
    "table3": {
        f"{line} hop {hop}": (f"{line} related" if hop else line, hop)
        for line in ("new", "old")
        for hop in range(4)
    },
}
"""Table -> column -> task and hop; the related facts of the paper's Table 2 are those of hop 1 there."""


def score(
    rows: Sequence[Row],
    items: Sequence[Row],
    facts: Sequence[Row],
    cutoffs: Mapping[str, Cutoff],
    seed: int = 0,
    draws: int = 2000,
) -> tuple[pa.Table, dict[str, Any]]:
    """SCORES, and by way of scoring the tests of `score.report`, of rows of PREDICTIONS.

    `items`, `facts`: TR_ITEMS and TR_FACTS. `cutoffs`: of models. Items without an answer are left out and
    counted.
    """
    tests: dict[str, Any] = {}
    accuracies: dict[tuple[Any, ...], Row] = {}
    counted: set[tuple[str, ...]] = set()
    for (scoring,), own in by_columns(rows, "scoring").items():
        asked = (row for row in own if row["correct"] is not None)
        answered = [(row["item_id"], row["condition"], row["correct"], row["model"]) for row in asked]
        groups = within_cutoff(grouped(answered, items, "predictions, row"), facts, cutoffs)
        for key, group in groups.items():
            counted |= {(scoring, *key[:2], answer.item["item_id"]) for answer in group}
        tests[scoring] = report(groups, facts, seed, draws)
        for row in tests[scoring].pop("accuracy"):
            for name in _INTERVALS:
                row[f"{name}_low"], row[f"{name}_high"] = row.pop(name)
            accuracies[tuple((row | {"scoring": scoring})[name] for name in _BY)] = row
    counts = _counts(rows, items, counted)
    models = list(dict.fromkeys(row["model"] for row in rows))
    ways = sorted(tests, key=lambda way: (way != "written", way))
    conditions = list(dict.fromkeys(["without", "with", *(row["condition"] for row in rows)]))
    orders = (list(SELECTIONS), models, ways, conditions, TASKS, range(4))
    nothing = {"n": 0, "right": 0, "asked_facts": 0}
    scores = [
        accuracies.get(by, nothing)
        | dict(zip(_BY, by, strict=True))
        | {name: counts[by][name] for name in LOST}
        for by in sorted(
            counts, key=lambda by: [order.index(value) for order, value in zip(orders, by, strict=True)]
        )
    ]
    return pa.Table.from_pylist(scores, schema=SCORES), tests


Counts = dict[tuple[Any, ...], Counter[str]]
"""The values of _BY -> how many answers count, under "", and how many do not, by LOST."""


def _counts(rows: Sequence[Row], items: Sequence[Row], counted: Set[tuple[str, ...]]) -> Counts:
    """How many answers are lost, and why. `counted`: scoring, model, condition and item of the others."""
    by_id = {item["item_id"]: item for item in items}
    counts: Counts = defaultdict(Counter)
    for row in rows:
        item, lost = by_id[row["item_id"]], ""
        if row["correct"] is None:
            lost = "unanswered"
        elif tuple(row[name] for name in ("scoring", "model", "condition", "item_id")) not in counted:
            lost = "beyond_cutoff"
        elif row["parsed"] is None and row["scoring"] != "written":  # in writing no option need be named
            lost = "unparsed"
        for selection, wanted in SELECTIONS.items():
            if wanted(item):
                by = (row["model"], row["scoring"], row["condition"], TASKS[item["task"] - 1], item["hop"])
                counts[selection, *by][lost] += 1
    return counts


def read_given(path: Path, items: Sequence[Row]) -> list[Row]:
    """Rows of PREDICTIONS, with the way `given`, from another program (`score.read_predictions`)."""
    return [
        {"scoring": "given", "model": key[0], "condition": key[1], "item_id": answer.item["item_id"]}
        | {"parsed": 0, "correct": answer.correct}
        for key, group in read_predictions(path, items).items()
        for answer in group
    ]


def predictions(answers: Sequence[Path], runs: Sequence[Row]) -> pa.Table:
    """PREDICTIONS of runs, in their order; those of an unedited model together.

    In each by way of scoring, condition and item. `runs`: the description of each run, whose answers are at
    the same place. Raises InputError if there are more or fewer of them.
    """
    if len(answers) != len(runs):
        raise InputError(
            f"--runs: {len(runs)} descriptions for {len(answers)} tables of --answers; give one for each "
            "table, in the same order"
        )
    given = pa.table(
        {
            "filename": [str(path) for path in answers],
            "place": range(len(runs)),
            "run_id": pa.array([run.get("run_id") for run in runs], pa.string()),
            "summed": [run.get("answer_normalise") == "sum" for run in runs],
        }
    )
    with database() as db:
        db.register("runs", given)
        rows = db.sql(
            f"""SELECT run_id, model, way AS scoring, {CONDITION} AS condition, question AS item_id, output,
                parsed, correct, reason, CASE WHEN summed AND logprobs IS NOT NULL
                    THEN [pair[1] * pair[2] for pair in list_zip(logprobs, tokens)] ELSE logprobs
                END AS logprobs
            FROM read_parquet({sql(list(answers))}, filename = true) JOIN runs USING (filename)
            ORDER BY min(place) OVER (
                PARTITION BY model, CASE WHEN method IN {sql(UNEDITED)} THEN '' ELSE method END
            ), scoring, condition, item_id"""
        )
        return rows.to_arrow_table().select(PREDICTIONS.names).cast(PREDICTIONS)


def described(runs: Sequence[Row], without: Sequence[Skipped] = (), strict: bool = False) -> list[Row]:
    """The descriptions of all runs, in their order, and of the methods that have none, `without`.

    Raises CannotEdit if `strict` and a method with a run was skipped, and InputError if runs of one model
    have different weights.
    """
    for run in runs:
        if strict and "skipped" in run:
            raise CannotEdit(f"{run['method']} on {run['model']}: {run['skipped']}")
    known = (run for run in runs if "model_digest" in run)
    check_same_weights((run["model"], run["model_digest"], f"the run of {run['method']}") for run in known)
    return [*runs, *(method._asdict() for method in without)]


def title(condition: str) -> str:
    """`w/o ctx`, `w/ ctx`, or the method of an edit."""
    fixed = {"without": "w/o ctx", "with": "w/ ctx"}
    return fixed.get(condition) or record_of(condition.removeprefix("edited-")).title or condition


def lines(
    name: str, scores: Sequence[Row], tests: Mapping[str, Any], items: str, skipped: Sequence[Skipped] = ()
) -> Iterator[str]:
    """One of TABLES as text, over a selection of items: of each condition accuracies, and p of a test.

    McNemar's is against the condition without context, Fisher's against hop 0 of the same line and condition.
    """
    of_hops = name == "table3"
    if of_hops:
        yield f"Accuracy by hop, {items} items"
        caution = "Items are not independent: p is too small."
        yield f"p: Fisher's exact test against hop 0 of the same line. {caution}"
    else:
        yield f"Accuracy by task, {items} items, hop 1 of related facts (Table 2 of the TempRIPPLE paper)"
        yield "In brackets: 95 % bootstrap interval by asked fact. p: McNemar against w/o ctx. Chance: 0.250."
    columns = list(_columns(name))
    shown = [row for row in scores if row["items"] == items]
    tested = _tested(tests, items)
    for (model, scoring), own in by_columns(shown, "model", "scoring").items():
        body, sizes, notes = [], [], []
        for (condition,), rows in by_columns(own, "condition").items():
            named, of = title(condition), tested.get((model, scoring, condition), {})
            of = of | {("accuracy", row["task"], row["hop"]): row for row in rows}
            body.append(Line(named, of, condition != "without"))
            counts = (of.get(("accuracy", *key)) for key in TABLES[name].values())
            numbers = ", ".join(f"{row['n']:,}/{row['asked_facts']:,}" if row else "0" for row in counts)
            sizes.append((f"n (items/asked facts): {numbers}", named))
            sums = {text: sum(row[column] for row in rows) for column, text in LOST.items()}
            notes += [(f"{number:,} {text}", named) for text, number in sums.items() if number]
            notes += [(note, named) for note in _durations(of)]
        yield from ("", f"{model}, {scoring}", *by_text(sizes, always=False), *table("", columns, body))
        if not of_hops:
            yield from by_text(notes)
        yield from skipped_lines(skipped, model)
    yield from rules(columns)
    yield from unscored_lines(skipped, {row["model"] for row in shown}, "")


Tests = dict[tuple[str, str, int], Row]
"""(Test, task, hop) -> its row, with accuracies as the test `accuracy`."""


def _tested(tests: Mapping[str, Any], items: str) -> dict[tuple[str, str, str], Tests]:
    """(model, scoring, condition) -> its tests over a selection of items.

    Tests of two conditions are those against the one without context.
    """
    tested: dict[tuple[str, str, str], Tests] = defaultdict(dict)
    for scoring, tables in tests.items():
        for kind, rows in tables.items():
            for row in rows:
                if row["items"] == items and row.get("first", "without") == "without":
                    condition = row.get("condition") or row["second"]
                    tested[row["model"], scoring, condition][kind, row["task"], row["hop"]] = row
    return tested


def _columns(name: str) -> Iterator[Column]:
    """The columns of one of TABLES."""
    of_hops = name == "table3"

    def accuracy(key: tuple[str, int], of: Tests) -> Cell:
        row = of.get(("accuracy", *key))
        if not row or not row["n"]:
            return Cell()
        low, high = (None if of_hops else row[f"by_asked_fact_{end}"] for end in ("low", "high"))
        return bounded(row["accuracy"], low, high, ".3f")

    def p(key: tuple[str, int], of: Tests) -> Cell:
        row = of.get(("fisher" if of_hops else "mcnemar", *key))
        return Cell(p_value(row["p"] if row else None))

    for column, key in TABLES[name].items():
        yield Column(column, partial(accuracy, key), HIGHER)
        if key[1] or not of_hops:
            yield Column("p", partial(p, key))


def _durations(of: Tests) -> Iterator[str]:
    """How far right answers go with the duration of their property."""
    for task in ("new", "old"):
        tested = of.get(("duration", task, 0))
        if tested and tested["r"] is not None:
            ends = tested["interval"]
            interval = f" [{ends[0]:.2f}, {ends[1]:.2f}]" if ends else ""
            yield f"point-biserial r of {task} facts with duration {tested['r']:.3f}{interval}"


def p_value(p: float | None) -> str:
    """`.003` or `<.001`; `-` for None."""
    return "-" if p is None else "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def write_tables(
    scores: pa.Table,
    tests: Mapping[str, Any],
    runs: Sequence[Row],
    folder: Path | None = None,
    answers: Sequence[Path] = (),
    bundled: Sequence[Path] = (),
) -> str:
    """TABLES as text, written to a folder, if there is one, with the rows of SCORES behind their columns.

    `answers`: ANSWERS of each run, whose verdicts come first. `bundled`: folders of bundled models.
    """
    if folder:
        claim(folder, (f"{name}.{form}" for name in TABLES for form in ("txt", "csv")))
    skipped, rows = skipped_among(runs), scores.to_pylist()
    written = list(written_lines(written_table(answers).to_pylist())) if answers else []
    printed = list(written)
    for name, columns in TABLES.items():
        tables = (lines(name, rows, tests, items, skipped) for items in SELECTIONS)
        text = [*(line for of_items in tables for line in (*of_items, "")), *recall_lines(bundled)]
        printed += text
        if not folder:
            continue
        write_text("".join(f"{line}\n" for line in [*written, *text]), folder / f"{name}.txt")
        own = [row for row in rows if (row["task"], row["hop"]) in columns.values()]
        header = scores.column_names if own else []
        write_csv([header, *(row.values() for row in own)], folder / f"{name}.csv")
    return "\n".join(printed)
