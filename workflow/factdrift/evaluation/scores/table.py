"""Prints what was written, then the WikiFactDiff paper's Table 6, or its Table 7 of facts known before."""

import json
import math
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from factdrift.core.files import write_csv, write_text
from factdrift.core.owned import claim
from factdrift.core.screen import grid
from factdrift.core.tables import records
from factdrift.evaluation.methods.record import Skipped, title_of
from factdrift.evaluation.scores.costs import skipped_among
from factdrift.evaluation.scores.intervals import Interval, geometric, interval
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
"""Columns of Table 6, in its order; all but fluency are multiplied by 100."""

ACCURACIES = {
    "exact": "Exact",
    "greedy": "Greedy",
    "generalization_exact": "Gen. exact",
    "generalization_greedy": "Gen. greedy",
    "nearest_exact_before": "Nearest before",
    "nearest_exact": "Nearest after",
    "fluency_full": "Fluency, full",
}
_PLAIN = ("fluency", "fluency_full")
_SHARES = ("efficacy_s", "generalization_s", *(name for name in ACCURACIES if name not in _PLAIN))
"""Columns whose values are shares, from 0 to 1."""

WRITTEN_COLUMNS = {
    **{f"written_{name}": ("own wording", name, "answers") for name in VERDICTS},
    **{f"reworded_{name}": ("other wordings", name, "answers") for name in ("correct", "stale")},
    **{
        f"{asked}_{name}": (asked, name, "compared")
        for asked in ("nearest", "random")
        for name in ("kept", "lost", "gained")
    },
}
"""Column of the comma-separated values -> kind of question, and the counts whose ratio it is."""

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

_UNKNOWN = "No edit is in this table: the unedited model writes the obsolete object of none of them."
UNKNOWN = {
    "replace": _UNKNOWN,
    "add": "No edit is in this table: an addition has no obsolete object that the model could know.",
    "archive": _UNKNOWN,
}
"""Why a table of facts that the model knew has no row, by kind of edit."""

Row = Mapping[str, Any]


class Group(NamedTuple):
    """The scores of one method on one model for one kind of edit."""

    model: str
    kind: str
    method: str
    rows: list[dict[str, Any]]
    cost: dict[str, Any]
    written: Sequence[dict[str, Any]] = ()
    """The rows of WRITTEN about these edits."""

    @property
    def title(self) -> str:
        return titled(self.method, self.cost)

    @property
    def lasting(self) -> list[dict[str, Any]]:
        """The rows of edits that did not fail."""
        return [row for row in self.rows if row["failed"] is None]

    @property
    def failed(self) -> int:
        return len(self.rows) - len(self.lasting)

    @property
    def not_finite(self) -> int:
        """The edits that did not fail, but after which the output for a probe is not finite."""
        return sum(bool(row.get("not_finite")) for row in self.lasting)

    @property
    def seconds(self) -> float | None:
        """Seconds for each edit, without evaluation."""
        edits = self.cost.get("edits", 0)
        return self.cost["edit_seconds"] / edits if edits else None

    def value(self, column: str) -> Interval | None:
        """The interval of a column over the edits that did not fail, which allows for edits in one model."""
        factor = 1 if column in _PLAIN else 100
        found = [row for row in self.lasting if row[column] is not None]
        top = 100 if column in _SHARES else None
        return interval([factor * row[column] for row in found], [row.get("state") for row in found], top)


def titled(method: str, cost: Row) -> str:
    """The method as tables name it, with an asterisk if values of it were derived and not tuned."""
    return title_of(method) + ("*" if cost.get("derived") else "")


