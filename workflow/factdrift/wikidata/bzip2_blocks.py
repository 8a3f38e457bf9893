"""Bzip2 files as blocks, found from any byte without an index, inside one stream and across several.

A block begins, at any bit, with a 48-bit magic number and its checksum; another magic number ends a stream.
Each block is decompressed as a stream of its own, so that damage is located to the block.
"""

import bz2
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple

import numpy as np
from stringzilla import find

from factdrift.wikidata.streams import DAMAGED, Chunk, check_padding, damage, file_size

_BLOCK, _END = 0x314159265359, 0x177245385090
_MAGIC_BITS, _CHECKSUM_BITS = 48, 32
_STREAM_HEADER = b"BZh"
_WINDOW = 1 << 20
_OVERLAP = 8
_PADDING_READ = 4096
_LARGEST_BLOCK = 2_000_000
"""Bytes of a compressed block; 900,000 symbols take less, however badly they compress."""


class _Mark(NamedTuple):
    """A magic number and the bit of the file at which it begins."""

    bit: int
    is_end: bool


def _patterns() -> list[tuple[bytes, int, int, bool]]:
    """For each magic number and bit shift: the bytes that it covers entirely, how many partly covered bytes
    (0 or 1) precede them, the shift, and whether it ends a stream."""
    patterns = []
    for number, is_end in ((_BLOCK, False), (_END, True)):
        for shift in range(8):
            shifted = (number << (8 - shift)).to_bytes(7, "big")
            patterns.append((shifted[1:6] if shift else shifted[:6], int(shift > 0), shift, is_end))
    return patterns


_PATTERNS = _patterns()


class Bzip2Blocks:
    """A bzip2 file in pieces."""

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = file_size(path)
        # First bit, end and text of the block that `first` found.
        self._known: tuple[int, int, bytes] | None = None

    def first(self, at: int) -> int:
        if at == 0:
            return 0
        with self._path.open("rb", buffering=0) as file:
            marks: list[_Mark] = []
            for mark in self._marks(file, at):
                marks.append(mark)
                # A magic number that occurs by chance is followed by bits that do not decompress.
                while len(marks) > 1 and not marks[0].is_end:
                    if (text := self._text(file, marks[0].bit, mark.bit)) is not None:
                        self._known = marks[0].bit, mark.bit, text
                        return marks[0].bit // 8
                    marks.pop(0)
                if marks[0].is_end:
                    marks.pop(0)
        return self._size

    def chunks(self, start: int, end: int) -> Iterator[Chunk]:
        begun: _Mark | None = None
        inside = start == 0
        with self._path.open("rb", buffering=0) as file, self._path.open("rb", buffering=0) as scanned:
            failed: _Mark | None = None
            for mark in self._marks(scanned, start):
                if begun is not None:
                    if (text := self._text(file, begun.bit, mark.bit)) is None:
                        if failed is not None:
                            end = -(-failed.bit // 8)
                            raise damage(self._path, begun.bit // 8, end, "checksum or structure")
                        failed = mark  # data may look like a magic number: try the next one
                        continue
                    failed = None
                    yield Chunk(begun.bit // 8, text)
                begun = None if mark.is_end else mark
                inside = begun is not None
                if mark.is_end:
                    self._check_end(file, mark)
                else:
                    yield Chunk(mark.bit // 8, b"")
        if begun is not None or inside:
            where = begun.bit // 8 if begun is not None else start
            last = self._size if failed is None else -(-failed.bit // 8)
            raise damage(self._path, where, last, "the file ends inside a block, or the block is damaged")
        yield Chunk(self._size, b"")

    def _check_end(self, file: BinaryIO, mark: _Mark) -> None:
        """Raises InputError unless another stream or nothing follows, perhaps after padding."""
        after = -(-(mark.bit + _MAGIC_BITS + _CHECKSUM_BITS) // 8)
        file.seek(after)
        next_ = b""
        while not next_ and (read := file.read(_PADDING_READ)):
            next_ = read.lstrip(b"\0")
        if after > self._size or not next_.startswith(_STREAM_HEADER[: len(next_)]):
            stop = min(file.tell(), self._size)
            raise damage(self._path, mark.bit // 8, stop, "what follows a stream is no stream")
        check_padding(self._path, after, file.tell() - len(next_), at_end=not next_)

    def _marks(self, file: BinaryIO, at: int) -> Iterator[_Mark]:
        """The magic numbers that begin in byte `at` or later, in ascending order."""
        begun = at  # of the window
        data = b""
        file.seek(at)
        while True:
            read = file.read(_WINDOW)
            data += read
            marks = []
            for pattern, byte, shift, is_end in _PATTERNS:
                position = find(data, pattern)
                while position >= 0:
                    bit = (position - byte) * 8 + shift
                    if bit >= 0 and _bits(data, bit, _MAGIC_BITS) == (_END if is_end else _BLOCK):
                        marks.append(_Mark(begun * 8 + bit, is_end))
                    position = find(data, pattern, position + 1)
            kept = max(len(data) - _OVERLAP, 0) if read else len(data)
            yield from sorted(mark for mark in marks if mark.bit // 8 - begun < kept)
            if not read:
                return
            data = data[kept:]
            begun += kept

    def _text(self, file: BinaryIO, bit: int, end: int) -> bytes | None:
        """The text of the block between two bits; None if they enclose no block."""
        if self._known is not None and self._known[:2] == (bit, end):
            text, self._known = self._known[2], None
            return text
        if end - bit <= _MAGIC_BITS + _CHECKSUM_BITS or end - bit > _LARGEST_BLOCK * 8:
            return None
        file.seek(bit // 8)
        data = file.read(-(-end // 8) - bit // 8)
        decompressor = bz2.BZ2Decompressor()
        try:
            text = decompressor.decompress(_single_block_stream(data, bit % 8, end - bit))
        except DAMAGED:
            return None
        return text if decompressor.eof else None


def _single_block_stream(data: bytes, shift: int, length: int) -> bytes:
    """A bzip2 stream of one block: the `length` bits of `data` from bit `shift` on."""
    if shift:
        numbers = np.frombuffer(data, np.uint8)
        moved = numbers << shift
        moved[:-1] |= numbers[1:] >> (8 - shift)
        data = moved.tobytes()
    whole, rest = divmod(length, 8)
    checksum = int.from_bytes(data[_MAGIC_BITS // 8 : (_MAGIC_BITS + _CHECKSUM_BITS) // 8], "big")
    tail = data[whole] >> (8 - rest) if rest else 0
    tail = ((tail << _MAGIC_BITS | _END) << _CHECKSUM_BITS) | checksum
    bits = rest + _MAGIC_BITS + _CHECKSUM_BITS
    padding = -bits % 8
    return b"BZh9" + data[:whole] + (tail << padding).to_bytes((bits + padding) // 8, "big")


def _bits(data: bytes, bit: int, length: int) -> int:
    """The `length` bits of `data` from `bit` on as a number; fewer at the end of the data."""
    last = bit + length
    number = int.from_bytes(data[bit // 8 : -(-last // 8)], "big")
    return (number >> (-last % 8)) & ((1 << length) - 1)
