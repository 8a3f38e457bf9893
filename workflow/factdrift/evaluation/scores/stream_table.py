"""Prints and draws the scores of a stream by interval, in the way of the WikiFactDiff paper's Table 6."""

from __future__ import annotations

import json
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.core.figures import name_ends, parts, save
from factdrift.core.files import write_csv, write_text
from factdrift.core.screen import grid
from factdrift.core.tables import records
from factdrift.evaluation.ability.record import Ability, read_ability
from factdrift.evaluation.methods.record import Skipped, style_of, title_of
from factdrift.evaluation.scores.costs import skipped_among
from factdrift.evaluation.scores.intervals import Interval, interval
from factdrift.evaluation.scores.table import left_out_line, skipped_lines, unscored_lines
from factdrift.evaluation.scores.verdicts import written_scores
from factdrift.evaluation.scores.written_lines import percent, written_lines
from factdrift.models.alignment import NOT_FINITE
from factdrift.models.bundled.taught import recall_lines

COLUMNS = {
    "efficacy_d": ("Efficacy D", "current", "d"),
    "efficacy_s": ("S", "current", "s"),
    "efficacy_exact": ("Exact", "current", "exact"),
    "generalization_d": ("General. D", "current", "generalization_d"),
    "generalization_s": ("S", "current", "generalization_s"),
    "retention_s": ("Retention S", "retention", "s"),
    "retention_exact": ("Exact", "retention", "exact"),
    "staleness_s": ("Stale S", "staleness", "s"),
    "staleness_exact": ("Exact", "staleness", "exact"),
    "bleedover_random": ("Bleed. random", "neighbors", "bleedover_random"),
    "bleedover_nearest": ("nearest", "neighbors", "bleedover_nearest"),
    "nearest_exact": ("Nearest", "neighbors", "nearest_exact"),
}
"""Name -> title, kind of probe, and column of STREAM_SCORES; shares times 100."""

PROBES = ("current", "retention", "staleness", "neighbors")
_SHARES = ("s", "exact", "generalization_s", "nearest_exact")
"""Columns whose values are shares, from 0 to 1."""


@dataclass(frozen=True)
class Stream:
    """The scores of all models and methods, by interval."""

    scores: dict[tuple[str, str, int], list[dict[str, Any]]]
    """(model, method, interval) -> rows of STREAM_SCORES."""
    dates: dict[int, tuple[str, str]]
    made: dict[tuple[str, str, int], dict[str, Any]]
    """(model, method, interval) -> row of INTERVALS."""
    jobs: dict[tuple[str, str], dict[str, Any]]
    """(model, method) -> what `edit stream-scores` wrote of its job: costs, sources of hyper-parameters."""
    abilities: dict[str, Ability]
    """Model -> what is measured of it without any edit."""
    below: list[str]
    written: list[dict[str, Any]]
    """Rows of WRITTEN."""

    @classmethod
    def read(
        cls,
        scores: Path,
        written: Path,
        intervals: Path,
        costs: Path,
        ability: Sequence[Path],
        bundled: Sequence[Path],
    ) -> Stream:
        rows: dict[tuple[str, str, int], list[dict[str, Any]]] = {}
        dates: dict[int, tuple[str, str]] = {}
        columns = {column for _, _, column in COLUMNS.values()} | {"probe", "failed", NOT_FINITE}
        named = ["model", "method", "interval", "old_date", "new_date"]
        for row in pq.read_table(scores, columns=[*named, *columns]).to_pylist():
            rows.setdefault((row["model"], row["method"], row["interval"]), []).append(row)
            dates[row["interval"]] = (row["old_date"], row["new_date"])
        told = pq.read_table(intervals).to_pylist()
        spent = json.loads(costs.read_text(encoding="utf-8"))
        return cls(
            scores=rows,
            dates=dict(sorted(dates.items())),
            made={(row["model"], row["method"], row["interval"]): row for row in told},
            jobs={(job["model"], job["method"]): job for job in spent},
            abilities={found.name: found for found in map(read_ability, ability)},
            below=list(recall_lines(bundled)),
            written=list(records(written)),
        )

    @property
    def methods(self) -> dict[str, list[str]]:
        """Model -> its methods, in the order of the configuration."""
        found: dict[str, list[str]] = {}
        for model, method in dict.fromkeys(key[:2] for key in self.scores):
            found.setdefault(model, []).append(method)
        return found

    def title(self, model: str, method: str) -> str:
        """The method as tables name it, with an asterisk if values of it were derived and not tuned."""
        return title_of(method) + ("*" if self.jobs.get((model, method), {}).get("derived") else "")

    @property
    def skipped(self) -> list[Skipped]:
        return skipped_among(self.jobs.values())

    def value(self, model: str, method: str, number: int, name: str) -> Interval | None:
        """The mean of a column of COLUMNS over the edits that did not fail, times 100."""
        _, probe, column = COLUMNS[name]
        rows = self.scores.get((model, method, number), [])
        values = [100 * row[column] for row in rows if row["probe"] == probe and row[column] is not None]
        return interval(values, top=100 if column in _SHARES else None)

    def asked(self, model: str, method: str, number: int) -> str:
        """The edits whose probes of each kind are scored after an interval, in the order of PROBES."""
        rows = self.scores.get((model, method, number), [])
        kinds = [row["probe"] for row in rows if row["failed"] is None]
        return "/".join(f"{kinds.count(kind):,}" for kind in PROBES)

    def not_finite(self, model: str, method: str, number: int) -> int:
        """Rows with a probe for which the output is not finite."""
        return sum(bool(row[NOT_FINITE]) for row in self.scores.get((model, method, number), []))

    def surprise(self, model: str, method: str, number: int) -> float | None:
        """The perplexity after an interval."""
        if method == "none":
            return self.abilities[model].perplexity if model in self.abilities else None
        found: float | None = self.made.get((model, method, number), {}).get("perplexity")
        return found

    def seconds(self, model: str, method: str, number: int) -> float | None:
        """Seconds for each edit of an interval, without evaluation."""
        for part in self.jobs.get((model, method), {}).get("intervals", ()):
            if part["interval"] == number:
                found: float = part["edit_seconds"] / part["edits"]
                return found
        return None

    def edits(self, model: str, number: int) -> int:
        """The edits that have been made after an interval, failed ones too."""
        found = [self.made[key]["so_far"] for key in self.made if (key[0], key[2]) == (model, number)]
        return max(found, default=0)


