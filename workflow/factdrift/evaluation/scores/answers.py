"""Scores of all models, conditions and ways of scoring, from their answers to TempRIPPLE.

They are written in the layout of its paper, by task as its Table 2 and by hop with its tests, and drawn.
"""

import json
import sys
from collections import Counter, defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.core.columns import Row, schema_of
from factdrift.core.errors import CannotEdit, InputError
from factdrift.core.figures import NEW, OBSOLETE, SOFT, mark, name_ends, parts, save
from factdrift.core.files import write_csv, write_json, write_text
from factdrift.core.owned import claim
from factdrift.core.screen import grid
from factdrift.core.tables import database, sql, write_parquet
from factdrift.evaluation.methods.record import UNEDITED, Skipped, record_of
from factdrift.evaluation.scores.conditions import CONDITION, WAYS, condition_of, in_words
from factdrift.evaluation.scores.costs import skipped_among
from factdrift.evaluation.scores.cutoff import cutoffs_of
from factdrift.evaluation.scores.groups import by_columns, by_text, skipped_lines, unscored_lines
from factdrift.evaluation.scores.jobs import AnswerScores, AnswerTable
from factdrift.evaluation.scores.written import written_table
from factdrift.evaluation.scores.written_lines import written_lines
from factdrift.models.bundled.taught import recall_lines
from factdrift.models.names import check_same_weights
from factdrift.tempripple.schemas import TASKS, TR_FACTS, TR_ITEMS, read_rows
from factdrift.tempripple.score import SELECTIONS, Cutoff, grouped, report, within_cutoff

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


def write_scores(job: AnswerScores) -> int:
    """Writes SCORES, all PREDICTIONS and the tests as JSON; returns the number of scores.

    The tests are those of `score.report`, by way of scoring. Items without an answer are left out and
    counted.
    """
    days, runs = job.last_days(), [json.loads(path.read_text(encoding="utf-8")) for path in job.runs]
    write_runs(runs, job.out_runs, job.without_job(), job.strict)
    cutoffs = {model: Cutoff(day, day) for model, day in days.items()}
    for path in job.dates:
        cutoffs |= cutoffs_of(path)
    table = predictions(job.answers, runs)
    write_parquet(table, job.out_predictions)
    asked, dated = read_rows(job.items_, TR_ITEMS), read_rows(job.facts, TR_FACTS)
    by_id = {item["item_id"]: item for item in asked}
    rows = table.select(["scoring", "model", "condition", "item_id", "parsed", "correct"]).to_pylist()
    models = list(dict.fromkeys(row["model"] for row in rows))
    for model in sorted(days.keys() - set(models)):
        others = ", ".join(sorted(models))
        print(
            f"answer.model_cutoff: {model} was not asked, so its date says nothing; {others} were",
            file=sys.stderr,
        )
    tests: dict[str, Any] = {}
    accuracies: dict[tuple[Any, ...], Row] = {}
    kept = set()
    for (scoring,), mine in by_columns(rows, "scoring").items():
        answered = (
            (row["item_id"], row["condition"], row["correct"], row["model"])
            for row in mine
            if row["correct"] is not None
        )
        groups = grouped(answered, asked, f"{job.out_predictions}, row")
        counted = within_cutoff(groups, dated, cutoffs)
        kept |= {
            (scoring, *key[:2], each.item["item_id"]) for key, group in counted.items() for each in group
        }
        tests[scoring] = report(counted, dated, job.seed, job.draws)
        for row in tests[scoring].pop("accuracy"):
            for name in _INTERVALS:
                row[f"{name}_low"], row[f"{name}_high"] = row.pop(name)
            row["scoring"] = scoring
            accuracies[tuple(row[name] for name in _BY)] = row
    counts: dict[tuple[Any, ...], Counter[str]] = defaultdict(Counter)
    for row in rows:
        item, about = by_id[row["item_id"]], (row["scoring"], row["model"], row["condition"])
        lost = ""
        if row["correct"] is None:
            lost = "unanswered"
        elif (*about, row["item_id"]) not in kept:
            lost = "beyond_cutoff"
        elif row["parsed"] is None and row["scoring"] != "written":  # in writing no option need be named
            lost = "unparsed"
        for selection, wanted in SELECTIONS.items():
            if wanted(item):
                by = (row["model"], row["scoring"], row["condition"], TASKS[item["task"] - 1], item["hop"])
                counts[selection, *by][lost] += 1
    ways = sorted(tests, key=lambda way: (way != "written", way))
    conditions = list(dict.fromkeys(["without", "with", *(row["condition"] for row in rows)]))
    places = (list(SELECTIONS), models, ways, conditions, TASKS, range(4))
    nothing = {"n": 0, "right": 0, "asked_facts": 0}
    scores = [
        dict(zip(_BY, by, strict=True))
        | accuracies.get(by, nothing)
        | {name: counts[by][name] for name in LOST}
        for by in sorted(counts, key=lambda by: [of.index(one) for of, one in zip(places, by, strict=True)])
    ]
    write_json(tests, job.out_tests)
    return write_parquet(pa.Table.from_pylist(scores, schema=SCORES), job.output)


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


