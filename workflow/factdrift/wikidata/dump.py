"""Dump files as a stream of lines.

Wikidata publishes a dump as one JSON array with an entity a line: a line `[`, then `{...},` for every
entity, then `]`. JSON Lines (no brackets, no commas) are read by the same function. The kind of compression
is told by the first bytes of a file, not by its name; gzip files of many members, bzip2 files of many streams
and Zstandard files of many frames are read to their end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from factdrift.wikidata.shares import Share, check_shares


def lines(path: str | Path) -> Iterator[tuple[int, int, bytes]]:
    """Line number (from 1), byte offset of the line in the decompressed text, and text, of every entity.

    White space, separating commas and the brackets of the array are taken off; lines that hold nothing else
    are passed over. Whether a text is JSON is not looked at. Raises InputError if the file cannot be read, or
    if a text that began with `[` ends without `]`.
    """
    share = Share(path)
    yield from share.lines()
    check_shares(share.path, [share.account])
