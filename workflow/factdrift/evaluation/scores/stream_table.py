"""Prints and draws the scores of a stream by interval, in the way of the WikiFactDiff paper's Table 6."""

import json
import math
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow.parquet as pq

from factdrift.core.figures import name_ends, parts, save
from factdrift.core.files import write_csv, write_text
from factdrift.core.screen import grid
from factdrift.core.tables import records
from factdrift.evaluation.ability.record import Ability, read_ability
from factdrift.evaluation.methods.record import style_of, title_of
from factdrift.evaluation.scores.costs import skipped_among
from factdrift.evaluation.scores.intervals import Interval, interval
from factdrift.evaluation.scores.table import left_out_line, skipped_lines, titled, unscored_lines
from factdrift.evaluation.scores.verdicts import written_scores
from factdrift.evaluation.scores.written_lines import percent, written_lines
from factdrift.models.alignment import NOT_FINITE

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

Row = dict[str, Any]


class Point(NamedTuple):
    """The scores of one method on one model after one interval."""

    interval: int
    dates: tuple[str, str]
    so_far: int
    """The edits that have been made, failed ones too."""
    values: dict[str, Interval | None]
    """Of each of COLUMNS the mean over the edits that did not fail, times 100."""
    asked: str
    """The edits whose probes of each kind are scored, in the order of PROBES."""
    not_finite: int
    """Rows with a probe for which the output is not finite."""
    perplexity: float | None
    seconds: float | None
    """For each edit of the interval, without evaluation."""
    made: Row
    """The row of INTERVALS; empty without one."""
    written: list[Row]
    """Rows of WRITTEN."""


class Stream(NamedTuple):
    """The scores of all models and methods, by interval."""

    points: dict[str, dict[str, list[Point]]]
    """Model -> method -> its points, in the order of the configuration."""
    jobs: dict[tuple[str, str], Row]
    """(model, method) -> what `edit stream-scores` wrote of its job: costs, sources of hyper-parameters."""
    abilities: dict[str, Ability]
    """Model -> what is measured of it without any edit."""

    def title(self, model: str, method: str) -> str:
        return titled(method, self.jobs.get((model, method), {}))


def read_stream(scores: Path, written: Path, intervals: Path, costs: Path, ability: Sequence[Path]) -> Stream:
    """The scores of a stream, from what `edit stream-scores` wrote."""
    rows: dict[tuple[str, str, int], list[Row]] = defaultdict(list)
    said: dict[tuple[str, str, int], list[Row]] = defaultdict(list)
    dates: dict[int, tuple[str, str]] = {}
    columns = {column for _, _, column in COLUMNS.values()} | {"probe", "failed", NOT_FINITE}
    named = ["model", "method", "interval", "old_date", "new_date"]
    for row in pq.read_table(scores, columns=[*named, *columns]).to_pylist():
        rows[_key(row)].append(row)
        dates[row["interval"]] = (row["old_date"], row["new_date"])
    for row in records(written):
        said[_key(row)].append(row)
    made = {_key(row): row for row in pq.read_table(intervals).to_pylist()}
    abilities = {found.name: found for found in map(read_ability, ability)}
    jobs = {(job["model"], job["method"]): job for job in json.loads(costs.read_text(encoding="utf-8"))}
    points: dict[str, dict[str, list[Point]]] = {}
    for model, method in dict.fromkeys(key[:2] for key in rows):
        of_intervals = jobs.get((model, method), {}).get("intervals", ())
        seconds = {each["interval"]: each["edit_seconds"] / each["edits"] for each in of_intervals}
        for number in sorted(dates):
            key = (model, method, number)
            mine, own = rows.get(key, []), made.get(key, {})
            perplexity = own.get("perplexity")
            if method == "none" and model in abilities:
                perplexity = abilities[model].perplexity
            kinds = [row["probe"] for row in mine if row["failed"] is None]
            of_model = [row["so_far"] for of, row in made.items() if (of[0], of[2]) == (model, number)]
            point = Point(
                interval=number,
                dates=dates[number],
                so_far=max(of_model, default=0),
                values={name: _value(mine, probe, column) for name, (_, probe, column) in COLUMNS.items()},
                asked="/".join(f"{kinds.count(kind):,}" for kind in PROBES),
                not_finite=sum(bool(row[NOT_FINITE]) for row in mine),
                perplexity=perplexity,
                seconds=seconds.get(number),
                made=own,
                written=said.get(key, []),
            )
            points.setdefault(model, {}).setdefault(method, []).append(point)
    return Stream(points, jobs, abilities)