def write_runs(
    runs: Sequence[Row], output: Path, without: Sequence[Skipped] = (), strict: bool = False
) -> None:
    """Joins the descriptions of all runs, in their order, in one JSON file.

    `without`: the methods that have no run. Raises CannotEdit if `strict` and a method with a run was
    skipped, and InputError if runs of one model have different weights.
    """
    for each in runs:
        if strict and "skipped" in each:
            raise CannotEdit(f"{each['method']} on {each['model']}: {each['skipped']}")
    check_same_weights(
        (run["model"], run["model_digest"], f"the run of {run['method']}")
        for run in runs
        if "model_digest" in run
    )
    write_json([*runs, *(each._asdict() for each in without)], output)


def title(condition: str) -> str:
    """`w/o ctx`, `w/ ctx`, or the method of an edit."""
    fixed = {"without": "w/o ctx", "with": "w/ ctx"}
    return fixed.get(condition) or record_of(condition.removeprefix("edited-")).title or condition


def lines(name: str, scores: Path, tests: Path, items: str, skipped: Sequence[Skipped] = ()) -> Iterator[str]:
    """One of TABLES as text, over a selection of items: of each condition accuracies, and p of a test.

    McNemar's is against the condition without context, Fisher's against hop 0 of the same line and condition.
    """
    columns, of_hops = TABLES[name], name == "table3"
    if of_hops:
        yield f"Accuracy by hop, {items} items"
        caution = "Items are not independent: p is too small."
        yield f"p: Fisher's exact test against hop 0 of the same line. {caution}"
    else:
        yield f"Accuracy by task, {items} items, hop 1 of related facts (Table 2 of the TempRIPPLE paper)"
        yield "In brackets: 95 % bootstrap interval by asked fact. p: McNemar against w/o ctx. Chance: 0.250."
    test = "fisher" if of_hops else "mcnemar"
    found = {}
    for scoring, tables in json.loads(tests.read_text(encoding="utf-8")).items():
        for kind, of_test in tables.items():
            for row in of_test:
                if row["items"] == items and row.get("first", "without") == "without":
                    condition = row.get("condition") or row["second"]
                    found[scoring, kind, row["model"], condition, row["task"], row["hop"]] = row
    header = [""]
    for column, (_, hop) in columns.items():
        header += [column] if of_hops and not hop else [column, "p"]
    rows = [row for row in pq.read_table(scores).to_pylist() if row["items"] == items]
    for (model, scoring), mine in by_columns(rows, "model", "scoring").items():
        conditions = by_columns(mine, "condition")
        body, sizes, said = [], [], []
        for (condition,), of_condition in conditions.items():
            own = {(row["task"], row["hop"]): row for row in of_condition}
            cells = [title(condition)]
            for task, hop in columns.values():
                cells.append(_accuracy(own.get((task, hop)), not of_hops))
                if hop or not of_hops:
                    tested = found.get((scoring, test, model, condition, task, hop))
                    cells.append(p_value(tested["p"] if tested else None))
            body.append(cells)
            counts = (own.get(key) for key in columns.values())
            numbers = ", ".join(f"{row['n']:,}/{row['asked_facts']:,}" if row else "0" for row in counts)
            sizes.append((f"n (items/asked facts): {numbers}", title(condition)))
            for task in ("new", "old"):
                tested = found.get((scoring, "duration", model, condition, task, 0))
                if tested and tested["r"] is not None:
                    bounds = tested["interval"]
                    interval = f" [{bounds[0]:.2f}, {bounds[1]:.2f}]" if bounds else ""
                    correlation = f"point-biserial r with duration {tested['r']:.3f}{interval}"
                    said.append(f"{title(condition)}, {task}: {correlation}")
        yield from ("", f"{model}, {scoring}", *by_text(sizes, always=False))
        yield from grid(header, body)
        if not of_hops:
            for column, text in LOST.items():
                sums = {one: sum(row[column] for row in of) for (one,), of in conditions.items()}
                yield from by_text((f"{sums[one]:,} {text}", title(one)) for one in sums if sums[one])
            yield from said
        yield from skipped_lines(skipped, model)
    yield from unscored_lines(skipped, {row["model"] for row in rows}, "")


def _accuracy(row: Row | None, bounds: bool) -> str:
    """Accuracy, with its interval by asked fact if wanted."""
    if row is None or not row["n"]:
        return "-"
    interval = f" [{row['by_asked_fact_low']:.2f}, {row['by_asked_fact_high']:.2f}]" if bounds else ""
    return f"{row['accuracy']:.3f}{interval}"


