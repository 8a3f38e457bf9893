"""Gzip files as concatenated members, found from any byte without an index.

Wikidata's dumps are some 2,000 members of about 70 MB, each a batch of entities; parallel compressors write
members too. A member is recognised by its header and by the text that follows it: the three fixed bytes of a
header alone occur some thousand times in a dump by chance.
"""

import re
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO

from isal import isal_zlib

from factdrift.wikidata.streams import DAMAGED, Chunk, damage, file_size, places

_MAGIC = b"\x1f\x8b\x08"
_HEADER = re.compile(rb"\x1f\x8b\x08[\x00-\x1f].{4}[\x00\x02\x04][\x00-\x0d\xff]", re.DOTALL)
"""Magic, method, flags, time, extra flags, operating system (RFC 1952)."""

_NO_TEXT = re.compile(rb"[\x00-\x08\x0b\x0c\x0e-\x1f]")
"""What JSON must escape; it need not escape the byte 7F."""

_PROBED = 1 << 16
_ENOUGH_TEXT = 256

_COMPRESSED_READ = 1 << 16
"""Bytes that are decompressed at a time, to about ten times as many.

It is part of the result: the order of the items is looked at once in each (`wikidata/course.py`), so with
more of them at a time fewer jumps would be seen.
"""

_WBITS_GZIP = 31

ONE_MEMBER_UP_TO = 1 << 30
"""A file in which no member begins between bytes `_TINY` and this one counts as a file of one member."""

_TINY = 64
"""Wikidata's files begin with a member of the opening bracket alone, of this size at most."""


class GzipMembers:
    """A gzip file in pieces."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = file_size(path)

    def first(self, at: int) -> int:
        return 0 if at == 0 else self._first(at, self._size)

    def are_several(self) -> bool:
        """Whether the file has several members, so that shards can divide it."""
        end = min(self._size, ONE_MEMBER_UP_TO)
        return self._first(_TINY, end) < end

    def _first(self, at: int, end: int) -> int:
        """The place of the first member from byte `at` to `end`; the size of the file if there is none."""
        with self._path.open("rb") as file:
            for place in places(file, _MAGIC, at, end):
                file.seek(place)
                if _is_member(file.read(_PROBED)):
                    return place
        return self._size

    def chunks(self, start: int, end: int) -> Iterator[Chunk]:
        announced = False
        with self._path.open("rb", buffering=0) as file:
            file.seek(start)
            waiting = b""
            while True:
                read = waiting or file.read(_COMPRESSED_READ)
                waiting = read.lstrip(b"\0")  # some programs pad members with zeros
                if read and not waiting:
                    continue
                start = file.tell() - len(waiting)
                if not announced and start >= end:
                    yield Chunk(start, b"")
                    announced = True
                if not waiting:
                    break
                waiting = yield from self._member(file, start, waiting)
            if not announced:
                yield Chunk(self._size, b"")

    def _member(self, file: BinaryIO, start: int, waiting: bytes) -> Generator[Chunk, None, bytes]:
        """Yields the text of the member at byte `start`; returns what was read beyond its end."""
        inflate = isal_zlib.decompressobj(_WBITS_GZIP)
        try:
            while not inflate.eof:
                if not waiting:
                    raise EOFError("the file ends inside a member")
                text = inflate.decompress(waiting)
                if text:
                    yield Chunk(start, text)
                if not inflate.eof:
                    waiting = file.read(_COMPRESSED_READ)
        except DAMAGED as error:
            raise damage(self._path, start, self._first(start + 1, self._size), error) from error
        return bytes(inflate.unused_data)


def _is_member(data: bytes) -> bool:
    """Whether `data` begins with a gzip member of text, complete or not."""
    if not _HEADER.match(data):
        return False
    inflate = isal_zlib.decompressobj(_WBITS_GZIP)
    try:
        text = inflate.decompress(data, _ENOUGH_TEXT)
    except DAMAGED:
        return False
    return (inflate.eof or len(text) >= _ENOUGH_TEXT) and not _NO_TEXT.search(text)
