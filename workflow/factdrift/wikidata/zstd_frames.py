"""Zstandard files as frames, found from any byte without an index.

Parallel compressors and the seekable format write many frames, `zstd` itself one. A frame is a chain of
blocks with their sizes (RFC 8878), so its end is found without decompressing it. A frame is recognised by its
magic number, by a chain that ends at another frame or at the end of the file, and by a first byte that
decompresses. Skippable frames hold no text and are skipped.
"""

from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO

import pyarrow as pa

from factdrift.wikidata import streams
from factdrift.wikidata.streams import DAMAGED, SKIPPABLE, ZSTANDARD, Chunk, damage, file_size, places

_LARGEST_HEADER = 18
_LARGEST_BLOCK = 1 << 17
_BLOCK_HEADER = 3
_RLE, _RESERVED = 1, 3
"""Types of blocks: one byte, repeated as often as the size says; and one that is invalid."""

_CHECKSUM = 4
_SKIPPABLE_HEADER = 8

ONE_FRAME_UP_TO = 1 << 30
"""A file whose first frame is longer than this counts as a file of one frame."""


class ZstandardFrames:
    """A Zstandard file in pieces."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = file_size(path)

    def first(self, at: int) -> int:
        if at == 0:
            return 0
        with self._path.open("rb", buffering=0) as file:
            return self._first(file, at)

    def are_several(self) -> bool:
        """Whether the file has several frames, so that shards can divide it."""
        with self._path.open("rb", buffering=0) as file:
            start = self._text_frame(file, 0)
            end = self._end(file, start, ONE_FRAME_UP_TO)
            return end is not None and self._text_frame(file, end) < self._size

    def chunks(self, start: int, end: int) -> Iterator[Chunk]:
        announced = False
        with self._path.open("rb", buffering=0) as file, pa.OSFile(str(self._path)) as source:
            start = self._text_frame(file, start)
            while start < self._size:
                if not announced and start >= end:
                    yield Chunk(start, b"")
                    announced = True
                stop = self._end(file, start)
                if stop is None or not self._may_follow(file, stop):
                    raise damage(self._path, start, self._first(file, start + 1), "no whole frame")
                with pa.CompressedInputStream(source.get_stream(start, stop - start), "zstd") as stream:
                    try:
                        while text := stream.read(streams.READ_SIZE):
                            yield Chunk(start, text)
                    except DAMAGED as error:
                        raise damage(self._path, start, stop, error) from error
                start = self._text_frame(file, stop)
        if not announced:
            yield Chunk(self._size, b"")

    def _first(self, file: BinaryIO, at: int) -> int:
        """The place of the first frame of text at byte `at` or later; the size of the file without one."""
        frames = (place for place in places(file, ZSTANDARD, at) if self._is_frame(file, place))
        return next(frames, self._size)

    def _is_frame(self, file: BinaryIO, start: int) -> bool:
        end = self._end(file, start)
        if end is None or not self._may_follow(file, end):
            return False
        with pa.OSFile(str(self._path)) as source:
            stream = pa.CompressedInputStream(source.get_stream(start, end - start), "zstd")
            try:
                stream.read(1)
            except DAMAGED:
                return False
        return True

    def _text_frame(self, file: BinaryIO, start: int) -> int:
        """`start`, or the end of the skippable frames that begin there."""
        while _is_skippable(header := _at(file, start, _SKIPPABLE_HEADER)):
            start += _SKIPPABLE_HEADER + int.from_bytes(header[4:], "little")
        if start > self._size:
            raise damage(self._path, self._size, self._size, "the file ends inside a skippable frame")
        return start

    def _may_follow(self, file: BinaryIO, at: int) -> bool:
        """Whether a frame can end at this byte."""
        header = _at(file, at, _SKIPPABLE_HEADER)
        return at == self._size or header.startswith(ZSTANDARD) or _is_skippable(header)

    def _end(self, file: BinaryIO, start: int, limit: int | None = None) -> int | None:
        """The end of the frame at `start`; None if there is no whole one (of at most `limit` bytes)."""
        header = _at(file, start, _LARGEST_HEADER)
        if len(header) <= len(ZSTANDARD) or not header.startswith(ZSTANDARD) or header[4] & 0x08:
            return None
        described = header[4]
        place = start + _header_size(described)
        last = False
        while not last:
            block = int.from_bytes(_at(file, place, _BLOCK_HEADER), "little")
            last, kind, size = bool(block & 1), block >> 1 & 3, block >> 3
            place += _BLOCK_HEADER + (1 if kind == _RLE else size)
            whole = place <= self._size and (limit is None or place <= start + limit)
            if not whole or kind == _RESERVED or size > _LARGEST_BLOCK:
                return None
        place += _CHECKSUM if described & 0x04 else 0
        return place if place <= self._size else None


def _at(file: BinaryIO, place: int, length: int) -> bytes:
    file.seek(place)
    return file.read(length)


def _is_skippable(header: bytes) -> bool:
    return len(header) == _SKIPPABLE_HEADER and header[0] & 0xF0 == 0x50 and header[1:4] == SKIPPABLE


def _header_size(described: int) -> int:
    """Bytes of a frame before its first block, by the descriptor byte that follows the magic number."""
    is_single = bool(described & 0x20)
    content_size = (int(is_single), 2, 4, 8)[described >> 6]
    dictionary = (0, 1, 2, 4)[described & 0x03]
    return len(ZSTANDARD) + 1 + (not is_single) + dictionary + content_size
