"""Popularity of entities: English page views, or the number of sitelinks instead."""

from __future__ import annotations

import bz2
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import duckdb
import pyarrow as pa

from factdrift.core.errors import InputError
from factdrift.core.progress import Progress
from factdrift.core.settings import month_files
from factdrift.core.tables import database, register_stream, sql, write_query
from factdrift.wikidata.pageviews import VIEWS, WIKI, EnglishViews

if TYPE_CHECKING:
    from factdrift.wikifactdiff.jobs import Popularity


def popularity(job: Popularity) -> int:
    """Writes `id`, `popularity`, `source` of each item of the new snapshot, and of items of the old one only.

    With an empty `old` the table has the items of one dump. `pageviews`: the directory of the monthly files,
    or `none` for ln(1 + sitelinks). `date`: of the dump; the `months` months before its month count.
    `source` says where the value comes from: `pageviews`, `class_mean`, `global_median` or `sitelinks`.
    Values are rounded to 1e-9. Returns the number of items. Raises InputError if a month is missing or no
    article of an item is in the files.
    """
    pageviews = None if job.pageviews == "none" else Path(job.pageviews)
    files = [] if pageviews is None else month_files(pageviews, job.date, job.months)
    with database(job.memory_mb, job.threads) as db:
        columns = "id, title, coalesce(sitelinks, 0) AS sitelinks, classes"
        db.execute(
            f"""CREATE TEMP TABLE items AS
            WITH current AS (SELECT {columns} FROM read_parquet({sql(job.new)}))
            SELECT * FROM current"""
            + (
                f" UNION ALL SELECT {columns} FROM read_parquet({sql(job.old)}) ANTI JOIN current USING (id)"
                if job.old
                else ""
            )
        )
        if pageviews is None:
            query = (
                "SELECT id, round(ln(1 + sitelinks), 9) AS popularity, 'sitelinks' AS source "
                "FROM items ORDER BY id"
            )
            return write_query(db, query, job.output)
        _read_views(db, files)
        _create_recorded(db, job.months)
        if not db.sql("SELECT 1 FROM recorded LIMIT 1").fetchall():
            raise InputError(
                f"{pageviews}: no item's English article is in the page views of the {job.months} months "
                f"before {job.date:%Y-%m}; are these the files of {WIKI.decode()}?"
            )
        return write_query(db, _COMPLETED, job.output)


def _read_views(db: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
    """TEMP TABLE views (id, month from 0, views): summed over access methods; months without are absent."""
    # Titles are compared as bytes: some in the files are not valid UTF-8.
    db.execute(
        """CREATE TEMP TABLE titles AS
        SELECT id, encode(replace(title, ' ', '_')) AS title FROM items WHERE title IS NOT NULL"""
    )
    db.execute("CREATE TEMP TABLE views (id INTEGER, month INTEGER, views BIGINT)")
    insert = """INSERT INTO views SELECT id, {month}, sum(views) FROM {lines} JOIN titles USING (title)
        GROUP BY id HAVING sum(views) > 0"""
    for month, file in enumerate(files):
        if file.suffix == ".parquet":
            db.execute(insert.format(month=month, lines=f"read_parquet({sql(file)})"))
            continue
        lines = MonthFile(file)
        register_stream(db, "lines", lines.reader())
        try:
            db.execute(insert.format(month=month, lines="lines"))
        except duckdb.Error as error:
            # DuckDB replaces an error of the reader by its own.
            raise (lines.problem or error) from None
        finally:
            db.unregister("lines")
        if lines.views.malformed:
            print(f"{file.name}: {lines.views.malformed} malformed lines of {WIKI.decode()}", file=sys.stderr)


class MonthFile:
    """One monthly file as Wikimedia publishes it."""

    def __init__(self, path: Path):
        self.path = path
        self.views = EnglishViews()
        self.problem: InputError | None = None

    def reader(self) -> pa.RecordBatchReader:
        """`title` and `views` of the English lines, batch by batch."""
        return pa.RecordBatchReader.from_batches(VIEWS, self._batches())

    def _batches(self) -> Iterator[pa.RecordBatch]:
        progress = Progress(self.path.name, self.path.stat().st_size / 1e6, "MB", beside="titles")
        try:
            with self.path.open("rb") as raw, bz2.open(raw) as text:
                before = 0
                for batch in self.views.batches(text):
                    yield batch
                    progress.advance((raw.tell() - before) / 1e6, beside=batch.num_rows)
                    before = raw.tell()
        except (EOFError, OSError, ValueError) as error:
            self.problem = InputError(
                f"{self.path}: cannot be read as a monthly page-view file ({error}); fetch it again"
            )
            raise self.problem from error


def _create_recorded(db: duckdb.DuckDBPyConnection, months: int) -> None:
    """TEMP TABLE recorded (id, popularity): the median over the months from the first one with a view."""
    db.execute(
        f"""CREATE TEMP TABLE recorded AS
        SELECT id, round(ln(1 + list_aggregate(
            list(views) || list_resize([]::BIGINT[], {months} - min(month) - count(*), 0), 'median'
        )), 9) AS popularity
        FROM views GROUP BY id"""
    )


# Means are made of sums of integers, which do not depend on the order of the members.
_COMPLETED = """
    WITH classed AS (
        SELECT id, unnest(classes) AS class FROM items
    ), means AS (
        SELECT class, sum(round(popularity * 1e9)::HUGEINT)::DOUBLE / count(*) / 1e9 AS mean
        FROM (SELECT DISTINCT id, class FROM classed) JOIN recorded USING (id) GROUP BY class
    ), by_class AS (
        SELECT id, max(mean) AS mean FROM classed JOIN means USING (class) GROUP BY id
    )
    SELECT id,
        round(coalesce(popularity, mean, (SELECT median(popularity) FROM recorded)), 9) AS popularity,
        CASE WHEN popularity IS NOT NULL THEN 'pageviews'
            WHEN mean IS NOT NULL THEN 'class_mean' ELSE 'global_median' END AS source
    FROM items LEFT JOIN recorded USING (id) LEFT JOIN by_class USING (id) ORDER BY id"""
