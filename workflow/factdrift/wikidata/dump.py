"""Dump files as a stream of lines.

Wikidata publishes a dump as one JSON array with one entity per line: a line `[`, a line `{...},` for every
entity, a line `]`. JSON Lines (no brackets, no commas) are read too. The compression is recognised by the
first bytes of the file, not by its name; gzip files of many members, bzip2 files of many streams and
Zstandard files of many frames are read to their end.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from factdrift.wikidata.shares import Share, check_shares


def lines(path: str | Path) -> Iterator[tuple[int, int, bytes]]:
    """Line number (from 1), byte offset in the decompressed text, and text of the line of every entity.

    White space, separating commas and the brackets of the array are removed; lines with nothing else are
    skipped. The text is not checked to be JSON. Raises InputError if the file cannot be read or is damaged,
    or if one of the array's two brackets is missing.
    """
    share = Share(path)
    yield from share.lines()
    check_shares(share.path, [share.account])
