"""Prints and draws the scores of a stream by interval, in the way of the WikiFactDiff paper's Table 6."""

import math
from collections.abc import Iterator, Mapping, Sequence
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow.parquet as pq

from factdrift.core.figures import name_ends, parts, save
from factdrift.core.files import write_csv, write_text
from factdrift.core.intervals import Interval
from factdrift.core.screen import grid
from factdrift.core.tables import records
from factdrift.evaluation.ability.record import Ability, read_ability
from factdrift.evaluation.methods.record import Skipped, style_of, title_of
from factdrift.evaluation.scores.costs import read_costs, skipped_among
from factdrift.evaluation.scores.groups import (
    Group,
    bounds,
    by_columns,
    cost_lines,
    skipped_lines,
    unscored_lines,
)
from factdrift.evaluation.scores.jobs import StreamReport
from factdrift.evaluation.scores.verdicts import written_scores
from factdrift.evaluation.scores.written_lines import percent, written_lines
from factdrift.models.alignment import NOT_FINITE
from factdrift.models.bundled.taught import recall_lines

COLUMNS = {
    "efficacy_d": ("Efficacy D", "d", "current"),
    "efficacy_s": ("S", "s", "current"),
    "efficacy_exact": ("Exact", "exact", "current"),
    "generalization_d": ("General. D", "generalization_d", "current"),
    "generalization_s": ("S", "generalization_s", "current"),
    "retention_s": ("Retention S", "s", "retention"),
    "retention_exact": ("Exact", "exact", "retention"),
    "staleness_s": ("Stale S", "s", "staleness"),
    "staleness_exact": ("Exact", "exact", "staleness"),
    "bleedover_random": ("Bleed. random", "bleedover_random", "neighbors"),
    "bleedover_nearest": ("nearest", "bleedover_nearest", "neighbors"),
    "nearest_exact": ("Nearest", "nearest_exact", "neighbors"),
}
"""Name -> title, column of STREAM_SCORES, and kind of probe."""

PROBES = ("current", "retention", "staleness", "neighbors")

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

_FIRST = ("interval", "old_date", "new_date", "so_far")
_LAST = ("perplexity", "tasks", "failed", NOT_FINITE, "entries", "state_bytes", "seconds_per_edit")
"""Columns of the comma-separated values before and behind those of the table."""

_SIZE = (3.9, 2.8)

Streams = dict[str, dict[str, list[Group]]]
"""Model -> method -> its scores after each interval, in the order of the configuration."""


def report(job: StreamReport) -> str:
    """Writes the scores of a stream as text, as comma-separated values and as figures; returns the text."""
    abilities = {found.name: found for found in map(read_ability, job.ability)}
    streams = _read(job, abilities)
    skipped = skipped_among(read_costs(job.costs).values())
    said = [*_lines(streams, abilities, skipped), *recall_lines(job.recall)]
    write_text("".join(f"{line}\n" for line in said), job.out_table)
    write_csv(_csv_rows(streams), job.out_csv)
    _draw(streams, job.out_figures)
    return "\n".join([*said, " ".join(map(str, job.out_figures))])


def _read(job: StreamReport, abilities: Mapping[str, Ability]) -> Streams:
    key = ("model", "method", "interval")
    columns = {column for _, column, _ in COLUMNS.values()} | {"probe", "failed", NOT_FINITE}
    table = pq.read_table(job.scores, columns=[*key, "old_date", "new_date", *columns]).to_pylist()
    dates = {row["interval"]: {name: row[name] for name in _FIRST[:3]} for row in table}
    rows, said = by_columns(table, *key), by_columns(records(job.written), *key)
    made = by_columns(pq.read_table(job.intervals).to_pylist(), *key)
    costs = read_costs(job.costs)
    streams: Streams = {}
    for (model, method), number in product(dict.fromkeys(at[:2] for at in rows), sorted(dates)):
        at, cost = (model, method, number), costs.get((model, method), {})
        (own,) = made.get(at, [{}])
        sums = [row["so_far"] for of, (row,) in made.items() if (of[0], of[2]) == (model, number)]
        # The edits that have been made, failed ones too.
        own |= dates[number] | {"so_far": max(sums, default=0)}
        if method == "none" and model in abilities:
            own["perplexity"] = abilities[model].perplexity
        for spent in cost.get("intervals", ()):
            if spent["interval"] == number:
                own["seconds_per_edit"] = spent["edit_seconds"] / spent["edits"]
        group = Group(model, "", method, rows.get(at, []), cost, said.get(at, []), own)
        streams.setdefault(model, {}).setdefault(method, []).append(group)
    return streams


def _value(group: Group, name: str) -> Interval | None:
    """Of a column of the table or the figure; shares times 100."""
    if name == "perplexity":
        value = group.made.get(name)
        return None if value is None else Interval(value, math.nan, 1)
    return group.value(*COLUMNS[name][1:])


def _csv_rows(streams: Streams) -> Iterator[list[Any]]:
    yield ["model", "method", *_FIRST, *bounds(COLUMNS), *_LAST]
    for group in (group for methods in streams.values() for groups in methods.values() for group in groups):
        found = [_value(group, name) for name in COLUMNS]
        last = [group.not_finite if name == NOT_FINITE else group.made.get(name) for name in _LAST]
        yield [
            *(group.model, group.method, *(group.made[name] for name in _FIRST)),
            *(cell for one in found for cell in ((*one.cells(), one.n) if one else [None] * 3)),
            *(f"{value:.6g}" if isinstance(value, float) else value for value in last),
        ]


