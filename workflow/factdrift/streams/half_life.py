"""How long a value of a relation holds: Kaplan-Meier over the tenures that the last dump proves.

A tenure is censored where the last dump that states it gives no end.
"""

import warnings
from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray
from scipy.stats import CensoredData, ecdf

from factdrift.core.columns import Row, schema_of
from factdrift.core.figures import NEW, SOFT, save, subplots
from factdrift.core.tables import database, fetched, sql, write_parquet
from factdrift.streams.timelines import day_number
from factdrift.wikidata.ids import property_id

YEARS = (1, 2, 5, 10)
_YEAR = 365.25
FEWEST = 20
"""Ends below which a relation has no median."""

HALF_LIFE = schema_of(
    "relation label: string, n ended censored: int32",
    "quartile_1 median median_low median_high quartile_3: double",
    *(f"after_{year}y after_{year}y_low after_{year}y_high: double" for year in YEARS),
    "stale_after_1y: double",
)
"""A row is a relation: years, and shares that still hold (docs/tables/half_life.md)."""


class Tenures(NamedTuple):
    """Durations in days of the values that ended, and of those that had not ended when last stated."""

    ended: list[float]
    censored: list[float]


def half_life(tenures: Tenures) -> Row:
    """The columns of HALF_LIFE but for the relation; null where the curve does not reach so far."""
    survival = ecdf(CensoredData(uncensored=[*tenures.ended], right=[*tenures.censored])).sf
    with warnings.catch_warnings(action="ignore"):  # where all or none hold, there is no interval
        bounds = survival.confidence_interval(method="log-log")
    days = survival.quantiles
    curves = [survival.probabilities, bounds.low.probabilities, bounds.high.probabilities]
    row: Row = {"n": len(tenures.ended) + len(tenures.censored)}
    row |= {"ended": len(tenures.ended), "censored": len(tenures.censored)}
    if row["ended"] >= FEWEST:
        medians = (_first(days, curve, 0.5) for curve in curves)
        row |= dict(zip(("median", "median_low", "median_high"), medians, strict=True))
        row |= {"quartile_1": _first(days, curves[0], 0.75), "quartile_3": _first(days, curves[0], 0.25)}
    for year in YEARS:
        reached = np.searchsorted(days, year * _YEAR, side="right") - 1
        for name, curve in zip(("", "_low", "_high"), curves, strict=True):
            share = 1.0 if reached < 0 and not name else float(curve[reached]) if reached >= 0 else np.nan
            row[f"after_{year}y{name}"] = None if year * _YEAR > days[-1] or np.isnan(share) else share
    return row | {"stale_after_1y": None if row["after_1y"] is None else 1 - row["after_1y"]}


def _first(days: NDArray[np.float64], curve: NDArray[np.float64], share: float) -> float | None:
    """The first time, in years, at which a curve is not above a share."""
    below = np.flatnonzero(curve <= share + 1e-12)
    return float(days[below[0]] / _YEAR) if len(below) else None


def read_tenures(known: Sequence[Path], last: int) -> dict[int, Tenures]:
    """Relation -> its tenures in K_n; left out where the year of the start is not known.

    `last`: the day of the last dump. A date that covers several days counts as its middle.
    """
    tenures: dict[int, Tenures] = {}
    with database() as db:
        db.execute(
            f"""SELECT property, possible_first, start_last, certain_last, possible_last
            FROM read_parquet({sql(list(known))})
            WHERE known_until IS NULL AND NOT doubted AND value IS NOT NULL AND start_last <= {int(last)}
                AND possible_first // 10000 = start_last // 10000 AND start_last > 0
            ORDER BY ALL"""
        )
        for relation, first, begun, certain, possible in fetched(db):
            ended, censored = tenures.setdefault(relation, Tenures([], []))
            start = (day_number(first) + day_number(begun)) / 2
            if possible is not None and possible <= last:
                end = (day_number(begun if certain is None else certain) + day_number(possible)) / 2
                ended.append(max(end - start, 0.0))
            elif certain is not None:
                censored.append(max(day_number(certain) - start, 0.0))
    return tenures


def write_half_life(known: Sequence[Path], properties: Path, last: int, output: Path, figure: Path) -> int:
    """Writes HALF_LIFE, relations with more ends first, and its figure; returns the number of rows."""
    with database() as db:
        labels = dict(db.sql(f"SELECT id, label FROM read_parquet({sql(properties)})").fetchall())
    tenures = {relation: spans for relation, spans in read_tenures(known, last).items() if spans.ended}
    rows = [
        {"relation": property_id(relation), "label": labels.get(relation)} | half_life(spans)
        for relation, spans in sorted(tenures.items(), key=lambda item: (-len(item[1].ended), item[0]))
    ]
    _draw(rows, figure)
    return write_parquet(pa.Table.from_pylist(rows, schema=HALF_LIFE), output)


def _draw(rows: Sequence[Row], path: Path) -> None:
    """Draws the median of every relation that has a median, with its interval, the longest at the top."""
    shown = sorted((row for row in rows if row.get("median") is not None), key=lambda row: row["median"])
    figure, axis = subplots(figsize=(7, 0.9 + 0.27 * max(len(shown), 1)))
    for y, row in enumerate(shown):
        low, high = row["median_low"] or row["median"], row["median_high"] or 100
        axis.plot([low, high], [y, y], color=SOFT, linewidth=1.2)
        axis.plot([row["median"]], [y], "o", color=NEW)
    names = [f"{row['label'] or row['relation']} ({row['ended']:,} of {row['n']:,} ended)" for row in shown]
    axis.set_yticks(range(len(shown)), names)
    axis.set_xscale("log")
    ticks = [0.5, 1, 2, 5, 10, 20, 50]
    axis.set_xticks(ticks, [f"{tick:g}" for tick in ticks])
    axis.set_xlim(0.4, 60)
    axis.minorticks_off()
    axis.set_xlabel("years until half are stale (95 % interval)")
    axis.set_title("How long an answer stays right", weight="bold")
    save(figure, path)


def half_life_text(row: Row) -> str:
    """A row of HALF_LIFE in words."""
    lines = [f"{row['relation']} {row['label'] or ''}: {row['ended']:,} of {row['n']:,} tenures ended"]
    if row["median"] is None:
        lines.append(f"no median: it takes {FEWEST} ends and a curve that falls to a half")
    else:
        low, high = (f"{row[key]:.1f}" if row[key] else "?" for key in ("median_low", "median_high"))
        lines.append(f"half of the answers are stale after {row['median']:.1f} years [{low}, {high}]")
    for year in YEARS:
        if (share := row[f"after_{year}y"]) is not None:
            ends = (row[f"after_{year}y_low"], row[f"after_{year}y_high"])
            spread = " [{:.0f}, {:.0f}]".format(*(100 * end for end in ends)) if None not in ends else ""
            lines.append(f"after {year:2} years {100 * share:3.0f} %{spread} still hold")
    return "\n".join(lines)
