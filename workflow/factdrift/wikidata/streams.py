"""Compressed files as pieces that can be decompressed on their own, and as one stream.

A piece is a member of a gzip file, a block of a bzip2 file, a frame of a Zstandard file, or any range of a
plain file. Its place is the byte of the file at which it begins.
"""

import io
import mmap
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import BinaryIO, NamedTuple, Protocol, cast

from isal import isal_zlib
from stringzilla import find

from factdrift.core.errors import DamagedDump, InputError

READ_SIZE = 1 << 20
"""Bytes of text that are decompressed at a time."""

_GZIP, _BZIP2, ZSTANDARD = b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd"
SKIPPABLE = b"\x2a\x4d\x18"
"""Bytes 1 to 3 of a skippable frame of Zstandard, with which parallel compressors begin a file."""

_OTHERS = {b"\xfd7zX": "xz", b"PK\x03\x04": "zip", b"7z\xbc\xaf": "7z", b"\x04\x22\x4d\x18": "lz4"}
"""First bytes of archives that are not read."""

_ISAL_ERROR = cast("type[Exception]", isal_zlib.error)  # its stubs call the class an instance
DAMAGED = (EOFError, OSError, ValueError, zlib.error, _ISAL_ERROR)
"""What decompression raises for an archive that is truncated or corrupt."""


class Chunk(NamedTuple):
    """The text of one piece or of a part of it. `piece`: the byte of the file at which the piece begins."""

    piece: int
    text: bytes


class Pieces(Protocol):
    """A file in pieces."""

    def first(self, at: int) -> int:
        """The place of the first piece at byte `at` or later; the size of the file if there is none."""

    def chunks(self, start: int, end: int) -> Iterator[Chunk]:
        """The text from the piece at byte `start` on, to the end of the file.

        After the last piece that begins before byte `end` comes a chunk without text, whose `piece` is the
        place of the next one; no chunk holds text from both sides. Raises InputError that names the range of
        bytes in which the file is damaged.
        """


def file_size(path: Path) -> int:
    """Raises InputError if the file is missing, unreadable or empty."""
    try:
        with path.open("rb") as file:
            size = file.seek(0, io.SEEK_END)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path of the dump") from error
    if not size:
        raise DamagedDump(f"{path}: the file is empty; download the dump again")
    return size


def compression(path: Path) -> str:
    """`gzip`, `bzip2`, `zstd` or `none`, by the first bytes of the file.

    Raises InputError if the file is missing, unreadable, empty or an archive of another kind.
    """
    file_size(path)
    with path.open("rb") as file:
        magic = file.read(4)
    if magic.startswith(_GZIP):
        return "gzip"
    if magic.startswith(_BZIP2):
        return "bzip2"
    if magic == ZSTANDARD or (magic[0] & 0xF0 == 0x50 and magic[1:] == SKIPPABLE):
        return "zstd"
    if magic in _OTHERS:
        raise InputError(
            f"{path}: is a {_OTHERS[magic]} archive, which is not read; unpack it, or compress it with gzip, "
            "bzip2 or zstd"
        )
    return "none"


def damage(path: Path, start: int, end: int, error: object) -> DamagedDump:
    """The error for an archive that is damaged somewhere from byte `start` to byte `end`."""
    size = path.stat().st_size
    place = f"between compressed bytes {start:,} and {end:,} of {size:,}"
    return DamagedDump(
        f"{path}: the archive is truncated or corrupt {place} ({error}); download it again and compare its "
        "checksum"
    )


def places(file: BinaryIO, magic: bytes, at: int, end: int | None = None) -> Iterator[int]:
    """The places of some bytes in a file that is not empty, from byte `at` to `end`, ascending."""
    with mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as mapped, memoryview(mapped)[:end] as data:
        place: int = find(data, magic, at)
        while place >= 0:
            yield place
            place = find(data, magic, place + 1)


class PlainPieces:
    """A file that is not compressed: any byte begins a piece."""

    def __init__(self, path: Path) -> None:
        self._path = path

    def first(self, at: int) -> int:
        return at

    def chunks(self, start: int, end: int) -> Iterator[Chunk]:
        with self._path.open("rb", buffering=0) as file:
            file.seek(start)
            while start < end and (text := file.read(min(READ_SIZE, end - start))):
                yield Chunk(start, text)
                start += len(text)
            yield Chunk(start, b"")
            while text := file.read(READ_SIZE):
                yield Chunk(start, text)
                start += len(text)
