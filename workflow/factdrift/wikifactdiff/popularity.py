"""How much an entity is looked at (spec section 6): English page views, or sitelinks in their place."""

from __future__ import annotations

import bz2
import sys
from collections.abc import Iterator, Sequence
from datetime import date
from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

from factdrift.progress import Progress
from factdrift.settings import InputError
from factdrift.tables import database, sql, write_query

WIKI = b"en.wikipedia"
_COLUMNS = ("wiki", "title", "page", "access", "count", "hours")
_BLOCK = 8 << 20


def popularity(
    new: Sequence[Path],
    old: Sequence[Path],
    pageviews: Path | None,
    day: date,
    output: Path,
    months: int = 12,
    memory_mb: int = 3000,
    threads: int = 1,
) -> int:
    """Writes `id`, `popularity`, `source` of each item of the new snapshot and of the old one's others.

    `pageviews`: the directory of the monthly files, or None for ln(1 + sitelinks). `day`: the date of the
    dump; the `months` months before its month count. `source` tells how an item came by its number:
    `pageviews`, `class_mean`, `global_median` or `sitelinks`. Values are rounded to 1e-9. Returns the
    number of items. Raises InputError if a month is missing or the files name no item's article.
    """
    files = [] if pageviews is None else month_files(pageviews, day, months)
    with database(memory_mb, threads) as db:
        columns = "id, title, coalesce(sitelinks, 0) AS sitelinks, classes"
        db.execute(
            f"""CREATE TEMP TABLE items AS
            WITH current AS (SELECT {columns} FROM read_parquet({sql(new)}))
            SELECT * FROM current
            UNION ALL SELECT {columns} FROM read_parquet({sql(old)})
                WHERE id NOT IN (SELECT id FROM current)"""
        )
        if pageviews is None:
            query = (
                "SELECT id, round(ln(1 + sitelinks), 9) AS popularity, 'sitelinks' AS source "
                "FROM items ORDER BY id"
            )
            return write_query(db, query, output)
        _read_views(db, files)
        _create_recorded(db, months)
        if not db.sql("SELECT 1 FROM recorded LIMIT 1").fetchall():
            raise InputError(
                f"{pageviews}: no item's English article is in the page views of the {months} months before "
                f"{day:%Y-%m}; are these the files of {WIKI.decode()}?"
            )
        return write_query(db, _COMPLETED, output)


def month_files(directory: Path, day: date, months: int) -> list[Path]:
    """The files of the `months` months before the month of `day`, the earliest first."""
    wanted = [divmod(day.year * 12 + day.month - 1 - back, 12) for back in range(months, 0, -1)]
    files = [directory / f"pageviews-{year}{month + 1:02d}-user.bz2" for year, month in wanted]
    missing = [file.name for file in files if not file.is_file()]
    if missing:
        raise InputError(
            f"{directory}: page views of {len(missing)} months are missing: {', '.join(missing)}; put them "
            "there, or set 'pageviews: none' to use the number of sitelinks"
        )
    return files


def _read_views(db: duckdb.DuckDBPyConnection, files: Sequence[Path]) -> None:
    """TEMP TABLE views (id, month from 0, views): summed over the access methods, where there are any."""
    # Titles stay bytes: the files hold some that are no valid UTF-8.
    db.execute(
        """CREATE TEMP TABLE titles AS
        SELECT id, encode(replace(title, ' ', '_')) AS title FROM items WHERE title IS NOT NULL"""
    )
    db.execute("CREATE TEMP TABLE views (id INTEGER, month INTEGER, views BIGINT)")
    for month, file in enumerate(files):
        lines = MonthFile(file)
        db.register("lines", lines.reader())
        try:
            db.execute(
                f"""INSERT INTO views
                SELECT id, {month}, sum(count) FROM lines JOIN titles USING (title)
                GROUP BY id HAVING sum(count) > 0"""
            )
        except duckdb.Error as error:
            # What goes wrong while DuckDB pulls the lines comes back as its own error.
            raise (lines.problem or error) from None
        finally:
            db.unregister("lines")
        if lines.malformed:
            print(f"{file.name}: {lines.malformed} malformed lines of {WIKI.decode()}", file=sys.stderr)


class MonthFile:
    """One monthly file: lines `en.wikipedia TITLE PAGEID ACCESS COUNT HOURS` among those of other wikis."""

    def __init__(self, path: Path):
        self.path = path
        self.malformed = 0
        """Lines of the English Wikipedia without six fields or without a number for a count."""
        self.problem: InputError | None = None

    def reader(self) -> pa.RecordBatchReader:
        """`title` (bytes, underscores) and `count` of the English lines, batch by batch."""
        schema = pa.schema([("title", pa.binary()), ("count", pa.int64())])
        return pa.RecordBatchReader.from_batches(schema, self._batches(schema))

    def _batches(self, schema: pa.Schema) -> Iterator[pa.RecordBatch]:
        progress = Progress(self.path.name, self.path.stat().st_size, "bytes")
        try:
            with self.path.open("rb") as raw, bz2.open(raw) as text:
                before = 0
                for batch in self._open(text):
                    yield self._english(batch, schema)
                    progress.advance(raw.tell() - before)
                    before = raw.tell()
        except (EOFError, OSError, pa.ArrowInvalid) as error:
            self.problem = InputError(
                f"{self.path}: cannot be read as a monthly page-view file ({error}); fetch it again"
            )
            raise self.problem from error

    def _open(self, text: bz2.BZ2File) -> pyarrow.csv.CSVStreamingReader:
        return pyarrow.csv.open_csv(
            text,
            read_options=pyarrow.csv.ReadOptions(
                column_names=list(_COLUMNS), block_size=_BLOCK, use_threads=False
            ),
            parse_options=pyarrow.csv.ParseOptions(
                delimiter=" ",
                quote_char=False,
                escape_char=False,
                invalid_row_handler=self._invalid,
            ),
            convert_options=pyarrow.csv.ConvertOptions(
                column_types={name: pa.binary() for name in _COLUMNS},
                include_columns=["wiki", "title", "count"],
            ),
        )

    def _invalid(self, row: pyarrow.csv.InvalidRow) -> str:
        text = row.text if isinstance(row.text, bytes) else row.text.encode()
        self.malformed += text.split(b" ", 1)[0] == WIKI
        return "skip"

    def _english(self, batch: pa.RecordBatch, schema: pa.Schema) -> pa.RecordBatch:
        english = batch.filter(pc.equal(batch["wiki"], pa.scalar(WIKI, pa.binary())))
        counted = english.filter(pc.match_substring_regex(english["count"], r"^[0-9]{1,18}$"))
        self.malformed += english.num_rows - counted.num_rows
        counts = counted["count"].cast(pa.string()).cast(pa.int64())
        return pa.record_batch([counted["title"], counts], schema=schema)


def _create_recorded(db: duckdb.DuckDBPyConnection, months: int) -> None:
    """TEMP TABLE recorded (id, popularity): the median counts from the first month with a view on."""
    db.execute(
        f"""CREATE TEMP TABLE recorded AS
        SELECT id, round(ln(1 + list_aggregate(
            list(views) || list_resize([]::BIGINT[], {months} - min(month) - count(*), 0), 'median'
        )), 9) AS popularity
        FROM views GROUP BY id"""
    )


# Sums of integers, so that a mean does not depend on the order in which the members come.
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
