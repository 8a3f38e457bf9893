"""Draws the date of each model: how many changes of a quarter it knows, the fitted curve, and the date."""

import datetime
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.special import expit

from factdrift.core.columns import Row
from factdrift.core.figures import INK, KEPT, NEW, OBSOLETE
from factdrift.core.intervals import wilson
from factdrift.core.panels import Figure, Mark
from factdrift.core.panels import draw as draw_parts
from factdrift.evaluation.scores.conditions import WAYS
from factdrift.evaluation.scores.cutoff_text import message

FIGURE = Figure(
    panels=[""],
    columns=1,
    size=(9, 2.8),
    axes={"ylim": (0, 1), "ylabel": "share that prefers\nthe later holder", "xlabel": "time of the change"},
)


def draw(
    rows: Sequence[Row], quarters: Sequence[Row], paths: Sequence[Path], makers: Mapping[str, str] = {}
) -> None:
    """Draws a part for each model and way, of the plain reading; `makers`: model -> the maker's own date."""
    whole = [row for row in rows if row["subset"] == "all" and row["reading"] == "plain"]
    parts = {
        f"{message(row)} ({WAYS.get(row['way'], row['way'])})": _marks(
            row, quarters, makers.get(row["model"])
        )
        for row in whole
    }
    draw_parts(FIGURE, parts or {"no date": iter(())}, paths)


def _marks(row: Row, quarters: Sequence[Row], maker: str | None) -> Iterator[Mark]:
    for quarter in quarters:
        if all(quarter[name] == row[name] for name in ("model", "way", "reading")):
            share = quarter["later"] / quarter["changes"]
            ends = wilson(quarter["later"], quarter["changes"])
            style = {"linestyle": "", "elinewidth": 0.8}
            yield Mark("", "", _middle(quarter["period"]), share, *ends, "", KEPT, style=style)
    if row["verdict"] == "date":
        first, last, date = map(_date, (row["first_date"], row["last_date"], row["date"]))
        days = np.arange(first.toordinal(), last.toordinal())
        known = expit((date.toordinal() - days) / row["tau"])
        curve = (1 - row["eps"]) * known + row["eps"] / 2
        for day, share in zip(days.tolist(), curve, strict=True):
            style = {"marker": ""}
            yield Mark("", "fit", datetime.date.fromordinal(day), share, color=INK, style=style)
        low, high = _date(row["low"] or row["first_date"]), _date(row["high"] or row["last_date"])
        yield Mark("", "", low, high, color=NEW, kind="span")
        yield Mark("", "", date, 0.9, text=f"answers as of {row['date']}", color=NEW, kind="day")
    if maker:
        yield Mark("", "", day_of(maker), 0.8, text=f"its maker says {maker}", color=OBSOLETE, kind="day")
    yield Mark("", "", 0, 0.5, text="chance", kind="level")


_date = datetime.date.fromisoformat


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
