"""Sections about a sequence of dates: its updates, and the dates as of which models answer."""

from pathlib import Path

import duckdb

from factdrift.core.tables import sql
from factdrift.pages.report.blocks import Bars, Block, Build, Columns, Section, Source, picture, table
from factdrift.pages.report.world import months_of

LAGS = (31, 92, 366, 731)
"""Days at most, of the classes of lags."""

MOST_MONTHS = 240


def streams(build: Build, db: duckdb.DuckDBPyConnection, stream: Path | None) -> Section | None:
    """Updates by interval and month, how late Wikidata was at most, and what came back.

    None without a stream, or if it has no update.
    """
    if stream is None:
        return None
    rows = f"read_parquet({sql(stream)})"
    source = build.source(stream)
    intervals = db.sql(
        f"""SELECT old_date, new_date, count(*), count(*) FILTER (link = 1), count(*) FILTER (reverts),
            count(superseded_by), count(*) FILTER (dated_by <> 'interval'), median(lag_max)
        FROM {rows} GROUP BY interval, old_date, new_date ORDER BY interval"""
    ).df()
    if intervals.empty:
        return None
    kinds = {"from": "text", "to": "text"} | dict.fromkeys(
        ("updates", "first of a chain", "come back", "superseded later", "dated", "median lag at most, days"),
        "number",
    )
    found = dict(
        db.sql(
            f"""SELECT printf('%04d-%02d', first_day // 10000, first_day // 100 % 100), count(*) FROM {rows}
            WHERE dated_by <> 'interval' AND first_day // 100 = last_day // 100 GROUP BY ALL"""
        ).fetchall()
    )
    blocks: list[Block] = [
        table("Updates by interval", kinds, intervals, source),
        _lags(db, rows, source),
    ]
    months = list(months_of(f"{intervals.iloc[0, 0][:4]}-01-01", f"{intervals.iloc[-1, 1][:4]}-12-31"))
    if found and len(months) <= MOST_MONTHS:
        blocks.insert(
            1,
            Columns(
                "Updates whose change is dated to a month",
                months,
                [found.get(month, 0) for month in months],
                [],
                [(place + 0.5, month[:4]) for place, month in enumerate(months) if month.endswith("-01")],
                ("updates",),
                "month",
                source,
            ),
        )
    lead = "Updates between all consecutive dates of a sequence, and how those of one fact follow each other."
    return Section("streams", "Many dates", lead, blocks)


def _lags(db: duckdb.DuckDBPyConnection, rows: str, source: Source) -> Bars:
    classes = " ".join(f"WHEN lag_max <= {days} THEN {place}" for place, days in enumerate(LAGS))
    found = dict(
        db.sql(
            f"""SELECT CASE {classes} ELSE {len(LAGS)} END, count(*) FROM {rows}
            WHERE lag_max IS NOT NULL GROUP BY 1"""
        ).fetchall()
    )
    names = [f"up to {days} days" for days in LAGS] + [f"perhaps more than {LAGS[-1]} days"]
    bars = [(name, found.get(place, 0), "plain") for place, name in enumerate(names)]
    note = "Between the change and the first dump that states it; dates closer to each other tell more."
    return Bars("How late Wikidata was at most", bars, source, note)


def cutoff(build: Build, db: duckdb.DuckDBPyConnection, path: Path | None) -> Section | None:
    """The date of each model with its interval, and the picture, which is beside the table."""
    if path is None:
        return None
    rows = db.sql(
        f"""SELECT model, way, reading, if(subset = value, value, subset || ' ' || value), informative,
            CASE verdict WHEN 'date' THEN date WHEN 'before' THEN 'before ' || first_date
                WHEN 'after' THEN 'after ' || last_date ELSE 'no date can be told' END,
            low, high, latest, tau, eps, p
        FROM read_parquet({sql(path)}) WHERE subset IN ('all', 'relation', 'popularity', 'deaths')"""
    ).df()
    columns = {
        **dict.fromkeys(("model", "way", "reading", "of"), "text"),
        "chains": "number",
        **dict.fromkeys(("answers as of", "not before", "not after", "latest knowledge"), "text"),
        **{"spread, days": "number", "says nothing": "share", "p": "share"},
    }
    note = (
        "Without a bound the interval reaches an end of the stream. Spread: how far the knowledge of single "
        "facts is from the date. Says nothing: the share of answers that do not depend on time."
    )
    blocks: list[Block] = [table("Dates of models", columns, rows, build.source(path), note)]
    drawn = path.with_suffix(".svg")
    if drawn.is_file():
        title = "Changes whose later holder a model prefers, by quarter"
        blocks.insert(0, picture(title, drawn, build.source(drawn)))
    lead = "As of which date does a model answer, judged by who it says holds what has changed hands?"
    return Section("cutoff", "The dates of models", lead, blocks)