def read_groups(scores: Path, written: Path, costs: Path, known_only: bool = False) -> list[Group]:
    """Scores and what was written, by model, kind of edit and method, in the order of the table.

    `known_only`: only edits whose obsolete object the unedited model writes.
    """
    said: dict[tuple[str, str, str], list[dict[str, Any]]] = {}
    for row in records(written):
        said.setdefault((row["model"], row["method"], row["edit"]), []).append(row)
    spent = {(each["model"], each["method"]): each for each in json.loads(costs.read_text(encoding="utf-8"))}
    groups: dict[tuple[str, str], dict[str, list[dict[str, Any]]]] = {}
    for row in pq.read_table(scores).to_pylist():
        rows = groups.setdefault((row["model"], row["kind"]), {}).setdefault(row["method"], [])
        if row["known_before"] or not known_only:
            rows.append(row)
    found = []
    for (model, kind), methods in groups.items():
        for method, rows in methods.items():
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
            yield UNKNOWN[kind]
            yield from skipped_lines(skipped, model)
            continue
        said = [row for group in mine for row in group.written]
        yield from written_lines(said, {group.method: group.title for group in mine})
        yield from PAPER
        yield from grid(["", "n", *COLUMNS.values(), "Seconds"], [_cells(group) for group in mine])
        yield ""
        yield from grid(
            ["", *ACCURACIES.values(), "Failed", "Not finite"],
            [
                [
                    group.title,
                    *_values(group, ACCURACIES),
                    str(group.failed),
                    str(group.not_finite),
                ]
                for group in mine
            ],
        )
        yield from by_text((_fewer(group), group.title) for group in mine)
        for group in mine:
            yield from _together(group)
        yield from measured_lines({group.title: group.lasting for group in mine})
        yield from skipped_lines(skipped, model)
        for group in mine:
            if group.cost.get("derived"):
                yield f"{group.title} {group.cost['source']}"
            if group.cost.get("left_out"):
                yield left_out_line(group.title, group.cost["left_out"])
        moments = ((f"second moments over {group.cost.get('moments')}", group) for group in mine)
        yield from by_text((text, group.title) for text, group in moments if group.cost.get("moments"))
    yield from unscored_lines(skipped, {group.model for group in groups})


def by_text(named: Iterable[tuple[str, str]], always: bool = True) -> Iterator[str]:
    """A line for each text (text, name) that is not empty, after the names of all that it is about.

    `always`: also if it is about all names.
    """
    names: dict[str, list[str]] = {}
    for text, name in named:
        if text:
            names.setdefault(text, []).append(name)
    for text, of in names.items():
        yield f"{', '.join(of)}: {text}" if always or len(names) > 1 else text


def left_out_line(title: str, most: int) -> str:
    """Says that a method had more texts than fit before a prompt."""
    return f"{title}: up to {most:,} updates, the oldest, did not fit before a prompt and were left out"


def skipped_lines(skipped: Sequence[Skipped], model: str) -> Iterator[str]:
    """A line for each reason why methods do not run on a model."""
    mine = [each for each in skipped if each.model == model]
    for reason in dict.fromkeys(each.skipped for each in mine):
        named = [title_of(each.method) for each in mine if each.skipped == reason]
        yield f"{', '.join(named)} skipped: {reason}"


def unscored_lines(skipped: Sequence[Skipped], models: Set[str], said: str = ", no method") -> Iterator[str]:
    """Why models that are not among those with scores, `models`, have none; `said` follows their names."""
    for model in dict.fromkeys(each.model for each in skipped if each.model not in models):
        yield from ("", f"{model}{said}", *skipped_lines(skipped, model))


def _values(group: Group, columns: Iterable[str]) -> list[str]:
    return [str(group.value(column) or "-") for column in columns]


def _cells(group: Group) -> list[str]:
    seconds = "-" if group.seconds is None else f"{group.seconds:.3g}"
    return [group.title, f"{len(group.lasting):,}", *_values(group, COLUMNS), seconds]


def _fewer(group: Group) -> str:
    """The columns whose means are over fewer edits than did not fail, with their number."""
    titles: dict[int, list[str]] = {}
    for column, title in {**COLUMNS, **ACCURACIES}.items():
        found = group.value(column)
        if found is not None and found.n < len(group.lasting):
            titles.setdefault(found.n, []).append(title)
    return "; ".join(f"{n:,} edits in {', '.join(named)}" for n, named in titles.items())


def _together(group: Group) -> Iterator[str]:
    """What the intervals of edits are that are in one model together."""
    models = len({row.get("state") for row in group.lasting})
    if group.method == "none" or models == len(group.lasting) or len(group.lasting) < 2:
        return
    if models == 1:
        yield f"{group.title}: all edits are in one model, and intervals are over its edits only"
    else:
        yield f"{group.title}: intervals are by edited model, of which there are {models:,}"


