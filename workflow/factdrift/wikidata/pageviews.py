"""Wikimedia's monthly page-view files: lines such as `en.wikipedia TITLE PAGEID ACCESS COUNT HOURS`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv

WIKI = b"en.wikipedia"
VIEWS = pa.schema([("title", pa.binary()), ("views", pa.int64())])
"""Titles with underscores, as bytes, since some are not UTF-8. One row per title and access method, or their
sum."""

_COLUMNS = ("wiki", "title", "page", "access", "count", "hours")
_BLOCK = 8 << 20


class EnglishViews:
    """Reads the lines of the English Wikipedia out of the decompressed text of a file."""

    def __init__(self) -> None:
        self.malformed = 0
        """Skipped lines of the English Wikipedia: without six fields, or with a count that is no number."""

    def batches(self, text: IO[bytes]) -> Iterator[pa.RecordBatch]:
        """Batches of VIEWS. Raises pyarrow.ArrowInvalid if `text` is no page-view file, and its own
        errors."""
        reader = pyarrow.csv.open_csv(
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
        for batch in reader:
            yield self._english(batch)

    def _invalid(self, row: pyarrow.csv.InvalidRow) -> str:
        text = row.text if isinstance(row.text, bytes) else row.text.encode()
        self.malformed += text.split(b" ", 1)[0] == WIKI
        return "skip"

    def _english(self, batch: pa.RecordBatch) -> pa.RecordBatch:
        english = batch.filter(pc.equal(batch["wiki"], pa.scalar(WIKI, pa.binary())))
        counted = english.filter(pc.match_substring_regex(english["count"], r"^[0-9]{1,18}$"))
        self.malformed += english.num_rows - counted.num_rows
        counts = counted["count"].cast(pa.string()).cast(pa.int64())
        return pa.record_batch([counted["title"], counts], schema=VIEWS)