def _key(row: Row) -> tuple[str, str, int]:
    return row["model"], row["method"], row["interval"]


def _value(rows: Sequence[Row], probe: str, column: str) -> Interval | None:
    values = [100 * row[column] for row in rows if row["probe"] == probe and row[column] is not None]
    return interval(values, top=100 if column in _SHARES else None)


def write_report(stream: Stream, below: Sequence[str], text: Path, table: Path) -> list[str]:
    """Writes the table as text, which it returns, and as comma-separated values; `below`: its last lines."""
    said = [*lines(stream), *below]
    write_text("".join(f"{line}\n" for line in said), text)
    write_csv(_csv_rows(stream), table)
    return said


def _csv_rows(stream: Stream) -> Iterator[list[Any]]:
    bounds = [name for column in COLUMNS for name in (column, f"{column}_ci95", f"{column}_n")]
    last = ["perplexity", "tasks", "failed", NOT_FINITE, "entries", "state_bytes", "seconds_per_edit"]
    yield ["model", "method", "interval", "old_date", "new_date", "so_far", *bounds, *last]
    for model, methods in stream.points.items():
        for method, points in methods.items():
            for point in points:
                found = point.values.values()
                yield [
                    *(model, method, point.interval, *point.dates, point.so_far),
                    *(cell for one in found for cell in ((*one.cells(), one.n) if one else [None] * 3)),
                    None if point.perplexity is None else f"{point.perplexity:.6g}",
                    *(point.made.get(name) for name in ("tasks", "failed")),
                    point.not_finite,
                    *(point.made.get(name) for name in ("entries", "state_bytes")),
                    None if point.seconds is None else f"{point.seconds:.6g}",
                ]


def lines(stream: Stream) -> Iterator[str]:
    """The table as text: for each model a block for each method, in it a line for each interval."""
    yield "Edits of a stream, interval by interval, each on top of all earlier ones"
    for model, methods in stream.points.items():
        yield from ("", f"{model}, in writing, over all intervals")
        said = [row for points in methods.values() for point in points for row in point.written]
        yield from written_lines(said, {method: stream.title(model, method) for method in methods})
        for method, points in methods.items():
            yield f"{model}, {stream.title(model, method)}, in writing by interval"
            yield from grid(["", *SAID.values()], [_said(point) for point in points])
            yield ""
    yield "Means with 95 % confidence intervals (1.96 sd / sqrt(n)), times 100; Kept: bytes beside the model."
    yield "n: facts asked: new/earlier/superseded/with neighbours; intervals are over the facts of one model."
    yield "Not finite: of these, those for which the output of the model is not finite."
    header = ["", "Edits", "n", *(title for title, _, _ in COLUMNS.values())]
    header += ["Perplexity", "Kept", "Failed", "Not finite"]
    skipped = skipped_among(stream.jobs.values())
    for model, methods in stream.points.items():
        for method, points in methods.items():
            yield from ("", f"{model}, {stream.title(model, method)}")
            yield from grid(header, [_cells(point) for point in points])
        yield ""
        ability = stream.abilities.get(model)
        if ability and ability.text:
            yield f"Perplexity on {ability.text}, {ability.tokens:,} tokens"
        yield from skipped_lines(skipped, model)
        jobs = [(stream.title(*key), job) for key, job in stream.jobs.items() if key[0] == model]
        yield from (f"{title} {job['source']}" for title, job in jobs if job.get("derived"))
        yield from (left_out_line(title, job["left_out"]) for title, job in jobs if "left_out" in job)
    yield from unscored_lines(skipped, stream.points.keys())


