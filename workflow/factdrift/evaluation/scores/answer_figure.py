"""Draws accuracy against the number of hops, for new and old facts, with a curve for each condition."""

from __future__ import annotations

from pathlib import Path

import pyarrow.parquet as pq

from factdrift.core.figures import save, subplots
from factdrift.evaluation.scores.answer_table import HOP_COLUMNS, title

CHANCE = 0.25
"""Of four options."""


def draw(scores: Path, path: Path) -> None:
    """Draws two panels for each model and way of scoring, over all items.

    Bars are the 95 % bootstrap intervals by asked fact; the dashed line is chance, which answers in writing
    do not have.
    """
    rows = [row for row in pq.read_table(scores).to_pylist() if row["items"] == "all" and row["n"]]
    groups = list(dict.fromkeys((row["model"], row["scoring"]) for row in rows)) or [("", "")]
    figure, axes = subplots(len(groups), 2, figsize=(9, 3.2 * len(groups)), sharey=True, squeeze=False)
    for panels, group in zip(axes, groups, strict=True):
        own = [row for row in rows if (row["model"], row["scoring"]) == group]
        conditions = list(dict.fromkeys(row["condition"] for row in own))
        for axis, line in zip(panels, ("new", "old"), strict=True):
            keys = [key for name, key in HOP_COLUMNS.items() if name.startswith(line)]
            for place, condition in enumerate(conditions):
                mine = {(row["task"], row["hop"]): row for row in own if row["condition"] == condition}
                found = [mine[key] for key in keys if key in mine]
                # Curves are moved apart, so that their intervals can be told from each other.
                x = [row["hop"] + 0.06 * (place - (len(conditions) - 1) / 2) for row in found]
                y = [row["accuracy"] for row in found]
                below = [row["accuracy"] - row["by_asked_fact_low"] for row in found]
                above = [row["by_asked_fact_high"] - row["accuracy"] for row in found]
                spread = [[max(each, 0) for each in side] for side in (below, above)]
                axis.errorbar(x, y, spread, marker="o", markersize=3, capsize=2, label=title(condition))
            if group[1] != "written":
                axis.axhline(CHANCE, color="0.6", linewidth=0.8, linestyle="--")
            axis.set(title=f"{line} facts, {group[0]}, {group[1]}", xlabel="hops from the fact", ylim=(0, 1))
            axis.set_xticks(range(4))
            axis.grid(alpha=0.3)
        panels[0].set(ylabel="accuracy")
        if own:
            panels[1].legend(fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1))
    save(figure, path)