def write_report(stream: Stream, text: Path, table: Path) -> list[str]:
    """Writes the table as text and as comma-separated values; returns the lines of the text."""
    said = [*lines(stream), *stream.below]
    write_text("".join(f"{line}\n" for line in said), text)
    write_csv(_csv_rows(stream), table)
    return said


def _csv_rows(stream: Stream) -> Iterator[list[Any]]:
    """The header and the rows of the table as comma-separated values."""
    bounds = [name for column in COLUMNS for name in (column, f"{column}_ci95", f"{column}_n")]
    last = ["perplexity", "tasks", "failed", NOT_FINITE, "entries", "state_bytes", "seconds_per_edit"]
    yield ["model", "method", "interval", "old_date", "new_date", "so_far", *bounds, *last]
    for model, method in dict.fromkeys(key[:2] for key in stream.scores):
        for number, dates in stream.dates.items():
            found = [stream.value(model, method, number, name) for name in COLUMNS]
            made = stream.made.get((model, method, number), {})
            surprise = stream.surprise(model, method, number)
            seconds = stream.seconds(model, method, number)
            yield [
                *(model, method, number, *dates, stream.edits(model, number)),
                *(cell for one in found for cell in ((*one.cells(), one.n) if one else [None] * 3)),
                None if surprise is None else f"{surprise:.6g}",
                *(made.get(name) for name in ("tasks", "failed")),
                stream.not_finite(model, method, number),
                *(made.get(name) for name in ("entries", "state_bytes")),
                None if seconds is None else f"{seconds:.6g}",
            ]


def lines(stream: Stream) -> Iterator[str]:
    """The table as text: for each model a block for each method, in it a line for each interval."""
    yield "Edits of a stream, interval by interval, each on top of all earlier ones"
    for model, methods in stream.methods.items():
        yield from ("", f"{model}, in writing, over all intervals")
        said = [row for row in stream.written if row["model"] == model]
        titles = {method: stream.title(model, method) for method in methods}
        yield from written_lines(said, titles)
        for method in titles:
            yield f"{model}, {titles[method]}, in writing by interval"
            yield from grid(["", *SAID.values()], list(_said(stream, model, method)))
            yield ""
    yield "Means with 95 % confidence intervals (1.96 sd / sqrt(n)), times 100; Kept: bytes beside the model."
    yield "n: facts asked: new/earlier/superseded/with neighbours; intervals are over the facts of one model."
    yield "Not finite: of these, those for which the output of the model is not finite."
    header = ["", "Edits", "n", *(title for title, _, _ in COLUMNS.values())]
    header += ["Perplexity", "Kept", "Failed", "Not finite"]
    for model, methods in stream.methods.items():
        for method in methods:
            yield ""
            yield f"{model}, {stream.title(model, method)}"
            yield from grid(header, [_line(stream, model, method, number) for number in stream.dates])
        yield ""
        ability = stream.abilities.get(model)
        if ability and ability.text:
            yield f"Perplexity on {ability.text}, {ability.tokens:,} tokens"
        yield from skipped_lines(stream.skipped, model)
        jobs = [(stream.title(*key), job) for key, job in stream.jobs.items() if key[0] == model]
        yield from (f"{title} {job['source']}" for title, job in jobs if job.get("derived"))
        yield from (left_out_line(title, job["left_out"]) for title, job in jobs if "left_out" in job)
    yield from unscored_lines(stream.skipped, stream.methods.keys())