def write_table(
    groups: Sequence[Group],
    title: str,
    text: Path,
    table: Path,
    skipped: Sequence[Skipped] = (),
    below: Sequence[str] = (),
) -> list[str]:
    """Writes the table as text, with the lines `below` it, and the same numbers as comma-separated values.

    Returns the lines of the text.
    """
    said = [*lines(groups, title, skipped), *below]
    write_text("".join(f"{line}\n" for line in said), text)
    write_csv(_csv_rows(groups, skipped), table)
    return said


def _csv_rows(groups: Sequence[Group], skipped: Sequence[Skipped]) -> Iterator[list[Any]]:
    columns = [*COLUMNS, *ACCURACIES]
    bounds = [name for column in columns for name in (column, f"{column}_ci95", f"{column}_n")]
    numbers = [*WRITTEN_COLUMNS, *bounds, *_LAST]
    yield ["model", "kind", "method", "edits", "failed", "not_finite", *numbers, "skipped"]
    for group in groups:
        found = [group.value(column) for column in columns]
        general = measured_values(group.lasting)
        perplexity = general.pop("Perplexity", None)
        tasks = json.dumps({name: each.mean for name, each in general.items()}) if general else ""
        yield [
            *(group.model, group.kind, group.method, len(group.rows), group.failed, group.not_finite),
            *_said(group),
            *(cell for one in found for cell in ((*one.cells(), one.n) if one else ("", "", 0))),
            *("" if group.seconds is None else f"{group.seconds:.6g}", group.cost.get("peak_mb", "")),
            *(*(perplexity.cells() if perplexity else ("", "")), tasks, group.cost.get("source", ""), ""),
        ]
    for each in skipped:
        yield [each.model, "", each.method, 0, 0, 0, *[""] * len(numbers), each.skipped]


def _said(group: Group) -> list[str]:
    """The values of WRITTEN_COLUMNS, in percent; empty where there are no answers."""
    scores = {row["asked"]: row for row in written_scores(group.written)}
    found = []
    for asked, part, whole in WRITTEN_COLUMNS.values():
        row = scores.get(asked, {})
        found.append(f"{100 * row[part] / row[whole]:.6g}" if row.get(whole) else "")
    return found


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


def unaligned_lines(answers: Sequence[Path], made: Sequence[Path]) -> Iterator[str]:
    """Lines with the numbers of unaligned probes by reason, and of edits that were left out.

    `answers`, `made`: tables of the unedited models.
    """
    for asked, edits in zip(answers, made, strict=True):
        rows = pq.read_table(asked, columns=["model", "reason"], filters=[("way", "=", "loglik")]).to_pylist()
        lost = Counter(row["reason"] for row in rows if row["reason"] not in (None, NOT_FINITE))
        excluded = pq.read_table(edits, columns=["excluded"])["excluded"]
        left = len(excluded) - excluded.null_count
        if lost or left:
            reasons = ", ".join(f"{count:,} {reason}" for reason, count in lost.items())
            named = f" ({reasons})" if lost else ""
            yield (
                f"{rows[0]['model']}: {lost.total():,} probes are not aligned{named}; {left:,} edits are "
                "left out"
            )


def write_tables(
    scores: Path,
    written: Path,
    costs: Path,
    unaligned: Sequence[str],
    output: Path,
    bundled: Sequence[Path] = (),
) -> None:
    """Writes Tables 6 and 7 to a folder as text and as comma-separated values, and prints them.

    `unaligned`: lines that are printed after them.
    `bundled`: folders of bundled models, whose recall is printed below the tables.
    """
    claim(output, (f"{name}.{form}" for name in ("table6", "table7") for form in ("txt", "csv")))
    skipped = skipped_among(json.loads(costs.read_text(encoding="utf-8")))
    below = list(recall_lines(bundled))
    for name, title, known in (
        ("table6", "All edits (Table 6 of the WikiFactDiff paper)", False),
        ("table7", "Edits of facts that the model knew before (Table 7)", True),
    ):
        groups = read_groups(scores, written, costs, known)
        text, table = output / f"{name}.txt", output / f"{name}.csv"
        print("\n".join(write_table(groups, title, text, table, skipped, below)), end="\n\n")
    for line in unaligned:
        print(f"skipped: {line}")
