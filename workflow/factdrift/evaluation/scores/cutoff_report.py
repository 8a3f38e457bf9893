"""The date of a model as a screen of text, and as a figure.

That shows how many changes of a quarter it knows, the fitted curve, and the date.
"""

import datetime
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np
from scipy.special import expit

from factdrift.core.columns import Row
from factdrift.core.figures import INK, KEPT, NEW, OBSOLETE
from factdrift.core.files import sha256
from factdrift.core.intervals import wilson
from factdrift.core.panels import Figure, Mark
from factdrift.core.panels import draw as draw_parts
from factdrift.core.progress import counted
from factdrift.core.score_table import Cell, Column, Line, count, table
from factdrift.evaluation.scores.conditions import WAYS
from factdrift.evaluation.scores.cutoff import disagree

UNANSWERED = {
    "order": "changed with the order of the options",
    "no_letter": "had no letter",
    "too_many": "more holders than letters",
    "unnamed": "named none of the holders",
    "failed": "requests failed",
    "too_long": "too long for the model",
    "not_finite": "the output is not finite",
}
"""Why a chain has no answer, in words."""


def about_chains(path: Path, dates: Sequence[datetime.date]) -> str:
    """The first line of a result: the dates that it may have, and the file of the chains with its digest."""
    return f"chains of {dates[0]} to {dates[1]}: {path.name} (digest {sha256(path)[:8]})"


def lines(rows: Sequence[Row], answers: Sequence[Row], maker: str = "", chains: int = 0) -> Iterator[str]:
    """The lines about one model and way: rows of TABLE, from rows of ANSWERS, of some of so many chains."""
    relations = {row["relation"]: row["relation_label"] for row in answers}
    whole = {row["reading"]: row for row in rows if row["subset"] == "all"}
    if "plain" not in whole:
        (only,) = rows
        yield f"{only['model']} ({only['way']}): no chain was answered{unanswered(answers)}"
        yield f"  by {only['chains']:,} dates of death: {verdict(only)}"
        return
    plain = whole["plain"]
    yield f"{plain['model']} ({plain['way']}): {verdict(plain)}"
    if plain["latest"]:
        yield f"  latest knowledge: {plain['latest']}"
    if maker:
        yield f"  its maker says: {maker}"
    some = f" of {chains:,}, drawn for a wider interval;" if chains > plain["chains"] else " chains asked,"
    yield f"  {plain['chains']:,}{some} {plain['informative']:,} answered{unanswered(answers)}"
    if plain["verdict"] != "none":
        yield (
            f"  what it knows of single facts is spread by {counted(round(plain['tau']), 'days')} around the "
            f"date; {plain['eps']:.0%} of its answers say nothing about time"
        )
    if "calibrated" in whole:
        other = whole["calibrated"]
        latest = f"; latest {other['latest']}" if other["latest"] else ""
        yield f"  calibrated by neutral prompts: {verdict(other)}{latest}"
        if disagree(plain, other):
            yield "  the two readings disagree: do not use either date"
    deaths = next((row for row in rows if row["subset"] == "deaths"), None)
    if deaths:
        yield f"  by {deaths['chains']:,} dates of death: {verdict(deaths)}"
    parts = [row for row in rows if row["subset"] not in ("all", "deaths") and row["reading"] == "plain"]
    if parts:
        yield ""
        named = (f"{row['subset']} {relations.get(row['value'], row['value'])}" for row in parts)
        yield from table("", COLUMNS, list(map(Line, named, parts)))


def unanswered(answers: Sequence[Row]) -> str:
    """`; 3 named none of the holders`: how many chains have no answer for which reason."""
    reasons = Counter(row["reason"] for row in answers if row["died"] is None and row["reason"])
    return "".join(f"; {count:,} {UNANSWERED.get(name, name)}" for name, count in reasons.most_common())


def verdict(row: Row) -> str:
    """`2021-01-05 [2020-12-28, 2021-01-11]`, `after 2024-12-31`, or that no date can be told."""
    if row["verdict"] == "none":
        return f"no date can be told (p {row['p']:.3f})"
    return f"{short(row)} {interval(row)}".rstrip()


def message(row: Row) -> str:
    """`gpt2 answers as of 2021-01-05`, or that no date can be told."""
    if row["verdict"] == "none":
        return f"{row['model']}: no date can be told"
    return f"{row['model']} answers as of {'' if row['verdict'] == 'date' else 'a day '}{short(row)}"


def short(row: Row) -> str:
    match row["verdict"]:
        case "before":
            return f"before {row['first_date']}"
        case "after":
            return f"after {row['last_date']}"
    return row.get("date") or "none"


def interval(row: Row) -> str:
    """`[2020-12-28, 2021-01-11]`; a bound that the stream does not reach is the stream's own end."""
    if row["verdict"] != "date":
        return ""
    low = row["low"] or f"before {row['first_date']}"
    return f"[{low}, {row['high'] or 'after ' + row['last_date']}]"


def difference(row: Row) -> str:
    if row.get("difference") is None:
        return ""
    days = [round(row[name]) for name in ("difference", "difference_low", "difference_high")]
    return "{:+,} [{:+,}, {:+,}]".format(*days)


COLUMNS = (
    Column("chains", count("informative")),
    Column("date", lambda row: Cell(short(row))),
    Column("95 % interval", lambda row: Cell(interval(row))),
    Column("days from all", lambda row: Cell(difference(row))),
)
"""Of the dates by subsets of the chains."""


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
    parts = {}
    for row in whole:
        title = f"{message(row)} ({WAYS.get(row['way'], row['way'])})"
        parts[title] = _marks(row, quarters, makers.get(row["model"]))
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