def p_value(p: float | None) -> str:
    return "-" if p is None else "<.001" if p < 0.001 else f"{p:.3f}".removeprefix("0")


def write_tables(job: AnswerTable) -> str:
    """Writes both tables as text and as the rows of SCORES behind their columns; returns what is printed."""
    claim(job.output, (f"{name}.{form}" for name in TABLES for form in ("txt", "csv")))
    skipped = skipped_among(json.loads(job.runs.read_text(encoding="utf-8")))
    written = list(written_lines(written_table(job.answers).to_pylist())) if job.answers else []
    printed = list(written)
    table = pq.read_table(job.scores)
    for name, columns in TABLES.items():
        tables = (lines(name, job.scores, job.tests, items, skipped) for items in SELECTIONS)
        text = [*(line for of_items in tables for line in (*of_items, "")), *recall_lines(job.recall)]
        printed += text
        write_text("".join(f"{line}\n" for line in [*written, *text]), job.output / f"{name}.txt")
        rows = [row for row in table.to_pylist() if (row["task"], row["hop"]) in columns.values()]
        header = table.column_names if rows else []
        write_csv([header, *(list(row.values()) for row in rows)], job.output / f"{name}.csv")
    return "\n".join(printed)


CHANCE = 25.0
"""Of four options, in percent."""

WITHOUT = condition_of("none")
_SIZE = (2.5, 2.5)


def draw(scores: Path, paths: Sequence[Path]) -> None:
    """Draws a part for each model and way, over the discriminating items, or all if none discriminates.

    Bars are the 95 % bootstrap intervals by asked fact; grey is the unedited model without context. The
    dashed line is chance, which answers in writing do not have.
    """
    answered = [row for row in pq.read_table(scores).to_pylist() if row["n"]]
    chosen = [row for row in answered if row["items"] == "discriminating"]
    rows = chosen or [row for row in answered if row["items"] == "all"]
    groups = by_columns(rows, "model", "scoring") or {("", ""): []}
    conditions = list(dict.fromkeys(row["condition"] for row in rows)) or [WITHOUT]
    messages = [
        _message(f"{model}, {WAYS.get(way, way)}", own, bool(chosen)) for (model, way), own in groups.items()
    ]
    columns = min(len(conditions), 4)
    figure, found = parts(messages, [len(conditions)] * len(groups), columns, _SIZE, sharey=True)
    for axes, ((_, way), own) in zip(found, groups.items(), strict=True):
        for axis, condition in zip(axes, conditions, strict=True):
            axis.set(title=in_words(condition), xlim=(-0.2, 3.2), ylim=(0, 100), xlabel="hops from the fact")
            axis.set_xticks(range(4))
            ends = []
            if way != "written":
                mark(axis, CHANCE)
                ends.append(("chance", CHANCE, SOFT))
            for line, colour in (("new", NEW), ("old", OBSOLETE)):
                for state in dict.fromkeys((WITHOUT, condition)):
                    if not (points := _curve(own, state, line)):
                        continue
                    x, y, *spread = zip(*points, strict=True)
                    style: dict[str, Any] = {"marker": "o", "markersize": 3}
                    if state == condition:
                        axis.errorbar(x, y, spread, color=colour, alpha=1.0, **style)
                        ends.append((f"{line} facts", y[-1], colour))
                    else:
                        axis.errorbar(x, y, color=SOFT, alpha=0.45, linewidth=1, **style)
            name_ends(axis, ends, _SIZE[1])
        axes[0].set(ylabel="right, %", xlabel="hops from the fact; grey: no context")
    save(figure, *paths)


def _curve(rows: Sequence[Row], condition: str, line: str) -> list[tuple[int, float, float, float]]:
    """Hop, percent right, and the widths of its interval below and above."""
    found = []
    for row in sorted(rows, key=lambda row: row["hop"]):
        if row["condition"] == condition and row["task"] in (line, f"{line} related"):
            right, low, high = (row[name] for name in ("accuracy", "by_asked_fact_low", "by_asked_fact_high"))
            found.append((row["hop"], 100 * right, 100 * max(right - low, 0), 100 * max(high - right, 0)))
    return found


def _message(group: str, rows: Sequence[Row], discriminating: bool) -> str:
    """What the part shows, in words: the condition that is best at the new facts, and one hop further."""
    what = "questions that tell old from new" if discriminating else "all questions"
    new = [row for row in rows if row["task"] in ("new", "new related")]
    right = {(row["condition"], row["hop"]): 100 * row["accuracy"] for row in new}
    told = [condition for condition, hop in right if not hop]
    if not told:
        return f"{group}: {what}"
    best = max(told, key=lambda condition: right[condition, 0])
    said = f"{group}: {in_words(best)} has {right[best, 0]:.0f} % of the new facts right"
    if (best, 1) in right:
        said += f", and {right[best, 1]:.0f} % of what follows one hop away"
    return f"{said} ({what})"
