"""What several tables of scores have in common: means with intervals, costs of jobs, lines below a table."""

import json
import math
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from statistics import fmean, stdev
from types import MappingProxyType
from typing import Any, NamedTuple

from factdrift.core.errors import CannotEdit
from factdrift.core.files import write_json
from factdrift.evaluation.methods.record import Skipped, skipped_methods, title_of
from factdrift.models.alignment import NOT_FINITE

_Z = 1.96
_NOTHING = {"edits": 0, "edit_seconds": 0.0, "evaluation_seconds": 0.0, "peak_mb": 0.0}

PLAIN = ("fluency", "fluency_full")
"""Columns of scores that are no percentages; the values of the others are multiplied by 100."""
SHARES = (
    *("s", "efficacy_s", "generalization_s", "exact", "greedy", "generalization_exact"),
    *("generalization_greedy", "nearest_exact_before", "nearest_exact"),
)
"""Columns of scores whose values are shares, from 0 to 1."""

Row = Mapping[str, Any]


def by_columns(rows: Iterable[dict[str, Any]], *names: str) -> dict[tuple[Any, ...], list[dict[str, Any]]]:
    """The rows by their values of some columns, in the order in which these first come."""
    found: dict[tuple[Any, ...], list[dict[str, Any]]] = {}
    for row in rows:
        found.setdefault(tuple(row[name] for name in names), []).append(row)
    return found


class Interval(NamedTuple):
    """A mean, half the width of its 95 % confidence interval, and the number of values."""

    mean: float
    half: float
    n: int

    def __str__(self) -> str:
        return f"{self.mean:.1f}" + ("" if math.isnan(self.half) else f" ±{self.half:.1f}")

    def cells(self) -> tuple[str, str]:
        """Mean and half the width as comma-separated values have them; a width that is not known is empty."""
        return f"{self.mean:.6g}", "" if math.isnan(self.half) else f"{self.half:.6g}"


def interval(
    values: Sequence[float], models: Sequence[object] = (), top: float | None = None
) -> Interval | None:
    """Mean and 1.96 sd / sqrt(n), which is NaN for a single value; None if there are no values.

    `models`: of each value the edited model that it is of. Values of one model are not independent, so the
    interval is then that of clusters, by Student's t; with one model it is over that model's values alone.
    `top`: the values are shares of it, from 0 to `top`. If all are 0, or all `top`, half the width is the
    distance to the other end of their Wilson interval, because the sample has no spread.
    """
    if not values:
        return None
    mean, clusters = fmean(values), len(set(models))
    clustered = 1 < clusters < len(values)
    if top is not None and set(values) in ({0.0}, {top}):
        half = top * _Z**2 / ((clusters if clustered else len(values)) + _Z**2)
    elif clustered:
        from scipy import stats

        sums = dict.fromkeys(models, 0.0)
        for value, model in zip(values, models, strict=True):
            sums[model] += value - mean
        squares = math.fsum(each**2 for each in sums.values())
        variance = squares / len(values) ** 2 * clusters / (clusters - 1)
        half = float(stats.t.ppf(0.975, clusters - 1)) * math.sqrt(variance)
    else:
        half = _Z * stdev(values) / math.sqrt(len(values)) if len(values) > 1 else math.nan
    return Interval(mean, half, len(values))


def geometric(values: Sequence[float]) -> Interval | None:
    """The geometric mean m of positive values, with half the width m * 1.96 sd(log) / sqrt(n).

    That is the first-order width of exp of an interval of the mean logarithm. Infinite without a width if a
    value is.
    """
    if any(math.isinf(value) for value in values):
        return Interval(math.inf, math.nan, len(values))
    if found := interval([math.log(value) for value in values]):
        mean = math.exp(found.mean)
        return Interval(mean, mean * found.half, found.n)
    return None


