"""Draws bleedover against popularity and similarity of neighbours, as the WikiFactDiff paper's Figure 2."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from factdrift.core.figures import name_ends, parts, save
from factdrift.core.tables import database, sql
from factdrift.evaluation.methods.record import style_of, title_of
from factdrift.evaluation.scores.metrics import BLEEDOVER

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
