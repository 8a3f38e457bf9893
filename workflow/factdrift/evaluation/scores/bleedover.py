"""Bleedover by neighbour: the WikiFactDiff paper's Figure 2."""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from factdrift.core.intervals import Z
from factdrift.core.panels import Figure, Mark, draw
from factdrift.core.tables import database, sql
from factdrift.evaluation.methods.record import style_of, title_of
from factdrift.evaluation.questions.clozes import NEIGHBORS
from factdrift.evaluation.scores.metrics import BLEEDOVER

Numbers = NDArray[np.float64]
BINS = 8
"""The number of classes of neighbours, which are of about equal size."""
FLOOR = 0.01
"""The least bleedover that is drawn, in points; less is drawn there."""
PANELS = {
    "popularity of the neighbour": ("popularity", "popularity"),
    "similarity to the subject": ("similarity", "dist"),
}
"""Title of a panel -> what neighbours are ordered by, and the column of the probes that it comes from."""

FIGURE = Figure(
    panels=list(PANELS),
    columns=2,
    size=(4.6, 3.2),
    axes={"yscale": "log", "ylim": (FLOOR, 100)},
    of_panel={next(iter(PANELS)): {"ylabel": "points of probability that\na neighbour's fact loses"}},
    share={"sharey": True},
)
"""The scale is logarithmic, so that both the size and the slope of each method are seen."""


def neighbors(probes: Path, without_new: bool = False) -> pd.DataFrame:
    """The probes of neighbours' facts after edits whose `bleedover` is known, with their `similarity`.

    `without_new`: but those whose answer is the new object, which the tables leave out, too.
    """
    with database() as db:
        rows: pd.DataFrame = db.sql(
            f"""WITH probes AS (SELECT *, row_number() OVER () AS n FROM read_parquet({sql(probes)}))
            SELECT *, {BLEEDOVER} AS bleedover, 1 - dist AS similarity FROM probes
            WHERE role IN {NEIGHBORS!r} AND method <> 'none' AND bleedover IS NOT NULL
                AND NOT ({without_new} AND (edit, target) IN (
                    SELECT (edit, target) FROM probes WHERE role = 'update' AND object = 'new'))
            ORDER BY n"""
        ).df()
    return rows


def binned(x: Numbers, y: Numbers, bins: int = BINS) -> tuple[Numbers, Numbers, Numbers]:
    """Mean x, mean y and half the 95 % interval of y for quantile classes of x; equal x share a class."""
    edges = np.unique(np.quantile(x, np.linspace(0, 1, bins + 1)))
    classes = np.clip(np.searchsorted(edges, x, side="right") - 1, 0, max(len(edges) - 2, 0))
    rows = []
    for number in np.unique(classes):
        own = y[classes == number]
        half = Z * own.std(ddof=1) / np.sqrt(len(own)) if len(own) > 1 else 0.0
        rows.append((x[classes == number].mean(), own.mean(), half))
    columns = np.array(rows, dtype=np.float64).reshape(-1, 3)
    return columns[:, 0], columns[:, 1], columns[:, 2]


def draw_bleedover(probes: Path, paths: Sequence[Path], without_new: bool = False) -> None:
    """Draws a part for each model: the mean bleedover of each method by class of neighbours, in points.

    The panel of a column that has no value in any probe says so. `without_new`: as of `neighbors`.
    """
    rows = neighbors(probes, without_new)
    owns = {str(model): rows[rows["model"] == model] for model in dict.fromkeys(rows["model"])} or {"": rows}
    draw(FIGURE, {_message(model, own): _marks(own) for model, own in owns.items()}, paths)


def _marks(rows: pd.DataFrame) -> Iterator[Mark]:
    for panel, (column, source) in PANELS.items():
        if rows[source].isna().all():
            yield Mark(panel, "", 0, 1, text=f"no {column} in the data", kind="text")
        for method in dict.fromkeys(rows["method"]):
            own: Any = rows[rows["method"] == method].dropna(subset=[column])
            if len(own):
                x, y, half = binned(own[column].to_numpy(), 100 * own["bleedover"].to_numpy())
                ends = (np.maximum(end, FLOOR) for end in (y, y - half, y + half))
                style = {"band": 0.12, **style_of(method)}
                for at, mean, low, high in zip(x, *ends, strict=True):
                    named = (title_of(method), style["color"])
                    yield Mark(panel, method, at, mean, low, high, *named, style=style)


def _message(model: str, rows: pd.DataFrame) -> str:
    means = (100 * rows.groupby("method")["bleedover"].mean()).sort_values()
    if len(means) < 2:
        return f"{model}: bleedover by neighbour"
    least, most = means.index[0], means.index[-1]
    return (
        f"{model}: other facts lose {means.iloc[-1]:.1f} points by {title_of(most)} and "
        f"{means.iloc[0]:.1f} by {title_of(least)}"
    )
