"""Lines that cannot matter, told by their bytes alone, before any JSON is parsed.

A snapshot whose names are `held` has an item only if it holds it whole (`factdrift.statements.rows.is_whole`)
or if the item has superclasses or a unit symbol, whatever the other snapshot says. Such an item's line
contains a site's name or a property's as JSON writes it, so that a line without any of them need not be
parsed. Each line that contains one, in a label or wherever, is parsed, and decided by what it says.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from stringzilla import count, find

from factdrift.wikidata.entity import NAMED_PROPERTIES

NAMES = ("held", "all")
"""Of which items that it does not hold whole a snapshot knows the names, classes and so on."""

SITE_HINTS = {"enwiki": b'"enwiki"', "anywiki": b'wiki"'}
"""What the line of an item that is held whole contains, by scope; nothing is sure if all are."""

_ESCAPES = tuple(b"\\u00" + digit for digit in (b"3", b"5", b"6", b"7"))
"""How JSON may, and no known writer of dumps does, disguise the letters and digits of a name."""

_ITEM = re.compile(rb'\{(?:"type":"item","id":"Q|"id":"Q\d+","type":"item")')
_NEXT_ITEM = b'},\n{"type":"item","id":"Q'
_ITEM_END = b"},\n"


class NeedlessItems:
    """Tells items that a snapshot of this scope does not hold.

    A line is only passed over if it begins and ends as that of an item and is UTF-8. That what stands between
    is JSON is not looked at.
    """

    def __init__(self, scope: str) -> None:
        self._needles = (SITE_HINTS[scope], *(f'"{name}"'.encode() for name in NAMED_PROPERTIES))

    def others(self, data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """Of the whole lines from `start` to `stop` those that may be needed.

        How many needless ones stand before it, and from where to where it reaches without its end. After the
        last, an empty one.
        """
        plain = data.isascii() and all(find(data, escape, start, stop) < 0 for escape in _ESCAPES)
        hits = [start - 1] * len(self._needles)  # where each needle stands next
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
        """Whether a line without any needle, its end not included, is that of an item."""
        return (
            line.endswith((b"},", b"}"))
            and _ITEM.match(line) is not None
            and all(find(line, escape) < 0 for escape in _ESCAPES)
            and _is_utf8(line)
        )


def _items(data: bytes, start: int, stop: int) -> int:
    """How many lines there are between these places; 0 if any of them does not begin or end as an item."""
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