def _lines(streams: Streams, abilities: Mapping[str, Ability], skipped: Sequence[Skipped]) -> Iterator[str]:
    """The table as text: for each model a block for each method, in it a line for each interval."""
    yield "Edits of a stream, interval by interval, each on top of all earlier ones"
    for model, methods in streams.items():
        titles = {method: groups[0].title for method, groups in methods.items()}
        yield from ("", f"{model}, in writing, over all intervals")
        said = [row for groups in methods.values() for group in groups for row in group.written]
        yield from written_lines(said, titles)
        for method, groups in methods.items():
            yield f"{model}, {titles[method]}, in writing by interval"
            yield from grid(["", *SAID.values()], [_said(group) for group in groups])
            yield ""
    yield "Means with 95 % confidence intervals (1.96 sd / sqrt(n)), times 100; Kept: bytes beside the model."
    yield "n: facts asked: new/earlier/superseded/with neighbours; intervals are over the facts of one model."
    yield "Not finite: of these, those for which the output of the model is not finite."
    header = ["", "Edits", "n", *(title for title, _, _ in COLUMNS.values())]
    header += ["Perplexity", "Kept", "Failed", "Not finite"]
    for model, methods in streams.items():
        for groups in methods.values():
            yield from ("", f"{model}, {groups[0].title}")
            yield from grid(header, [_cells(group) for group in groups])
        yield ""
        ability = abilities.get(model)
        if ability and ability.text:
            yield f"Perplexity on {ability.text}, {ability.tokens:,} tokens"
        yield from skipped_lines(skipped, model)
        yield from cost_lines([groups[0] for groups in methods.values()])
    yield from unscored_lines(skipped, streams.keys())


def _said(group: Group) -> list[str]:
    """The date, and the shares of SAID, in percent."""
    scores = {row["asked"]: row for row in written_scores(group.written)}
    cells = [group.made["new_date"]]
    for asked, count in SAID:
        whole = scores.get(asked, {}).get("compared" if count in ("kept", "lost") else "answers")
        cells.append(percent(scores[asked][count] / whole) if whole else "-")
    return cells


def _cells(group: Group) -> list[str]:
    kinds = [row["probe"] for row in group.lasting]
    perplexity, kept = (group.made.get(name) for name in ("perplexity", "state_bytes"))
    return [
        group.made["new_date"],
        f"{group.made['so_far']:,}",
        "/".join(f"{kinds.count(kind):,}" for kind in PROBES),
        *(str(_value(group, name) or "-") for name in COLUMNS),
        "-" if perplexity is None else f"{perplexity:.4g}",
        "-" if kept is None else f"{kept:,}",
        str(group.made.get("failed", 0)),
        str(group.not_finite),
    ]


def _draw(streams: Streams, paths: Sequence[Path]) -> None:
    """A part for each model with a panel for each column: each method by the date of the interval's end."""
    from matplotlib.ticker import LogFormatter

    models = streams or {"": {}}
    messages = [_message(model, methods) for model, methods in models.items()]
    figure, found = parts(messages, [len(PANELS)] * len(models), 3, _SIZE, sharex=True)
    for axes, methods in zip(found, models.values(), strict=True):
        ends = [group.made["new_date"] for group in next(iter(methods.values()), [])]
        for axis, column in zip(axes, PANELS, strict=True):
            axis.set(title=PANELS[column], xlim=(-0.2, max(len(ends) - 0.8, 0.2)))
            axis.set_xticks(range(len(ends)), ends, rotation=45, ha="right", fontsize="x-small")
            if column == "perplexity":
                axis.set_yscale("log")
                # Its own labels are formulas, which figures do not parse.
                axis.yaxis.set(major_formatter="{x:,g}", minor_formatter=LogFormatter())
            else:
                axis.set_ylim(-3, 103)
            last = []
            for method, groups in methods.items():
                values = enumerate(_value(group, column) for group in groups)
                if curve := [(x, one) for x, one in values if one and math.isfinite(one.mean)]:
                    style = style_of(method)
                    x, means = [place for place, _ in curve], np.array([one.mean for _, one in curve])
                    axis.plot(x, means, marker="o", markersize=3, **style)
                    half = np.nan_to_num([one.half for _, one in curve])
                    band = {"alpha": 0.1, "color": style["color"], "linewidth": 0}
                    axis.fill_between(x, means - half, means + half, **band)
                    last.append((groups[0].title, means[-1], style["color"]))
            name_ends(axis, last, _SIZE[1])
    save(figure, *paths)


def _message(model: str, methods: Mapping[str, Sequence[Group]]) -> str:
    """What is left of earlier facts after the last interval, at best and at worst."""
    kept = {
        method: found.mean
        for method, groups in methods.items()
        if method != "none" and (found := _value(groups[-1], "retention_s")) is not None
    }
    if len(set(kept.values())) < 2:
        return f"{model}: edits as the world changed"
    best, worst = max(kept, key=lambda method: kept[method]), min(kept, key=lambda method: kept[method])
    return (
        f"{model}: after the last interval {title_of(best)} keeps {kept[best]:.0f} % of the earlier new "
        f"facts, {title_of(worst)} {kept[worst]:.0f} % (by S)"
    )
