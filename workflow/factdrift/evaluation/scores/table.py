"""Prints what was written, then the WikiFactDiff paper's Tables 6 and 7, and draws its Figure 2."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from factdrift.core.columns import Row
from factdrift.core.figures import name_ends, parts, save
from factdrift.core.files import write_csv, write_text
from factdrift.core.intervals import Interval, Z, geometric, interval
from factdrift.core.owned import claim
from factdrift.core.screen import grid
from factdrift.core.tables import database, records, sql
from factdrift.evaluation.methods.record import Skipped, style_of, title_of
from factdrift.evaluation.scores.costs import read_costs, skipped_among
from factdrift.evaluation.scores.groups import (
    Group,
    bounds,
    by_columns,
    by_text,
    cost_lines,
    skipped_lines,
    unscored_lines,
)
from factdrift.evaluation.scores.metrics import BLEEDOVER
from factdrift.evaluation.scores.verdicts import written_scores
from factdrift.evaluation.scores.written_lines import written_lines
from factdrift.models.alignment import NOT_FINITE
from factdrift.models.bundled.taught import recall_lines
from factdrift.verdict.judge import VERDICTS

COLUMNS = {
    "efficacy_d": "Efficacy D",
    "efficacy_s": "Efficacy S",
    "generalization_d": "General. D",
    "generalization_s": "General. S",
    "bleedover_random": "Bleed. random",
    "bleedover_nearest": "Bleed. nearest",
    "fluency": "Fluency",
}
"""Columns of Table 6, in its order."""

ACCURACIES = {
    "exact": "Exact",
    "greedy": "Greedy",
    "generalization_exact": "Gen. exact",
    "generalization_greedy": "Gen. greedy",
    "nearest_exact_before": "Nearest before",
    "nearest_exact": "Nearest after",
    "fluency_full": "Fluency, full",
}

WRITTEN_COLUMNS = {
    **{f"written_{name}": ("own wording", name, "answers") for name in VERDICTS},
    **{f"reworded_{name}": ("other wordings", name, "answers") for name in ("correct", "stale")},
    **{
        f"{asked}_{name}": (asked, name, "compared")
        for asked in ("nearest", "random")
        for name in ("kept", "lost", "gained")
    },
}
"""Column of the comma-separated values -> kind of question, and the counts whose ratio it is, in percent."""

_LAST = ("seconds_per_edit", "peak_mb", "perplexity", "perplexity_ci95", "tasks", "source")
"""Columns of the comma-separated values behind those of the table."""

KINDS = {
    "replace": "replacements",
    "add": "additions: D and S compare the new object's probability with that before the edit",
    "archive": "archives: D and S compare the obsolete object's probability with that before the edit",
}

PAPER = (
    "The paper's metrics: means with 95 % confidence intervals (1.96 sd / sqrt(n)), times 100 but for",
    "fluency and seconds. n: edits that did not fail. Not finite: of these, those with such output.",
)

CHAT = "prompts are turns of a user in the model's chat template"

UNKNOWN = "No edit is in this table: the unedited model writes the obsolete object of none of them."
ADDED = "No edit is in this table: an addition has no obsolete object that the model could know."

BINS = 8
"""The number of classes of neighbours, which are of about equal size."""

PANELS = {
    "popularity": ("popularity", "popularity of the neighbour"),
    "dist": ("similarity", "similarity to the subject"),
}
"""Column of the probes -> what is drawn of it, and the label of its axis."""

_FLOOR = 0.01
"""The least bleedover that is drawn, in points; less is drawn there."""
_SIZE = (4.6, 3.2)

Numbers = NDArray[np.float64]


def read_groups(scores: Path, written: Path, costs: Path, known_only: bool = False) -> list[Group]:
    """Scores and what was written, by model, kind of edit and method, in the order of the table.

    `known_only`: only edits whose obsolete object the unedited model writes.
    """
    said = by_columns(records(written), "model", "method", "edit")
    spent = read_costs(costs)
    groups = by_columns(pq.read_table(scores).to_pylist(), "model", "kind", "method")
    kinds = list(dict.fromkeys(key[:2] for key in groups))
    found = []
    for key in sorted(groups, key=lambda key: kinds.index(key[:2])):
        model, kind, method = key
        rows = [row for row in groups[key] if row["known_before"] or not known_only]
        mine = [each for row in rows for each in said.get((model, method, row["edit"]), ())]
        found.append(Group(model, kind, method, rows, spent.get((model, method), {}), mine))
    return found


def lines(groups: Sequence[Group], title: str, skipped: Sequence[Skipped] = ()) -> Iterator[str]:
    """The table as text, with the methods that could not edit a model."""
    yield title
    for model, kind in dict.fromkeys((group.model, group.kind) for group in groups):
        mine = [group for group in groups if (group.model, group.kind) == (model, kind)]
        edits = max(len(group.rows) for group in mine)
        asked = any(row["template"] == "chat" for group in mine for row in group.rows)
        yield from ("", f"{model}, {edits:,} {KINDS[kind]}" + (f"; {CHAT}" if asked else ""))
        if not edits:
            yield ADDED if kind == "add" else UNKNOWN
            yield from skipped_lines(skipped, model)
            continue
        said = [row for group in mine for row in group.written]
        yield from written_lines(said, {group.method: group.title for group in mine})
        yield from PAPER
        papers, others = [], []
        for group in mine:
            seconds = _seconds(group)
            first, second = ([str(group.value(name) or "-") for name in of] for of in (COLUMNS, ACCURACIES))
            ends = f"{len(group.lasting):,}", "-" if seconds is None else f"{seconds:.3g}"
            papers.append([group.title, ends[0], *first, ends[1]])
            others.append([group.title, *second, str(group.failed), str(group.not_finite)])
        yield from grid(["", "n", *COLUMNS.values(), "Seconds"], papers)
        yield ""
        yield from grid(["", *ACCURACIES.values(), "Failed", "Not finite"], others)
        yield from by_text((_fewer(group), group.title) for group in mine)
        for group in mine:
            models = len({row.get("state") for row in group.lasting})
            if group.method != "none" and models < len(group.lasting):
                yield f"{group.title}: " + (
                    "all edits are in one model, and intervals are over its edits only"
                    if models == 1
                    else f"intervals are by edited model, of which there are {models:,}"
                )
        yield from measured_lines({group.title: group.lasting for group in mine})
        yield from skipped_lines(skipped, model)
        for group in mine:
            yield from cost_lines([group])
        moments = ((f"second moments over {group.cost.get('moments')}", group) for group in mine)
        yield from by_text((text, group.title) for text, group in moments if group.cost.get("moments"))
    yield from unscored_lines(skipped, {group.model for group in groups})


def _seconds(group: Group) -> float | None:
    """Seconds for each edit, without evaluation."""
    edits = group.cost.get("edits", 0)
    return group.cost["edit_seconds"] / edits if edits else None


def _fewer(group: Group) -> str:
    """The columns whose means are over fewer edits than did not fail, with their number."""
    titles: dict[int, list[str]] = {}
    for column, title in {**COLUMNS, **ACCURACIES}.items():
        found = group.value(column)
        if found is not None and found.n < len(group.lasting):
            titles.setdefault(found.n, []).append(title)
    return "; ".join(f"{n:,} edits in {', '.join(named)}" for n, named in titles.items())


def write_table(
    groups: Sequence[Group],
    title: str,
    output: Path,
    skipped: Sequence[Skipped] = (),
    below: Sequence[str] = (),
) -> list[str]:
    """Writes the table as text, with the lines `below` it, and the same numbers as comma-separated values.

    `output`: the files without their endings. Returns the lines of the text.
    """
    said = [*lines(groups, title, skipped), *below]
    write_text("".join(f"{line}\n" for line in said), output.with_suffix(".txt"))
    write_csv(_csv_rows(groups, skipped), output.with_suffix(".csv"))
    return said


def _csv_rows(groups: Sequence[Group], skipped: Sequence[Skipped]) -> Iterator[list[Any]]:
    columns = [*COLUMNS, *ACCURACIES]
    numbers = [*WRITTEN_COLUMNS, *bounds(columns), *_LAST]
    yield ["model", "kind", "method", "edits", "failed", "not_finite", *numbers, "skipped"]
    for group in groups:
        found = [group.value(column) for column in columns]
        scores = {row["asked"]: row for row in written_scores(group.written)}
        said = [(scores.get(asked, {}), part, whole) for asked, part, whole in WRITTEN_COLUMNS.values()]
        seconds = _seconds(group)
        general = measured_values(group.lasting)
        perplexity = general.pop("Perplexity", None)
        tasks = json.dumps({name: each.mean for name, each in general.items()}) if general else ""
        yield [
            *(group.model, group.kind, group.method, len(group.rows), group.failed, group.not_finite),
            *(f"{100 * row[part] / row[whole]:.6g}" if row.get(whole) else "" for row, part, whole in said),
            *(cell for one in found for cell in ((*one.cells(), one.n) if one else ("", "", 0))),
            *("" if seconds is None else f"{seconds:.6g}", group.cost.get("peak_mb", "")),
            *(*(perplexity.cells() if perplexity else ("", "")), tasks, group.cost.get("source", ""), ""),
        ]
    for each in skipped:
        yield [each.model, "", each.method, 0, 0, 0, *[""] * len(numbers), each.skipped]


def measured_lines(groups: Mapping[str, Sequence[Row]]) -> Iterator[str]:
    """A grid with a row for each method, and which text it is; nothing if no model was measured.

    `groups`: the method as tables name it -> its rows of SCORES, of one model.
    """
    found = {title: measured_values(rows) for title, rows in groups.items()}
    columns = list(dict.fromkeys(name for values in found.values() for name in values))
    if not columns:
        return
    cells = [
        [title, *(_mean(values.get(name)) for name in columns), str(len(_states(rows))) if values else "-"]
        for (title, rows), values in zip(groups.items(), found.values(), strict=True)
    ]
    yield ""
    yield from grid(["", *columns, "Models"], cells)
    measured = [row for rows in groups.values() for row in _states(rows)]
    for text in dict.fromkeys(row["text"] for row in measured if row["text"]):
        yield f"Perplexity on {text}; geometric means over edited models"


def measured_values(rows: Sequence[Row]) -> dict[str, Interval]:
    """`Perplexity`, and `TASK METRIC` for each metric of each task -> the mean over the models measured.

    A model in which several edits are in place counts once.
    """
    states = _states(rows)
    values: dict[str, list[float]] = {}
    for row in states:
        for task, metrics in json.loads(row["tasks"] or "{}").items():
            for metric, value in metrics.items():
                values.setdefault(f"{task} {metric}", []).append(value)
    surprised = geometric([row["perplexity"] for row in states if row["perplexity"] is not None])
    first = {"Perplexity": surprised} if surprised else {}
    return first | {name: found for name, given in values.items() if (found := interval(given))}


def _states(rows: Sequence[Row]) -> list[Row]:
    """One row for each model that was measured."""
    measured = [row for row in rows if row.get("perplexity") is not None or row.get("tasks") is not None]
    return list({row["state"]: row for row in measured}.values())


def _mean(found: Interval | None) -> str:
    if found is None:
        return "-"
    half = "" if math.isnan(found.half) else f" ±{found.half:.2g}"
    return f"{found.mean:.4g}{half}"


def write_tables(
    scores: Path,
    written: Path,
    costs: Path,
    output: Path,
    unedited: Iterable[tuple[Path, Path]],
    bundled: Sequence[Path] = (),
) -> None:
    """Writes Tables 6 and 7 to a folder as text and as comma-separated values, and prints them.

    `unedited`: answers and edits of each unedited model, of which the numbers of unaligned probes by reason
    and of edits that are left out are printed. `bundled`: folders of bundled models, whose recall is printed
    below the tables.
    """
    claim(output, (f"{name}.{form}" for name in ("table6", "table7") for form in ("txt", "csv")))
    skipped = skipped_among(read_costs(costs).values())
    below = list(recall_lines(bundled))
    for name, title, known in (
        ("table6", "All edits (Table 6 of the WikiFactDiff paper)", False),
        ("table7", "Edits of facts that the model knew before (Table 7)", True),
    ):
        groups = read_groups(scores, written, costs, known)
        print("\n".join(write_table(groups, title, output / name, skipped, below)), end="\n\n")
    for asked, edits in unedited:
        rows = pq.read_table(asked, columns=["model", "reason"], filters=[("way", "=", "loglik")]).to_pylist()
        lost = Counter(row["reason"] for row in rows if row["reason"] not in (None, NOT_FINITE))
        excluded = pq.read_table(edits, columns=["excluded"])["excluded"]
        left = len(excluded) - excluded.null_count
        if lost or left:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in lost.items())
            said = f"{lost.total():,} probes are not aligned" + (f" ({reasons})" if lost else "")
            print(f"skipped: {rows[0]['model']}: {said}; {left:,} edits are left out")


def binned(x: Numbers, y: Numbers, bins: int = BINS) -> tuple[Numbers, Numbers, Numbers]:
    """Mean x, mean y and half the 95 % interval of y for quantile classes of x; equal x share a class."""
    edges = np.unique(np.quantile(x, np.linspace(0, 1, bins + 1)))
    place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, max(len(edges) - 2, 0))
    found = []
    for one in np.unique(place):
        mine = y[place == one]
        half = Z * mine.std(ddof=1) / np.sqrt(len(mine)) if len(mine) > 1 else 0.0
        found.append((x[place == one].mean(), mine.mean(), half))
    columns = np.array(found, dtype=np.float64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


def neighbors(probes: Path, without_new: bool = False) -> pd.DataFrame:
    """The probes of neighbours' facts after edits whose `bleedover` is known, with their `similarity`.

    `without_new`: but those whose answer is the new object, which the tables leave out, too.
    """
    with database() as db:
        found: pd.DataFrame = db.sql(
            f"""WITH probes AS (SELECT *, row_number() OVER () AS n FROM read_parquet({sql(probes)}))
            SELECT *, {BLEEDOVER} AS bleedover, 1 - dist AS similarity FROM probes
            WHERE role IN ('nearest', 'random') AND method <> 'none' AND bleedover IS NOT NULL
                AND NOT ({without_new} AND (edit, target) IN (
                    SELECT (edit, target) FROM probes WHERE role = 'update' AND object = 'new'))
            ORDER BY n"""
        ).df()
    return found


def draw(probes: Path, paths: Sequence[Path], without_new: bool = False) -> None:
    """Draws a part for each model: the mean bleedover of each method by class of neighbours, in points.

    The scale is logarithmic, so that both the size and the slope of each method are seen. The panel of a
    column that has no value in any probe says so and is empty. `without_new`: as of `neighbors`.
    """
    rows = neighbors(probes, without_new)
    models = list(dict.fromkeys(rows["model"])) or [""]
    messages = [_message(model, rows[rows["model"] == model]) for model in models]
    figure, found = parts(messages, [len(PANELS)] * len(models), len(PANELS), _SIZE, sharey=True)
    for axes, model in zip(found, models, strict=True):
        own = rows[rows["model"] == model]
        for axis, (given, (column, label)) in zip(axes, PANELS.items(), strict=True):
            axis.set(yscale="log", ylim=(_FLOOR, 100), xlabel=label)
            if rows[given].isna().all():
                axis.text(0.5, 0.5, f"no {column} in the data", transform=axis.transAxes, ha="center")
            ends = []
            for method in dict.fromkeys(own["method"]):
                mine: Any = own[(own["method"] == method)].dropna(subset=[column])
                if len(mine):
                    style = style_of(method)
                    x, y, half = binned(mine[column].to_numpy(), 100 * mine["bleedover"].to_numpy())
                    axis.plot(x, np.maximum(y, _FLOOR), marker="o", markersize=3, **style)
                    low, high = (np.maximum(y + sign * half, _FLOOR) for sign in (-1, 1))
                    axis.fill_between(x, low, high, alpha=0.12, color=style["color"], linewidth=0)
                    ends.append((title_of(method), max(y[-1], _FLOOR), style["color"]))
            axis.margins(x=0.02)
            name_ends(axis, ends, _SIZE[1])
        axes[0].set_yticks([0.01, 0.1, 1, 10, 100], ["0.01", "0.1", "1", "10", "100"])
        axes[0].set_ylabel("points of probability that\na neighbour's fact loses")
    save(figure, *paths)


def _message(model: str, rows: pd.DataFrame) -> str:
    means = (100 * rows.groupby("method")["bleedover"].mean()).sort_values()
    if len(means) < 2:
        return f"{model}: bleedover by neighbour"
    least, most = means.index[0], means.index[-1]
    return (
        f"{model}: other facts lose {means.iloc[-1]:.1f} points by {title_of(most)} and "
        f"{means.iloc[0]:.1f} by {title_of(least)}"
    )
