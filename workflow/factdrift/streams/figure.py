"""Draws the updates of a stream by month and scenario."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from factdrift.core.figures import save, subplots
from factdrift.core.tables import database, sql
from factdrift.updates.after_rules import SCENARIOS

_COLORS = ("#0b6e99", "#c44e52", "#55a868", "#8172b2", "#ccb974", "#999999")


def months(stream: Path) -> dict[str, dict[int, int]]:
    """Scenario -> month (year x 12 + month - 1) -> updates whose change is dated to a month or finer."""
    with database() as db:
        rows = db.sql(
            f"""SELECT scenario, first_day // 10000 * 12 + first_day // 100 % 100 - 1 AS month, count(*)
            FROM read_parquet({sql(stream)})
            WHERE dated_by <> 'interval' AND first_day // 100 = last_day // 100 GROUP BY ALL ORDER BY ALL"""
        ).fetchall()
    counts: dict[str, dict[int, int]] = {scenario: {} for scenario in SCENARIOS}
    for scenario, month, number in rows:
        counts[scenario][month] = number
    return counts


def draw(stream: Path, dates: Sequence[str], path: Path) -> None:
    """Draws a bar a month from the first date to the last; dashed lines are the dates of the dumps."""
    counts = months(stream)
    begin, end = (int(date[:4]) * 12 + int(date[5:7]) - 1 for date in (dates[0], dates[-1]))
    figure, axis = subplots(figsize=(9, 3.2))
    below = [0] * (end - begin + 1)
    for scenario, color in zip(SCENARIOS, _COLORS, strict=True):
        heights = [counts[scenario].get(month, 0) for month in range(begin, end + 1)]
        if any(heights):
            axis.bar(range(begin, end + 1), heights, 1, bottom=below, color=color, label=scenario)
            below = [low + more for low, more in zip(below, heights, strict=True)]
    for date in dates:
        place = int(date[:4]) * 12 + int(date[5:7]) - 1 + (int(date[8:]) - 1) / 31 - 0.5
        axis.axvline(place, color="0.4", linewidth=0.8, linestyle="--")
    step = max((end - begin) // 96, 1)
    years = range(-(-begin // 12), end // 12 + 1, step)
    axis.set_xticks([year * 12 - 0.5 for year in years], [str(year) for year in years])
    axis.set(ylabel="updates a month", xlim=(begin - 1, end + 1))
    axis.set_title("Updates by the month of the change; dashed: the dates of the dumps", loc="left")
    if any(below):
        axis.legend(fontsize="small", loc="upper left")
    save(figure, path)
