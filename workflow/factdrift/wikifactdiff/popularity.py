"""Popularity of entities: English page views, or the number of sitelinks instead."""

import bz2
import datetime
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from factdrift.core.errors import InputError
from factdrift.core.progress import Progress
from factdrift.core.settings import month_files
from factdrift.core.tables import register_stream, sql, write_query
from factdrift.wikidata.pageviews import VIEWS, WIKI, EnglishViews


def popularity(
    db: duckdb.DuckDBPyConnection,
    new: Sequence[Path],
    old: Sequence[Path],
    pageviews: Path | None,
    date: datetime.date,
    months: int,
    output: Path,
) -> int:
    """Writes `id`, `popularity`, `source` of each item of the new snapshot, and of items of the old one only.

    With an empty `old` the table has the items of one dump. `pageviews`: the directory of the monthly files,
    or None for ln(1 + sitelinks). `date`: of the dump; the `months` months before its month count.
    `source` says where the value comes from: `pageviews`, `class_mean`, `global_median` or `sitelinks`.
    Values are rounded to 1e-9. Returns the number of items. Raises InputError if a month is missing or no
    article of an item is in the files.
    """
    files = [] if pageviews is None else month_files(pageviews, date, months)
    select = "SELECT id, title, coalesce(sitelinks, 0) AS sitelinks, classes FROM read_parquet"
    db.execute(f"CREATE TEMP TABLE items AS {select}({sql(new)})")
    if old:
        db.execute(f"INSERT INTO items {select}({sql(old)}) ANTI JOIN items USING (id)")
    if pageviews is None:
        query = "SELECT id, round(ln(1 + sitelinks), 9) AS popularity, 'sitelinks' AS source FROM items"
        return write_query(db, f"{query} ORDER BY id", output)
    _read_views(db, files)
    if not db.sql("SELECT 1 FROM recorded LIMIT 1").fetchall():
        raise InputError(
            f"{pageviews}: no item's English article is in the page views of the {months} months "
            f"before {date:%Y-%m}; are these the files of {WIKI.decode()}?"
        )
    return write_query(db, _COMPLETED, output)


def _read_views(db: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
    """TEMP TABLE recorded (id, popularity): the median over the months from the first one with a view.

    Views of a month are summed over access methods; months without any are absent from TEMP TABLE views.
    """
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
        views, problems = EnglishViews(), list[InputError]()
        batches = _batches(file, views, problems)
        register_stream(db, "lines", pa.RecordBatchReader.from_batches(VIEWS, batches))
        try:
            db.execute(insert.format(month=month, lines="lines"))
        except duckdb.Error as error:
            # DuckDB replaces an error of the reader by its own.
            raise (problems[0] if problems else error) from None
        finally:
            db.unregister("lines")
        if views.malformed:
            print(f"{file.name}: {views.malformed} malformed lines of {WIKI.decode()}", file=sys.stderr)
    db.execute(
        f"""CREATE TEMP TABLE recorded AS
        SELECT id, round(ln(1 + list_aggregate(
            list(views) || list_resize([]::BIGINT[], {len(files)} - min(month) - count(*), 0), 'median'
        )), 9) AS popularity
        FROM views GROUP BY id"""
    )


def _batches(path: Path, views: EnglishViews, problems: list[InputError]) -> Iterator[pa.RecordBatch]:
    """VIEWS of a monthly file as Wikimedia publishes it; an error is also put into `problems`."""
    progress = Progress(path.name, path.stat().st_size / 1e6, "MB", beside="titles")
    try:
        with path.open("rb") as raw, bz2.open(raw) as text:
            before = 0
            for batch in views.batches(text):
                yield batch
                progress.advance((raw.tell() - before) / 1e6, beside=batch.num_rows)
                before = raw.tell()
    except (EOFError, OSError, ValueError) as error:
        what = "cannot be read as a monthly page-view file"
        problems.append(InputError(f"{path}: {what} ({error}); fetch it again"))
        raise problems[0] from error


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
