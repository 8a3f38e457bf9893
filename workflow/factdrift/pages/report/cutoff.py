"""The section about the dates as of which models answer."""

from pathlib import Path

import duckdb

from factdrift.core.tables import sql
from factdrift.pages.report.blocks import Block, Build, Section, picture, table

COLUMNS = {
    **dict.fromkeys(("model", "way", "reading", "of"), "text"),
    "chains": "number",
    **dict.fromkeys(("answers as of", "not before", "not after", "latest knowledge"), "text"),
    **{"spread, days": "number", "says nothing": "share", "p": "share"},
}
NOTE = (
    "Without a bound the interval reaches an end of the stream. Spread: how far the knowledge of single "
    "facts is from the date. Says nothing: the share of answers that do not depend on time."
)


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
    blocks: list[Block] = [table("Dates of models", COLUMNS, rows, build.source(path), NOTE)]
    drawn = path.with_suffix(".svg")
    if drawn.is_file():
        title = "Changes whose later holder a model prefers, by quarter"
        blocks.insert(0, picture(title, drawn, build.source(drawn)))
    lead = "As of which date does a model answer, judged by who it says holds what has changed hands?"
    return Section("cutoff", "The dates of models", lead, blocks)
