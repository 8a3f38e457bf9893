"""The date of a model as a screen of text."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from factdrift.core.progress import counted
from factdrift.core.screen import grid
from factdrift.evaluation.scores.cutoff import disagree

Row = Mapping[str, Any]

SUBSETS = {"relation": "relation", "popularity": "popularity", "wording": "wording"}


def lines(rows: Sequence[Row], relations: Mapping[str, str], maker: str = "") -> Iterator[str]:
    """The lines about one model and way: rows of TABLE, and the name of each relation."""
    whole = {row["reading"]: row for row in rows if row["subset"] == "all"}
    plain = whole["plain"]
    yield f"{plain['model']} ({plain['way']}): {verdict(plain)}"
    if plain["latest"]:
        yield f"  latest knowledge: {plain['latest']}"
    if maker:
        yield f"  its maker says: {maker}"
    yield f"  {plain['chains']:,} chains asked, {plain['informative']:,} answered"
    if plain["verdict"] != "none":
        yield (
            f"  what it knows of single facts is spread by {counted(round(plain['tau']), 'days')} around the "
            f"date; {plain['eps']:.0%} of its answers say nothing about time"
        )
    if "calibrated" in whole:
        yield f"  calibrated by neutral prompts: {verdict(whole['calibrated'])}" + (
            f"; latest {whole['calibrated']['latest']}" if whole["calibrated"]["latest"] else ""
        )
        if disagree(plain, whole["calibrated"]):
            yield "  the two readings disagree: do not use either date"
    deaths = next((row for row in rows if row["subset"] == "deaths"), None)
    if deaths:
        yield f"  by {deaths['chains']:,} dates of death: {verdict(deaths)}"
    parts = [row for row in rows if row["subset"] in SUBSETS and row["reading"] == "plain"]
    if parts:
        yield ""
        table = [
            [
                f"{row['subset']} {relations.get(row['value'], row['value'])}",
                f"{row['informative']:,}",
                short(row),
                interval(row),
                difference(row),
            ]
            for row in parts
        ]
        yield from grid(("", "chains", "date", "95 % interval", "days from all"), table)


def verdict(row: Row) -> str:
    """`2021-01-05 [2020-12-28, 2021-01-11]`, `after 2024-12-31`, or that no date can be told."""
    match row["verdict"]:
        case "date":
            return f"{row['date']} {interval(row)}"
        case "none":
            return f"no date can be told (p {row['p']:.3f})"
    return short(row)


def short(row: Row) -> str:
    match row["verdict"]:
        case "date":
            return str(row["date"])
        case "before":
            return f"before {row['first_date']}"
        case "after":
            return f"after {row['last_date']}"
    return "none"


def interval(row: Row) -> str:
    """`[2020-12-28, 2021-01-11]`; a bound that the stream does not reach is the stream's own end."""
    if row["verdict"] != "date":
        return ""
    low = row["low"] or f"before {row['first_date']}"
    return f"[{low}, {row['high'] or 'after ' + row['last_date']}]"


def difference(row: Row) -> str:
    if row.get("difference") is None:
        return ""
    return f"{row['difference']:+,.0f} [{row['difference_low']:+,.0f}, {row['difference_high']:+,.0f}]"