SAID = {
    ("new, own wording", "correct"): "New: right",
    ("new, own wording", "stale"): "Stale",
    ("new, other wordings", "correct"): "Other wordings: right",
    ("earlier, own wording", "correct"): "Earlier: right",
    ("superseded", "stale"): "Superseded: stale",
    ("nearest", "kept"): "Nearest: kept",
    ("nearest", "lost"): "Lost",
    ("random", "kept"): "Random: kept",
}
"""Kind of question and count of WRITTEN_SCORES -> title, of what was written after an interval."""


def _said(stream: Stream, model: str, method: str) -> Iterator[list[str]]:
    """The shares of SAID after each interval, in percent."""
    mine = [row for row in stream.written if (row["model"], row["method"]) == (model, method)]
    for number, dates in stream.dates.items():
        scores = {
            row["asked"]: row for row in written_scores([row for row in mine if row["interval"] == number])
        }
        cells = [dates[1]]
        for asked, count in SAID:
            whole = scores.get(asked, {}).get("compared" if count in ("kept", "lost") else "answers")
            cells.append(percent(scores[asked][count] / whole) if whole else "-")
        yield cells


def _line(stream: Stream, model: str, method: str, number: int) -> list[str]:
    surprise = stream.surprise(model, method, number)
    made = stream.made.get((model, method, number), {})
    return [
        stream.dates[number][1],
        f"{stream.edits(model, number):,}",
        stream.asked(model, method, number),
        *(str(stream.value(model, method, number, name) or "-") for name in COLUMNS),
        "-" if surprise is None else f"{surprise:.4g}",
        "-" if made.get("state_bytes") is None else f"{made['state_bytes']:,}",
        str(made.get("failed", 0)),
        str(stream.not_finite(model, method, number)),
    ]


PANELS = {
    "efficacy_s": "new facts said (S, high is good)",
    "generalization_s": "in other words, too (S, high is good)",
    "retention_s": "earlier new facts kept (S, high is good)",
    "staleness_s": "facts since replaced (S, low is good)",
    "bleedover_nearest": "nearest facts lost (points, low is good)",
    "perplexity": "perplexity of a text (low is good)",
}
"""Column of the table -> title of its panel."""

_SIZE = (3.9, 2.8)


def draw(stream: Stream, paths: Sequence[Path]) -> None:
    """A part for each model with a panel for each column: each method by the date of the interval's end."""
    models = stream.methods or {"": []}
    messages = [_message(stream, model, methods) for model, methods in models.items()]
    figure, found = parts(messages, [len(PANELS)] * len(models), 3, _SIZE, sharex=True)
    places, ends = range(len(stream.dates)), [new for _, new in stream.dates.values()]
    for axes, (model, methods) in zip(found, models.items(), strict=True):
        for axis, column in zip(axes, PANELS, strict=True):
            axis.set(title=PANELS[column], xlim=(-0.2, max(len(places) - 0.8, 0.2)))
            axis.set_xticks(places, ends, rotation=45, ha="right", fontsize="x-small")
            if column == "perplexity":
                axis.set_yscale("log")
            else:
                axis.set_ylim(-3, 103)
            last = [_curve(axis, stream, model, method, column) for method in methods]
            name_ends(axis, [end for end in last if end is not None], _SIZE[1])
    save(figure, *paths)


def _curve(axis: Any, stream: Stream, model: str, method: str, column: str) -> tuple[str, float, str] | None:
    """Draws one method in one panel; returns its name, its last value and its colour.

    Intervals without a value are left out.
    """
    points = []
    for place, number in enumerate(stream.dates):
        if column == "perplexity":
            value = stream.surprise(model, method, number)
            if value is not None and math.isfinite(value):
                points.append((place, value, 0.0))
        elif (found := stream.value(model, method, number, column)) is not None:
            points.append((place, found.mean, 0.0 if math.isnan(found.half) else found.half))
    if not points:
        return None
    style = style_of(method)
    x, y = ([point[part] for point in points] for part in range(2))
    axis.plot(x, y, marker="o", markersize=3, **style)
    below, above = ([mean + sign * half for _, mean, half in points] for sign in (-1, 1))
    axis.fill_between(x, below, above, alpha=0.1, color=style["color"], linewidth=0)
    return stream.title(model, method), y[-1], style["color"]


def _message(stream: Stream, model: str, methods: Sequence[str]) -> str:
    """What is left of earlier facts after the last interval, at best and at worst."""
    last = max(stream.dates, default=0)
    kept = {
        method: found.mean
        for method in methods
        if method != "none" and (found := stream.value(model, method, last, "retention_s")) is not None
    }
    if len(kept) < 2:
        return f"{model}: edits as the world changed"
    best, worst = max(kept, key=lambda method: kept[method]), min(kept, key=lambda method: kept[method])
    return (
        f"{model}: after the last interval {title_of(best)} keeps {kept[best]:.0f} % of the earlier new "
        f"facts, {title_of(worst)} {kept[worst]:.0f} % (by S)"
    )
