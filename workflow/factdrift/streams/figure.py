"""Draws the updates of a stream by month and scenario."""

import math
from collections.abc import Sequence
from pathlib import Path

from factdrift.core.figures import KEPT, NEW, OBSOLETE, SOFT, parts, save
from factdrift.core.tables import database, sql
from factdrift.updates.rules import SCENARIOS

_COLORS = {"Archive": OBSOLETE, "ReplaceObject": NEW}
"""Of scenarios that say only what began or ended; others have the colour of `KEPT`."""
_SMALL = {"fontsize": "x-small", "color": SOFT}


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
    """Draws a panel for each scenario with a bar a month, from the first date to the last.

    Dashed lines are the dates of the dumps.
    """
    counts = {scenario: by_month for scenario, by_month in months(stream).items() if by_month}
    begin, end = (int(date[:4]) * 12 + int(date[5:7]) - 1 for date in (dates[0], dates[-1]))
    whole = range(begin, end + 1)
    totals = {month: sum(by_month.get(month, 0) for by_month in counts.values()) for month in whole}
    peak = max(whole, key=lambda month: totals[month])
    message = (
        f"{sum(totals.values()):,} updates are dated to a month, most in {peak // 12}-{peak % 12 + 1:02} "
        f"({totals[peak]:,})"
    )
    names = list(counts) or [SCENARIOS[0]]
    figure, ((*axes,),) = parts([message], [len(names)], 1, (9, 0.95), sharex=True, sharey=True)
    years = range(-(-begin // 12), end // 12 + 1, max((end - begin) // 96, 1))
    named = -math.inf
    for axis, scenario in zip(axes, names, strict=True):
        heights = [counts.get(scenario, {}).get(month, 0) for month in whole]
        axis.bar(whole, heights, 1, color=_COLORS.get(scenario, KEPT), linewidth=0)
        for date in dates:
            position = int(date[:4]) * 12 + int(date[5:7]) - 1 + (int(date[8:]) - 1) / 31 - 0.5
            axis.axvline(position, color=SOFT, linewidth=0.8, linestyle="--")
            # A name that would lie on the one before it is left out.
            if axis is axes[0] and position >= named + (end - begin + 2) / 10:
                named = position
                above = {"xycoords": ("data", "axes fraction"), "textcoords": "offset points"}
                axis.annotate(f"dump {date}", (position, 1), xytext=(-2, 2), ha="right", **above, **_SMALL)
        axis.set_title(f"{scenario}: {sum(heights):,}", fontsize="medium", y=0.78, x=0.01, pad=0)
        axis.set_xticks([year * 12 - 0.5 for year in years], [str(year) for year in years])
        axis.set_xlim(begin - 1, end + 1)
        axis.grid(visible=False, axis="x")
    axes[-1].set_ylabel("a month")
    save(figure, path)