def _said(point: Point) -> list[str]:
    """The date, and the shares of SAID, in percent."""
    scores = {row["asked"]: row for row in written_scores(point.written)}
    cells = [point.dates[1]]
    for asked, count in SAID:
        whole = scores.get(asked, {}).get("compared" if count in ("kept", "lost") else "answers")
        cells.append(percent(scores[asked][count] / whole) if whole else "-")
    return cells


def _cells(point: Point) -> list[str]:
    kept = point.made.get("state_bytes")
    return [
        point.dates[1],
        f"{point.so_far:,}",
        point.asked,
        *(str(value or "-") for value in point.values.values()),
        "-" if point.perplexity is None else f"{point.perplexity:.4g}",
        "-" if kept is None else f"{kept:,}",
        str(point.made.get("failed", 0)),
        str(point.not_finite),
    ]


def draw(stream: Stream, paths: Sequence[Path]) -> None:
    """A part for each model with a panel for each column: each method by the date of the interval's end."""
    models = stream.points or {"": {}}
    messages = [_message(model, methods) for model, methods in models.items()]
    figure, found = parts(messages, [len(PANELS)] * len(models), 3, _SIZE, sharex=True)
    for axes, (model, methods) in zip(found, models.items(), strict=True):
        ends = [point.dates[1] for point in next(iter(methods.values()), [])]
        for axis, column in zip(axes, PANELS, strict=True):
            axis.set(title=PANELS[column], xlim=(-0.2, max(len(ends) - 0.8, 0.2)))
            axis.set_xticks(range(len(ends)), ends, rotation=45, ha="right", fontsize="x-small")
            if column == "perplexity":
                axis.set_yscale("log")
            else:
                axis.set_ylim(-3, 103)
            last = []
            for method, points in methods.items():
                if curve := _curve(points, column):
                    style = style_of(method)
                    x, y, half = zip(*curve, strict=True)
                    axis.plot(x, y, marker="o", markersize=3, **style)
                    below, above = ([a + sign * b for a, b in zip(y, half, strict=True)] for sign in (-1, 1))
                    axis.fill_between(x, below, above, alpha=0.1, color=style["color"], linewidth=0)
                    last.append((stream.title(model, method), y[-1], style["color"]))
            name_ends(axis, last, _SIZE[1])
    save(figure, *paths)


def _curve(points: Sequence[Point], column: str) -> list[tuple[int, float, float]]:
    """Place, value, and half its interval; intervals without a value are left out."""
    found = []
    for place, point in enumerate(points):
        value = point.values.get(column)
        if value is not None:
            found.append((place, value.mean, 0.0 if math.isnan(value.half) else value.half))
        elif column == "perplexity" and point.perplexity is not None and math.isfinite(point.perplexity):
            found.append((place, point.perplexity, 0.0))
    return found


def _message(model: str, methods: Mapping[str, Sequence[Point]]) -> str:
    """What is left of earlier facts after the last interval, at best and at worst."""
    kept = {
        method: found.mean
        for method, points in methods.items()
        if method != "none" and (found := points[-1].values["retention_s"]) is not None
    }
    if len(kept) < 2:
        return f"{model}: edits as the world changed"
    best, worst = max(kept, key=lambda method: kept[method]), min(kept, key=lambda method: kept[method])
    return (
        f"{model}: after the last interval {title_of(best)} keeps {kept[best]:.0f} % of the earlier new "
        f"facts, {title_of(worst)} {kept[worst]:.0f} % (by S)"
    )
