"""Draws bleedover against popularity and similarity of neighbours, as the WikiFactDiff paper's Figure 2."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow.parquet as pq
from numpy.typing import NDArray

from factdrift.core.figures import save, subplots
from factdrift.evaluation.methods.record import title_of
from factdrift.models.alignment import NOT_FINITE

BINS = 8
"""The number of classes of neighbours, which are of about equal size."""

Numbers = NDArray[np.float64]


def binned(x: Numbers, y: Numbers, bins: int = BINS) -> tuple[Numbers, Numbers, Numbers]:
    """Mean x, mean y and half the 95 % interval of y for quantile classes of x; equal x share a class."""
    edges = np.unique(np.quantile(x, np.linspace(0, 1, bins + 1)))
    place = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, max(len(edges) - 2, 0))
    found = []
    for one in np.unique(place):
        mine = y[place == one]
        half = 1.96 * mine.std(ddof=1) / np.sqrt(len(mine)) if len(mine) > 1 else 0.0
        found.append((x[place == one].mean(), mine.mean(), half))
    columns = np.array(found, dtype=np.float64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


PANELS = {
    "popularity": ("popularity", "popularity of the neighbour"),
    "dist": ("similarity", "similarity to the subject"),
}
"""Column of the probes -> what is drawn of it, and the label of its axis."""


def neighbors(probes: Path) -> pd.DataFrame:
    """The probes of neighbours' facts after edits whose `bleedover` is known, with their `similarity`."""
    columns = ["model", "method", "role", "dist", "popularity", "logprob_before", "logprob", "reason"]
    rows: pd.DataFrame = pq.read_table(
        probes, columns=columns, filters=[("role", "in", ["nearest", "random"]), ("method", "!=", "none")]
    ).to_pandas()
    # As in the tables: with output that is not finite a fact has lost all of its probability.
    rows.loc[rows["reason"] == NOT_FINITE, "logprob"] = -np.inf
    rows = rows.dropna(subset=["logprob_before", "logprob"])
    rows["bleedover"] = np.maximum(np.exp(rows["logprob_before"]) - np.exp(rows["logprob"]), 0)
    rows["similarity"] = 1 - rows["dist"]
    return rows


def draw(probes: Path, path: Path) -> list[str]:
    """Draws two panels for each model: the mean bleedover of each method by class, relative to its mean.

    Returns the columns (of PANELS) that have no value in any probe, whose panels say so and are empty.
    """
    rows = neighbors(probes)
    models = list(dict.fromkeys(rows["model"])) or [""]
    missing = [column for column in PANELS if rows[column].isna().all()]
    figure, axes = subplots(len(models), 2, figsize=(9, 3.4 * len(models)), sharey="row", squeeze=False)
    for line, model in zip(axes, models, strict=True):
        own = rows[rows["model"] == model]
        for axis, (given, (column, label)) in zip(line, PANELS.items(), strict=True):
            if given in missing:
                axis.text(0.5, 0.5, f"no {column} in the data", transform=axis.transAxes, ha="center")
            for method in dict.fromkeys(own["method"]):
                mine: Any = own[(own["method"] == method)].dropna(subset=[column])
                whole = mine["bleedover"].mean()
                if len(mine) and whole > 0:
                    x, y, half = binned(mine[column].to_numpy(), mine["bleedover"].to_numpy() / whole)
                    (drawn,) = axis.plot(x, y, marker="o", markersize=3, label=title_of(method))
                    axis.fill_between(x, y - half, y + half, alpha=0.12, color=drawn.get_color())
            axis.axhline(1, color="0.6", linewidth=0.8)
            axis.set(xlabel=label)
            axis.grid(alpha=0.3)
        line[0].set(ylabel="bleedover / the method's mean", title=f"{model}", ylim=(0, None))
        curves = max((axis.get_legend_handles_labels() for axis in line), key=lambda found: len(found[0]))
        line[1].legend(*curves, fontsize="small", loc="upper left", bbox_to_anchor=(1.01, 1))
    save(figure, path)
    return missing
