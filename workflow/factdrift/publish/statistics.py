"""Numbers and figures of a card, computed from the shards beside it."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from factdrift.core.figures import KEPT, save, subplots
from factdrift.core.tables import database, only_file, sql
from factdrift.publish.datasets import Dataset, Statistic

_BARS = 20
"""Bars of a figure; the table beside it has all rows."""


@dataclass(frozen=True)
class Counted:
    """A statistic with its rows; `figure` is the path of its figure in the folder, or empty."""

    title: str
    headings: Sequence[str]
    rows: list[tuple[Any, ...]]
    figure: str


def count(dataset: Dataset, folder: Path, memory_mb: int) -> tuple[list[Counted], dict[str, Any]]:
    """The statistics and the named facts of a folder with shards; draws the figures.

    Queries read a view `data`: the rows of the first table, with a column `split`. A fact is 0 where its
    query gives null, as shares of no rows do.
    """
    first = dataset.configs[0].name
    counts = []
    with database(memory_mb) as db:
        shards = sql(f"{only_file(folder)}/{first}/*.parquet")
        split = "regexp_extract(filename, '([^/]*)-[0-9]+-of-[0-9]+[.]parquet$', 1) AS split"
        added = "" if "split" in db.sql(f"SELECT * FROM read_parquet({shards})").columns else f", {split}"
        db.execute(
            f"""CREATE TEMP VIEW data AS SELECT * EXCLUDE (filename){added}
            FROM read_parquet({shards}, filename = true)"""
        )
        for statistic in dataset.statistics:
            rows = db.sql(statistic.query).fetchall()
            figure = _draw(statistic, rows, folder) if statistic.figure and len(rows) > 1 else ""
            counts.append(Counted(statistic.title, statistic.headings, rows, figure))
        facts = {name: db.sql(query).fetchall()[0][0] or 0 for name, query in dataset.facts.items()}
    return counts, facts


def _draw(statistic: Statistic, rows: list[tuple[Any, ...]], folder: Path) -> str:
    """Draws the first two columns as horizontal bars; returns the path below the folder."""
    shown = rows[:_BARS][::-1]
    figure, axis = subplots(figsize=(7, 0.7 + 0.28 * len(shown)))
    bars = axis.barh(range(len(shown)), [row[1] for row in shown], color=KEPT)
    axis.bar_label(bars, labels=[f"{row[1]:,}" for row in shown], padding=3, fontsize="small")
    axis.set_yticks(range(len(shown)), [str(row[0]) for row in shown])
    axis.set_title(statistic.title)
    axis.grid(visible=False, axis="y")
    axis.margins(x=0.12)
    name = "".join(char if char.isalnum() else "-" for char in statistic.title.lower()).strip("-")
    path = f"figures/{name}.png"
    save(figure, folder / path)
    return path
