"""Compressed files as pieces that can be decompressed on their own, found from any byte without an index.

A piece is a member of a gzip file, a block of a bzip2 file (`bzip2_blocks`), a frame of a Zstandard file, or
any range of a plain file. Its place is the byte of the file at which it begins.
"""

import io
import mmap
import re
import zlib
from collections.abc import Generator, Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol, cast

import pyarrow as pa
from isal import isal_zlib
from stringzilla import find

from factdrift.core.errors import DamagedDump, InputError

READ_SIZE = 1 << 20
"""Bytes of text that are decompressed at a time."""

_GZIP, _BZIP2, ZSTANDARD = b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"
"""Bytes 1 to 3 of a skippable frame of Zstandard, with which parallel compressors begin a file."""

_ISAL_ERROR = cast("type[Exception]", isal_zlib.error)  # its stubs call the class an instance
DAMAGED = (EOFError, OSError, ValueError, zlib.error, _ISAL_ERROR)
"""What decompression raises for an archive that is truncated or corrupt."""


PADDING = 512
"""Zeros between two pieces that count as padding, a record of a tape; more have replaced a piece."""


class Chunk(NamedTuple):
    """The text of one piece or of a part of it. `piece`: the byte of the file at which the piece begins.

    `checked`: a checksum covers the whole piece, so that none of its text is missing.
    """

    piece: int
    text: bytes
    checked: bool = True


class Pieces(Protocol):
    """A file in pieces."""

    def first(self, at: int) -> int:
        """The place of the first piece at byte `at` or later; the size of the file if there is none."""

    def chunks(self, start: int, end: int) -> Iterator[Chunk]:
        """The text from the piece at byte `start` on, to the end of the file.

        A chunk without text comes before each piece, and at the end of the file; a piece begins at byte
        `end` if any byte may begin one. Raises InputError that names the range of bytes in which the file is
        damaged.
        """


def file_size(path: Path) -> int:
    """Raises InputError if the file is missing, unreadable or empty."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, io.SEEK_END)
    except OSError as error:
        fault = error.strerror or "a pipe, whose parts cannot be read in any order"
        raise InputError(f"{path}: cannot be read ({fault}); name the file of the dump") from error
    if not size:
        raise DamagedDump(f"{path}: the file is empty; download the dump again")
    return size


def compression(path: Path) -> str:
    """`gzip`, `bzip2`, `zstd` or `none`, by the first bytes of the file.

    Raises InputError if the file is missing, unreadable or empty.
    """
    file_size(path)
    with path.open("rb") as file:
        magic = file.read(4)
    if magic.startswith(_GZIP):
        return "gzip"
    if magic.startswith(_BZIP2):
        return "bzip2"
    if magic == ZSTANDARD or (magic[0] & 0xF0 == 0x50 and magic[1:] == _SKIPPABLE):
        return "zstd"
    return "none"


def damage(path: Path, start: int, end: int, error: object) -> DamagedDump:
    """The error for an archive that is damaged somewhere from byte `start` to byte `end`."""
    return DamagedDump(
        f"{path}: the archive is truncated or corrupt between compressed bytes {start:,} and {end:,} of "
        f"{path.stat().st_size:,} ({error}); download it again and compare its checksum"
    )


def check_padding(path: Path, start: int, end: int, at_end: bool) -> None:
    """Raises DamagedDump if more zeros are before another piece than any program writes as padding."""
    if not at_end and end - start > PADDING:
        raise damage(path, start, end, f"{end - start:,} zeros in the place of text")


def occurrences(file: BinaryIO, magic: bytes, at: int, end: int | None = None) -> Iterator[int]:
    """The places of some bytes in a file that is not empty, from byte `at` to `end`, ascending."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped)[:end] as data:
        position: int = find(data, magic, at)
        while position >= 0:
            yield position
            position = find(data, magic, position + 1)


