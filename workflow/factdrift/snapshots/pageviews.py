"""Filters a month of page views while it is downloaded; the file itself is not stored."""

import bz2
import io
import sys
from collections.abc import Iterator
from pathlib import Path

import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.exhausted import is_full
from factdrift.core.progress import Progress
from factdrift.core.tables import database, sql, write_query
from factdrift.snapshots.fetch import Client, Head, Missing, changed
from factdrift.wikidata.pageviews import VIEWS, WIKI, EnglishViews

WIKIMEDIA = "https://dumps.wikimedia.org/other/pageview_complete/monthly"
_READ = 1 << 20


def month_url(month: str, server: str = WIKIMEDIA) -> str:
    """The address of the page views of a month (`2022-03`)."""
    year, number = month.split("-")
    return f"{server.rstrip('/')}/{year}/{month}/pageviews-{year}{number}-user.bz2"


def filter_month(url: str, output: Path, client: Client) -> tuple[int, int]:
    """Writes title and views of every English page of the month, summed over access methods, sorted by title.

    A cut connection is resumed; a killed job starts its month again, because decompression cannot be resumed.
    Returns the numbers of pages and of malformed lines. Raises InputError if the server does not have the
    month, does not answer, sends something else, or replaces the file meanwhile.
    """
    views, rows = EnglishViews(), 0
    output.parent.mkdir(parents=True, exist_ok=True)
    # Always the same name, so that a file left by a killed job is overwritten.
    lines = output.with_name(f".{output.name}.lines")
    try:
        remote = io.BufferedReader(_Remote(client, url), _READ)
        with pq.ParquetWriter(lines, VIEWS, compression="zstd") as writer, bz2.open(remote) as text:
            for batch in views.batches(text):
                writer.write_batch(batch)
                rows += batch.num_rows
        if not rows:
            raise InputError(f"{url}: no line of {WIKI.decode()}; is this the right file?")
        if views.malformed:
            print(f"{url}: {views.malformed} malformed lines of {WIKI.decode()}", file=sys.stderr)
        with database() as db:
            query = f"SELECT title, sum(views)::BIGINT AS views FROM read_parquet({sql(lines)})"
            return write_query(db, f"{query} GROUP BY title ORDER BY title", output), views.malformed
    except Missing:
        raise InputError(
            f"{url}: the server has no page views of that month; set 'pageviews: none' to use the number of "
            "site links"
        ) from None
    except (EOFError, OSError, ValueError) as error:
        if is_full(error):
            raise
        raise InputError(
            f"{url}: cannot be read as a monthly page-view file ({error}); run the same command again"
        ) from error
    finally:
        lines.unlink(missing_ok=True)


class _Remote(io.RawIOBase):
    """A file on a server as a file object that can be read once from start to end."""

    def __init__(self, client: Client, url: str):
        self._url = url
        self._first: Head | None = None
        self._progress: Progress | None = None
        self._pieces = self._in_order(client.stream(url, begin=self._begin))
        self._piece = memoryview(b"")

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: bytearray | memoryview) -> int:  # type: ignore[override]
        while not self._piece:
            if (piece := next(self._pieces, None)) is None:
                return 0
            self._piece = memoryview(piece)
            if self._progress:
                self._progress.advance(len(piece) / 1e6)
        count = min(len(buffer), len(self._piece))
        buffer[:count] = self._piece[:count]
        self._piece = self._piece[count:]
        return count

    def _begin(self, head: Head) -> None:
        """Raises InputError if the file has been replaced, because its first part is already decompressed."""
        first = self._first = self._first or head
        if changed(head, first.size, first.validator):
            raise InputError(
                f"{self._url}: the server has replaced the file while it was read; run the same command again"
            )
        if self._progress is None:
            total = head.size / 1e6 if head.size is not None else None
            self._progress = Progress(self._url.rpartition("/")[2], total, "MB")

    def _in_order(self, pieces: Iterator[tuple[int, bytes]]) -> Iterator[bytes]:
        """The bytes without those that a server sends a second time."""
        position = 0
        for offset, data in pieces:
            if new := data[max(0, position - offset) :]:
                yield new
                position += len(new)
