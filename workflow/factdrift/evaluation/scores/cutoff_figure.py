"""Draws the date of each model: how many changes of a quarter it knows, the fitted curve, and the date."""

import datetime
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import expit

from factdrift.core.columns import Row
from factdrift.core.figures import INK, KEPT, NEW, OBSOLETE, SOFT, mark, name_ends, parts, save
from factdrift.core.intervals import wilson
from factdrift.evaluation.scores.conditions import WAYS
from factdrift.evaluation.scores.cutoff_text import message

_SIZE = (9, 2.8)
"""Of a panel, in inches."""


def draw(
    rows: Sequence[Row], quarters: Sequence[Row], paths: Sequence[Path], makers: Mapping[str, str] = {}
) -> None:
    """Draws a panel for each model and way, of the plain reading; `makers`: model -> the maker's own date."""
    whole = [row for row in rows if row["subset"] == "all" and row["reading"] == "plain"]
    messages = [f"{message(row)} ({WAYS.get(row['way'], row['way'])})" for row in whole] or ["no date"]
    figure, found = parts(messages, [1] * len(messages), 1, _SIZE)
    for axis, row in zip((axes[0] for axes in found), whole, strict=False):
        own = [
            each for each in quarters if all(each[name] == row[name] for name in ("model", "way", "reading"))
        ]
        x: Any = [_middle(each["period"]) for each in own]
        shares = np.array([each["later"] / each["changes"] for each in own])
        bounds = [wilson(each["later"], each["changes"]) for each in own]
        below = [max(share - bound[0], 0) for share, bound in zip(shares, bounds, strict=True)]
        above = [max(bound[1] - share, 0) for share, bound in zip(shares, bounds, strict=True)]
        axis.errorbar(x, shares, [below, above], fmt="o", color=KEPT, markersize=3, linewidth=0.8)
        if row["verdict"] == "date":
            date: Any = datetime.date.fromisoformat(row["date"])
            days = np.arange(
                *(datetime.date.fromisoformat(row[f"{end}_date"]).toordinal() for end in ("first", "last"))
            )
            known = expit((date.toordinal() - days) / row["tau"])
            curve = (1 - row["eps"]) * known + row["eps"] / 2
            axis.plot([datetime.date.fromordinal(day) for day in days.tolist()], curve, color=INK)
            low, high = (
                row[end] or row[f"{name}_date"] for end, name in (("low", "first"), ("high", "last"))
            )
            ends: list[Any] = [datetime.date.fromisoformat(day) for day in (low, high)]
            axis.axvspan(*ends, alpha=0.2, color=NEW, linewidth=0)
            _day(axis, date, f"answers as of {row['date']}", NEW, 0.9)
        if maker := makers.get(row["model"]):
            said: Any = day_of(maker)
            _day(axis, said, f"its maker says {maker}", OBSOLETE, 0.8)
        mark(axis, 0.5)
        axis.set(ylim=(0, 1), ylabel="share that prefers\nthe later holder", xlabel="time of the change")
        name_ends(axis, [("chance", 0.5, SOFT)], _SIZE[1])
    save(figure, *paths)


def _day(axis: Any, day: Any, text: str, colour: str, height: float) -> None:
    """A day with its name at a height of the panel."""
    axis.axvline(day, color=colour, linewidth=1.2)
    axis.annotate(
        text,
        (day, height),
        xycoords=("data", "axes fraction"),
        xytext=(4, 0),
        textcoords="offset points",
        fontsize="small",
        color=colour,
    )


def _middle(period: str) -> datetime.date:
    """The middle of `2021-Q3` or `2021-08`."""
    year, _, part = period.partition("-")
    if part.startswith("Q"):
        return datetime.date(int(year), 3 * int(part[1:]) - 1, 15)
    return datetime.date(int(year), int(part), 15)


def day_of(text: str) -> datetime.date:
    """The day, or the middle of month or year, of `2023-12-31`, `2023-12` or `2023`. Raises ValueError."""
    year, *rest = map(int, text.split("-"))
    month, day = (*rest, *(6, 15)[len(rest) :])[:2]
    return datetime.date(year, month, day)