class Group(NamedTuple):
    """The scores of one method on one model: for one kind of edit, or after one interval of a stream."""

    model: str
    kind: str
    """Of edits; empty for a stream."""
    method: str
    rows: list[dict[str, Any]]
    cost: Row
    written: Sequence[Row] = ()
    """The rows of WRITTEN about these edits."""
    made: Row = MappingProxyType({})
    """What is known of the interval."""

    @property
    def title(self) -> str:
        """The method as tables name it, with an asterisk if values of it were derived and not tuned."""
        return title_of(self.method) + ("*" if self.cost.get("derived") else "")

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
        return sum(bool(row.get(NOT_FINITE)) for row in self.lasting)

    def value(self, column: str, probe: str = "") -> Interval | None:
        """The interval of a column over the edits that did not fail, which allows for edits in one model.

        `probe`: of a stream, the kind of probe that it is about.
        """
        factor = 1 if column in PLAIN else 100
        mine = (row for row in self.lasting if not probe or row["probe"] == probe)
        found = [row for row in mine if row[column] is not None]
        top = 100 if column in SHARES else None
        return interval([factor * row[column] for row in found], [row.get("state") for row in found], top)


def bounds(columns: Iterable[str]) -> list[str]:
    """The columns of comma-separated values of intervals."""
    return [name for column in columns for name in (column, f"{column}_ci95", f"{column}_n")]


def write_costs(
    jobs: Sequence[Path], output: Path, skipped: Sequence[Skipped] = (), strict: bool = False
) -> list[Skipped]:
    """Writes one entry for each model and method: sums over shards, and the peak of memory.

    Of a method that puts texts before prompts also the most that did not fit, as `left_out`, if any; of a
    stream also what each interval has cost, as `intervals`.

    `skipped`: methods for which there was no job. Returns these and the methods whose job could not edit the
    model; their entries have the reason under `skipped`. Raises CannotEdit with all reasons if every method
    but `none` was skipped, or, if `strict`, any of them.
    """
    entries: dict[tuple[str, str], dict[str, Any]] = {}
    for path in jobs:
        job = json.loads(path.read_text(encoding="utf-8"))
        batches = job.pop("batches")
        if intervals := [batch for batch in batches if "interval" in batch]:
            job["intervals"] = intervals
        entry = entries.setdefault((job["model"], job["method"]), {**job, **_NOTHING})
        for batch in batches:
            for key in ("edits", "edit_seconds", "evaluation_seconds"):
                entry[key] += batch[key]
            entry["peak_mb"] = max(entry["peak_mb"], batch["peak_mb"])
            if "left_out" in batch:
                entry["left_out"] = max(entry.get("left_out", 0), batch["left_out"])
    for each in skipped:
        entries[each.model, each.method] = {**each._asdict(), **_NOTHING}
    found = skipped_among(entries.values())
    reasons = "; ".join(skipped_methods(found))
    if found and len(found) == len(entries):
        raise CannotEdit(f"methods: none of them can edit a configured model: {reasons}")
    if found and strict:
        raise CannotEdit(f"methods: skipped, which `strict` forbids: {reasons}")
    write_json(list(entries.values()), output)
    return found


def read_costs(path: Path) -> dict[tuple[str, str], dict[str, Any]]:
    """(model, method) -> what `write_costs` wrote of its job."""
    entries = json.loads(path.read_text(encoding="utf-8"))
    return {(entry["model"], entry["method"]): entry for entry in entries}


def skipped_among(entries: Iterable[Mapping[str, Any]]) -> list[Skipped]:
    """The skipped methods with their reasons, from the descriptions of runs."""
    return [Skipped(*(each[key] for key in Skipped._fields)) for each in entries if "skipped" in each]


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


def cost_lines(groups: Sequence[Group]) -> Iterator[str]:
    """Where values were derived from, and that there were more texts than fit before a prompt."""
    for group in groups:
        if group.cost.get("derived"):
            yield f"{group.title} {group.cost['source']}"
    for group in groups:
        if most := group.cost.get("left_out"):
            lost = "the oldest, did not fit before a prompt and were left out"
            yield f"{group.title}: up to {most:,} updates, {lost}"


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
