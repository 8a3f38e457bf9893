"""Draws the date of each model: how many changes of a quarter it knows, the fitted curve, and the date."""

from __future__ import annotations

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit
from scipy.stats import binomtest

from factdrift.core.owned import atomic_path
from factdrift.evaluation.scores.cutoff_text import message

Row = Mapping[str, Any]


def draw(rows: Sequence[Row], quarters: Sequence[Row], path: Path, makers: Mapping[str, str] = {}) -> None:
    """Draws a panel for each model and way, of the plain reading; `makers`: model -> the maker's own date."""
    import matplotlib

    matplotlib.use("Agg")
    # Element names in SVG files are otherwise random.
    matplotlib.rcParams["svg.hashsalt"] = "factdrift"
    from matplotlib import pyplot

    whole = [row for row in rows if row["subset"] == "all" and row["reading"] == "plain"]
    figure, axes = pyplot.subplots(
        max(len(whole), 1), 1, figsize=(9, 3 * max(len(whole), 1)), squeeze=False, layout="constrained"
    )
    for axis, row in zip(axes[:, 0], whole, strict=False):
        own = [
            each for each in quarters if all(each[name] == row[name] for name in ("model", "way", "reading"))
        ]
        x: Any = [_middle(each["period"]) for each in own]
        shares = np.array([each["later"] / each["changes"] for each in own])
        bounds = [binomtest(each["later"], each["changes"]).proportion_ci(method="wilson") for each in own]
        below = [max(share - bound.low, 0) for share, bound in zip(shares, bounds, strict=True)]
        above = [max(bound.high - share, 0) for share, bound in zip(shares, bounds, strict=True)]
        axis.errorbar(x, shares, [below, above], fmt="o", markersize=3, capsize=2, linewidth=0.8)
        if row["verdict"] == "date":
            date: Any = datetime.date.fromisoformat(row["date"])
            days = np.arange(
                *(datetime.date.fromisoformat(row[f"{end}_date"]).toordinal() for end in ("first", "last"))
            )
            known = expit((date.toordinal() - days) / row["tau"])
            curve = (1 - row["eps"]) * known + row["eps"] / 2
            axis.plot([datetime.date.fromordinal(day) for day in days.tolist()], curve, color="0.3")
            low, high = (
                row[end] or row[f"{name}_date"] for end, name in (("low", "first"), ("high", "last"))
            )
            ends: list[Any] = [datetime.date.fromisoformat(day) for day in (low, high)]
            axis.axvspan(*ends, alpha=0.2, color="tab:green", linewidth=0)
            axis.axvline(date, color="tab:green", label=f"answers as of {row['date']}")
        if maker := makers.get(row["model"]):
            said: Any = _month(maker)
            axis.axvline(said, color="tab:red", linestyle="--", label=f"its maker says {maker}")
        axis.axhline(0.5, color="0.6", linewidth=0.8, linestyle="--")
        axis.set(title=f"{message(row)} ({row['way']})", ylim=(0, 1))
        axis.set(ylabel="share that prefers\nthe later holder", xlabel="time of the change")
        axis.annotate(
            "chance",
            (1, 0.5),
            xycoords=("axes fraction", "data"),
            xytext=(3, 0),
            textcoords="offset points",
            va="center",
            fontsize="small",
            color="0.4",
        )
        axis.grid(alpha=0.3)
        if axis.get_legend_handles_labels()[0]:
            axis.legend(fontsize="small", loc="lower left")
    with atomic_path(path) as partial:
        metadata = {"Date": None} if path.suffix == ".svg" else None
        figure.savefig(partial, format=path.suffix[1:], dpi=150, metadata=metadata)
    pyplot.close(figure)


def _middle(period: str) -> datetime.date:
    """The middle of `2021-Q3` or `2021-08`."""
    year, _, part = period.partition("-")
    if part.startswith("Q"):
        return datetime.date(int(year), 3 * int(part[1:]) - 1, 15)
    return datetime.date(int(year), int(part), 15)


def _month(text: str) -> datetime.date:
    """The day, or the middle of the month or year, of `2023-12-31`, `2023-12` or `2023`."""
    year, *rest = map(int, text.split("-"))
    month, day = (*rest, *(6, 15)[len(rest) :])[:2]
    return datetime.date(year, month, day)
