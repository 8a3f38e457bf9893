"""Lines that a snapshot cannot need, recognised by their bytes before any JSON is parsed.

With `--names held`, a snapshot contains an item only if it holds all of it
(`factdrift.statements.rows.is_whole`) or if the item has superclasses or a unit symbol. The line of such an
item contains the name of a site or of one of these properties as a JSON string; a line without any of them is
skipped. A line with one of them, be it in a label, is parsed, and the parsed entity decides.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stringzilla import count, find

from factdrift.wikidata.entity import NAMED_PROPERTIES

NAMES = ("held", "all")
"""Items without full statements that still get a row (label, classes ...): `held` = classes and units only,
`all` = every item."""

SITE_HINTS = {"enwiki": b'"enwiki"', "anywiki": b'wiki"'}
"""Bytes in the line of every item that a snapshot of this scope holds whole. `all` has no hint: every line
must be parsed."""

_ESCAPES = tuple(b"\\u00" + digit for digit in (b"3", b"5", b"6", b"7"))
"""Beginnings of the escapes with which JSON may write the letters and digits of a name; no dump known
does."""

_ITEM = re.compile(rb'\{(?:"type":"item","id":"Q|"id":"Q\d+","type":"item")')
_NEXT_ITEM = b'},\n{"type":"item","id":"Q'
_ITEM_END = b"},\n"


class NeedlessItems:
    """Recognises items that a snapshot of this scope does not contain.

    A line is skipped only if it begins and ends as that of an item and is UTF-8. It is not checked to be
    JSON.
    """

    def __init__(self, scope: str) -> None:
        self._needles = (SITE_HINTS[scope], *(f'"{name}"'.encode() for name in NAMED_PROPERTIES))

    def others(self, data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """The lines among bytes `start` to `stop` of `data` (whole lines) that may be needed.

        Yields (skipped, start, stop): the number of lines skipped since the previous one, and the byte range
        of the line without its newline. The last range is empty, and counts the lines skipped at the end.
        """
        plain = data.isascii() and all(find(data, escape, start, stop) < 0 for escape in _ESCAPES)
        hits = [start - 1] * len(self._needles)  # the next occurrence of each needle
        passed = 0
        while start < stop:
            for place, needle in enumerate(self._needles):
                if hits[place] < start:
                    hit = find(data, needle, start, stop)
                    hits[place] = stop if hit < 0 else hit
            nearest = min(hits)
            line = data.rfind(b"\n", start, nearest) + 1 or start
            if plain and start < line and (items := _items(data, start, line)):
                passed += items
                start = line
                continue
            end = data.find(b"\n", start, stop)
            if end < 0:
                end = stop
            if start < line and self._is_needless(data[start:end]):
                passed += 1
            else:
                yield passed, start, end
                passed = 0
            start = end + 1
        yield passed, stop, stop

    def _is_needless(self, line: bytes) -> bool:
        """Whether a line that contains no needle, given without its newline, is that of an item."""
        return (
            line.endswith((b"},", b"}"))
            and _ITEM.match(line) is not None
            and all(find(line, escape) < 0 for escape in _ESCAPES)
            and _is_utf8(line)
        )


def _items(data: bytes, start: int, stop: int) -> int:
    """The number of lines in these bytes; 0 if any of them does not begin and end as that of an item."""
    lines = count(data, b"\n", start, stop)
    regular = (
        _ITEM.match(data, start) is not None
        and data.endswith(_ITEM_END, start, stop)
        and count(data, _NEXT_ITEM, start, stop) == lines - 1
    )
    return lines if regular else 0


def _is_utf8(text: bytes) -> bool:
    if text.isascii():
        return True
    try:
        text.decode()
    except UnicodeDecodeError:
        return False
    return True