class PlainPieces:
    """A file that is not compressed: any byte begins a piece."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def first(self, at: int) -> int:
        return at

    def chunks(self, start: int, end: int) -> Iterator[Chunk]:
        with self._path.open("rb", buffering=0) as file:
            file.seek(start)
            while True:
                yield Chunk(start, b"")
                text = file.read(min(READ_SIZE, end - start) if start < end else READ_SIZE)
                if not text:
                    return
                yield Chunk(start, text, checked=False)
                start += len(text)


_GZIP_MEMBER = b"\x1f\x8b\x08"
_GZIP_HEADER = re.compile(rb"\x1f\x8b\x08[\x00-\x1f].{4}[\x00\x02\x04][\x00-\x0d\xff]", re.DOTALL)
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

MEMBER_LIMIT = 1 << 30
"""A file in which no member begins between bytes `_TINY` and this one counts as a file of one member."""

_TINY = 64
"""Wikidata's files begin with a member of the opening bracket alone, of this size at most."""


class GzipMembers:
    """A gzip file in pieces.

    Wikidata's dumps are some 2,000 members of about 70 MB, each a batch of entities; parallel compressors
    write members too. A member is recognised by its header and by the text that follows it: the three fixed
    bytes of a header alone occur some thousand times in a dump by chance.
    """

    def __init__(self, path: Path) -> None:
        self._path = path
        self._size = file_size(path)

    def first(self, at: int) -> int:
        return 0 if at == 0 else self._first(at, self._size)

    def are_several(self) -> bool:
        """Whether the file has several members, so that shards can divide it."""
        end = min(self._size, MEMBER_LIMIT)
        return self._first(_TINY, end) < end

    def _first(self, at: int, end: int) -> int:
        """The place of the first member from byte `at` to `end`; the size of the file if there is none."""
        with self._path.open("rb") as file:
            for position in occurrences(file, _GZIP_MEMBER, at, end):
                file.seek(position)
                if _is_member(file.read(_PROBED)):
                    return position
        return self._size

    def chunks(self, start: int, end: int) -> Iterator[Chunk]:
        with self._path.open("rb", buffering=0) as file:
            file.seek(start)
            waiting = b""
            ended = start  # the end of the member before
            while True:
                read = waiting or file.read(_COMPRESSED_READ)
                waiting = read.lstrip(b"\0")  # some programs pad members with zeros
                if read and not waiting:
                    continue
                start = file.tell() - len(waiting)
                check_padding(self._path, ended, start, at_end=not waiting)
                yield Chunk(start, b"")
                if not waiting:
                    return
                waiting = yield from self._member(file, start, waiting)
                ended = file.tell() - len(waiting)

    def _member(self, file: BinaryIO, start: int, waiting: bytes) -> Generator[Chunk, None, bytes]:
        """Yields the text of the member at byte `start`; returns what was read beyond its end."""
        inflate = isal_zlib.decompressobj(_WBITS_GZIP)
        try:
            while not inflate.eof:
                if not waiting:
                    raise EOFError("the file ends inside a member")
                if text := inflate.decompress(waiting):
                    yield Chunk(start, text)
                if not inflate.eof:
                    waiting = file.read(_COMPRESSED_READ)
        except DAMAGED as error:
            # Where the next member begins says how much is lost; far behind it is not looked for.
            end = self._first(start + 1, min(self._size, start + MEMBER_LIMIT))
            raise damage(self._path, start, end, error) from error
        return bytes(inflate.unused_data)


def _is_member(data: bytes) -> bool:
    """Whether `data` begins with a gzip member of text, complete or not."""
    if not _GZIP_HEADER.match(data):
        return False
    inflate = isal_zlib.decompressobj(_WBITS_GZIP)
    try:
        text = inflate.decompress(data, _ENOUGH_TEXT)
    except DAMAGED:
        return False
    return (inflate.eof or len(text) >= _ENOUGH_TEXT) and not _NO_TEXT.search(text)


_LARGEST_FRAME_HEADER = 18
_LARGEST_BLOCK = 1 << 17
_BLOCK_HEADER = 3
_RLE, _RESERVED = 1, 3
"""Types of blocks: one byte, repeated as often as the size says; and one that is invalid."""

_CHECKSUM = 4
_HAS_CHECKSUM = 0x04
_SKIPPABLE_HEADER = 8
_WIDEST_WINDOW = 1 << 27
"""Bytes to which a frame may refer back; the reader takes no more (`zstd` neither, without `--long`)."""

FRAME_LIMIT = 1 << 30
"""A file whose first frame is longer than this counts as a file of one frame."""


