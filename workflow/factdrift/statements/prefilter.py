"""Lines that a snapshot cannot need, recognised by their bytes before any JSON is parsed.

With `--names held`, a snapshot contains an item only if it holds all of it
(`factdrift.statements.rows.is_whole`) or if the item has superclasses or a unit symbol. The line of such an
item contains the name of a site or of one of these properties as a JSON string; a line without any of them is
skipped. A line with one of them, even in a label, is parsed, and the parsed entity decides.
"""

import re
from collections.abc import Iterator

import numpy as np
from stringzilla import find

from factdrift.wikidata.entity import NAMED_PROPERTIES, last_named

SITE_HINTS = {"enwiki": b'enwiki"', "anywiki": b'wiki"'}
"""Bytes in the line of every item that a snapshot of this scope holds whole. `all` has no hint: every line
must be parsed. The quotation mark before the name is left out: a search that has to find one at both ends
takes half as long again."""

_ESCAPES = tuple(b"\\u00" + digit for digit in (b"3", b"5", b"6", b"7"))
"""Beginnings of the escapes with which JSON may write the letters and digits of a name; no dump known
does."""

_ITEM = re.compile(rb'\{(?:"type":"item","id":("Q\d+)"|"id":("Q\d+)","type":"item")')
_BORDER = b'},\n{"type":"item","id":'
"""The end of an item's line and the beginning of the next item's, up to its id."""

_TITLED = b'","lastrevid":'
"""What follows the title of an entity's page; in dumps without these titles, a brace is before the comma."""

_QUOTE = ord('"')
"""Ends the last field, the date of change, in dumps that have the titles of pages."""

_TAIL, _ID = 120, 20
"""Bytes at the end of a line that hold the fields of a page, and those that hold an id."""


class NeedlessItems:
    """Recognises items that a snapshot of this scope does not contain.

    A line is skipped only if it begins and ends as that of one item, and is UTF-8. It is not checked to be
    JSON: the text must come from an archive, whose checksums show that nothing is missing in it.
    """

    def __init__(self, scope: str) -> None:
        self._needles = (SITE_HINTS[scope], *(f'"{name}"'.encode() for name in NAMED_PROPERTIES))

    def others(self, data: bytes, start: int, stop: int) -> Iterator[tuple[int, int, int]]:
        """The lines that may be needed; see `factdrift.wikidata.shares.Needless`."""
        # The least of all bytes, as signed numbers, is found in half the time of `isascii`.
        is_ascii = start == stop or bool(np.frombuffer(data, np.int8, stop - start, start).min() >= 0)
        plain = is_ascii and all(find(data, escape, start, stop) < 0 for escape in _ESCAPES)
        hits = [start - 1] * len(self._needles)  # the next occurrence of each needle
        passed = 0
        while start < stop:
            for place, needle in enumerate(self._needles):
                if hits[place] < start:
                    hit = find(data, needle, start, stop)
                    hits[place] = stop if hit < 0 else hit
            nearest = min(hits)
            end = data.find(b"\n", start, nearest)
            item = _ITEM.match(data, start, end) if plain and end >= 0 else None
            if item is not None:
                name = item[1] or item[2]
                # This is done for most lines of a dump: `_is_needless` would take twice as long for each.
                while end >= 0:
                    last = data.rfind(_TITLED, max(start, end - _TAIL), end)
                    if last < 0 and data[end - 3] != _QUOTE:
                        last = data.rfind(b"$", start, end)
                    following = end - 2 + len(_BORDER)
                    last = max(last, start)
                    if not (data.endswith(name, start, last) and data.startswith(_BORDER, end - 2)):
                        break
                    passed += 1
                    start = end + 1
                    name = data[following : data.find(b'"', following + 1, following + _ID)]
                    end = data.find(b"\n", start, nearest)
                if start >= stop:
                    break
            if end >= 0 and _is_needless(data, start, end, plain):
                passed += 1
                start = end + 1
                continue
            if end < 0:
                end = data.find(b"\n", start, stop)
            if end < 0:
                end = stop
                if end <= nearest and _is_needless(data, start, end, plain):
                    passed += 1
                    break
            yield passed, start, end
            passed = 0
            start = end + 1
        yield passed, stop, stop


def _is_needless(data: bytes, start: int, end: int, plain: bool) -> bool:
    """Whether a line that contains no needle, given without its newline, is that of one item.

    `plain`: it is known to be ASCII, and to disguise no letter by an escape.
    """
    item = _ITEM.match(data, start, end)
    if item is None or not data.endswith((b"},", b"}"), start, end):
        return False
    name = (item[1] or item[2])[1:]
    # Two lines joined between the title and the date of change would end without a title.
    is_dated = data.endswith((b'"},', b'"}'), start, end)
    if is_dated and data.find(_TITLED, max(start, end - _TAIL), end) < 0:
        return False
    if last_named(data, start, end) != name:
        return False
    if plain:
        return True
    line = data[start:end]
    try:
        line.decode()
    except UnicodeDecodeError:
        return False
    return all(find(line, escape) < 0 for escape in _ESCAPES)
