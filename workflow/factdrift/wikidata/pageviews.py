"""Wikimedia's monthly page-view files: lines such as `en.wikipedia TITLE PAGEID ACCESS COUNT HOURS`."""

from collections.abc import Iterator, Sequence
from typing import IO

import pyarrow as pa
import pyarrow.compute as pc

from factdrift.core.columns import schema_of

WIKI = b"en.wikipedia"
VIEWS = schema_of("title: binary, views: int64")
"""Titles with underscores, as bytes, since some are not UTF-8. One row per title and access method, or their
sum."""

_FIELDS = r"^\S+ (?P<title>[^ ]*) [^ ]* [^ ]* (?P<count>[0-9]{1,12}) [^ ]*$"
_BLOCK = 8 << 20


class EnglishViews:
    """Reads the lines of the English Wikipedia out of the decompressed text of a file."""

    def __init__(self) -> None:
        self.malformed = 0
        """Skipped lines of the English Wikipedia: without six fields, or with a count that is no
        number of at most twelve digits."""

    def batches(self, text: IO[bytes]) -> Iterator[pa.RecordBatch]:
        """Batches of VIEWS. Raises ValueError if `text` is no page-view file, and its own errors."""
        read, rest = text.read(_BLOCK), b""
        if not read:
            raise ValueError("no text")
        while read:
            *lines, rest = (rest + read).split(b"\n")
            if len(rest) > _BLOCK:
                raise ValueError(f"a line has more than {_BLOCK:,} bytes")
            yield self._english(lines)
            read = text.read(_BLOCK)
        yield self._english([rest])

    def _english(self, lines: Sequence[bytes]) -> pa.RecordBatch:
        english = [line for line in lines if line.startswith(WIKI) and line.partition(b" ")[0] == WIKI]
        fields = pc.extract_regex(pa.array(english, pa.binary()), _FIELDS)
        self.malformed += fields.null_count
        titles, counts = fields.drop_null().flatten()
        return pa.record_batch([titles, counts.cast(pa.string()).cast(pa.int64())], schema=VIEWS)
