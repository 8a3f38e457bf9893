"""Draws the scores of a stream over time."""

from __future__ import annotations

import math
from pathlib import Path
from typing import Any

from factdrift.core.figures import save, subplots
from factdrift.evaluation.scores.stream_table import Stream

PANELS = {
    "efficacy_s": "new facts: efficacy S",
    "generalization_s": "new facts: generalization S",
    "retention_s": "earlier facts that hold: S",
    "staleness_s": "superseded facts: S (low is good)",
    "bleedover_nearest": "nearest facts: bleedover",
}
"""Column of the table -> title of its panel; the last panel is the perplexity."""


def draw(stream: Stream, path: Path) -> None:
    """A row of panels for each model: each method by the date of the interval's end."""
    models = list(dict.fromkeys(model for model, _ in stream.groups)) or [""]
    columns = [*PANELS, "perplexity"]
    figure, axes = subplots(
        len(models),
        len(columns),
        figsize=(3.1 * len(columns), 3.2 * len(models)),
        squeeze=False,
    )
    places, ends = range(len(stream.dates)), [new for _, new in stream.dates.values()]
    for line, model in zip(axes, models, strict=True):
        for axis, column in zip(line, columns, strict=True):
            for method in [method for one, method in stream.groups if one == model]:
                _curve(axis, stream, model, method, column)
            axis.set_xticks(places, ends, rotation=90, fontsize="x-small")
            axis.set_title(PANELS.get(column, "perplexity"), fontsize="small")
            axis.grid(alpha=0.3)
            if column == "perplexity":
                axis.set_yscale("log")
            else:
                axis.set_ylim(-3, 103)
        line[0].set_ylabel(model)
        curves = line[0].get_legend_handles_labels()
        line[-1].legend(*curves, fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1))
    save(figure, path)


def _curve(axis: Any, stream: Stream, model: str, method: str, column: str) -> None:
    """One method in one panel; intervals without a value are left out."""
    points = []
    for place, number in enumerate(stream.dates):
        if column == "perplexity":
            value = stream.surprise(model, method, number)
            points.append((place, value, 0.0) if value is not None and math.isfinite(value) else None)
        else:
            found = stream.value(model, method, number, column)
            width = 0.0 if found is None or math.isnan(found.half) else found.half
            points.append(None if found is None else (place, found.mean, width))
    known = [point for point in points if point is not None]
    x, y = ([point[part] for point in known] for part in range(2))
    style = {"color": "0.4", "linestyle": "--"} if method == "none" else {}
    (drawn,) = axis.plot(x, y, marker="o", markersize=3, label=stream.title(model, method), **style)
    below, above = ([mean + sign * half for _, mean, half in known] for sign in (-1, 1))
    axis.fill_between(x, below, above, alpha=0.1, color=drawn.get_color())