class ZstandardFrames:
    """A Zstandard file in pieces.

    Parallel compressors and the seekable format write many frames, `zstd` itself one. A frame is a chain of
    blocks with their sizes (RFC 8878), so its end is found without decompressing it. A frame is recognised by
    its magic number, by a chain that ends at another frame or at the end of the file, and by a first byte
    that decompresses. Skippable frames hold no text and are skipped.
    """

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
            end = self._end(file, start, FRAME_LIMIT)
            return end is not None and self._text_frame(file, end) < self._size

    def chunks(self, start: int, end: int) -> Iterator[Chunk]:
        with self._path.open("rb", buffering=0) as file, pa.OSFile(str(self._path)) as source:
            start = self._text_frame(file, start)
            yield Chunk(start, b"")
            while start < self._size:
                checked = bool(_at(file, start, len(ZSTANDARD) + 1)[-1] & _HAS_CHECKSUM)
                stop = self._end(file, start)
                if stop is None or not self._may_follow(file, stop):
                    following = self._first(file, start + 1, start + MEMBER_LIMIT)
                    raise damage(self._path, start, following, "no whole frame")
                self._check_readable(_at(file, start, _LARGEST_FRAME_HEADER))
                with pa.CompressedInputStream(source.get_stream(start, stop - start), "zstd") as stream:
                    try:
                        while text := stream.read(READ_SIZE):
                            yield Chunk(start, text, checked)
                    except DAMAGED as error:
                        raise damage(self._path, start, stop, error) from error
                start = self._text_frame(file, stop)
                yield Chunk(start, b"")

    def _check_readable(self, header: bytes) -> None:
        """Raises InputError for a frame with a dictionary, or with a window that the reader does not take."""
        described = header[4]
        first = len(ZSTANDARD) + 1 + (not described & _SINGLE_SEGMENT)
        stop = first + _dictionary_size(described)
        if any(header[first:stop]):
            raise InputError(
                f"{self._path}: was compressed with a Zstandard dictionary, which is not in the file; "
                "decompress it with `zstd -d -D DICTIONARY`"
            )
        if described & _SINGLE_SEGMENT:
            window = int.from_bytes(header[stop : stop + _content_size(described)], "little")
        else:
            window = (1 << 10 + (header[5] >> 3)) * (8 + (header[5] & 7)) // 8
        if window > _WIDEST_WINDOW:
            raise InputError(
                f"{self._path}: has a Zstandard window of {window:,} bytes, and {_WIDEST_WINDOW:,} are the "
                "most that is read; the file is not damaged: recompress it with "
                f"`zstd -dc --long=31 {self._path.name} | zstd -o NEW.zst`"
            )

    def _first(self, file: BinaryIO, at: int, end: int | None = None) -> int:
        """The place of the first frame of text from byte `at` to `end`; the size of the file without one."""
        places = occurrences(file, ZSTANDARD, at, end)
        return next((place for place in places if self._is_frame(file, place)), self._size)

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
        header = _at(file, start, _LARGEST_FRAME_HEADER)
        if len(header) <= len(ZSTANDARD) or not header.startswith(ZSTANDARD) or header[4] & 0x08:
            return None
        described = header[4]  # the descriptor byte that follows the magic number
        sizes = _dictionary_size(described) + _content_size(described) + (not described & _SINGLE_SEGMENT)
        position = start + len(ZSTANDARD) + 1 + sizes
        last = False
        while not last:
            block = int.from_bytes(_at(file, position, _BLOCK_HEADER), "little")
            last, kind, size = bool(block & 1), block >> 1 & 3, block >> 3
            position += _BLOCK_HEADER + (1 if kind == _RLE else size)
            whole = position <= self._size and (limit is None or position <= start + limit)
            if not whole or kind == _RESERVED or size > _LARGEST_BLOCK:
                return None
        position += _CHECKSUM if described & _HAS_CHECKSUM else 0
        return position if position <= self._size else None


def _at(file: BinaryIO, position: int, length: int) -> bytes:
    file.seek(position)
    return file.read(length)


def _is_skippable(header: bytes) -> bool:
    return len(header) == _SKIPPABLE_HEADER and header[0] & 0xF0 == 0x50 and header[1:4] == _SKIPPABLE


_SINGLE_SEGMENT = 0x20


def _content_size(described: int) -> int:
    return (int(bool(described & _SINGLE_SEGMENT)), 2, 4, 8)[described >> 6]


def _dictionary_size(described: int) -> int:
    return (0, 1, 2, 4)[described & 0x03]
