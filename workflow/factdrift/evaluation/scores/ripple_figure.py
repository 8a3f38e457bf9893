"""Draws the shares right by criterion: a small panel each, with a bar for each state of the model."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from factdrift.core.figures import save, subplots
from factdrift.evaluation.scores.ripples import CRITERIA


def draw(rows: Sequence[Mapping[str, Any]], paths: Sequence[Path]) -> None:
    """Draws a line of panels for each model and way; bars are shares of all probes with 95 % intervals.

    Criteria whose answers must change come first; a dot is the share among probes with known conditions.
    """
    groups = list(dict.fromkeys((row["model"], row["way"]) for row in rows)) or [("", "")]
    states = list(dict.fromkeys(row["method"] for row in rows))
    height = max(1.2, 0.22 * len(states) + 0.8)
    shape = {"figsize": (15, height * len(groups)), "sharey": "row", "sharex": True, "squeeze": False}
    figure, axes = subplots(len(groups), len(CRITERIA), **shape)
    for line, (model, way) in zip(axes, groups, strict=True):
        for axis, criterion in zip(line, CRITERIA, strict=True):
            own = {
                row["method"]: row
                for row in rows
                if (row["model"], row["way"], row["criterion"]) == (model, way, criterion)
            }
            for place, state in enumerate(states):
                row = own.get(state)
                if row is None:
                    continue
                spread = [[row["right"] - row["low"]], [row["high"] - row["right"]]]
                colour = "tab:blue" if row["must_change"] else "tab:orange"
                axis.barh(place, row["right"], xerr=spread, color=colour, error_kw={"linewidth": 0.8})
                if row["known_right"] is not None:
                    axis.plot(row["known_right"], place, "o", color="black", markersize=3)
            axis.set(title=criterion, xlim=(0, 1))
            axis.title.set_fontsize("small")
            axis.set_yticks(range(len(states)), states, fontsize="small")
            axis.grid(alpha=0.3, axis="x")
        line[0].invert_yaxis()
        line[0].set(ylabel=f"{model}\n{way}")
    save(figure, *paths)
