"""Dump files as a stream of lines: the one module of this package that touches files.

Wikidata publishes a dump as one JSON array with an entity a line: a line `[`, then `{...},` for every
entity, then `]`. JSON Lines (no brackets, no commas) are read by the same function. The kind of compression
is told by the first bytes of a file, not by its name; gzip files of many members, bzip2 files of many streams
and Zstandard files of many frames are read to their end.
"""

from __future__ import annotations

import bz2
import io
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import IO, Any, cast

import pyarrow as pa
from isal import igzip, isal_zlib

from factdrift.settings import InputError

READ_SIZE = 1 << 20
"""Bytes of text that are decompressed at a time."""

_GZIP, _BZIP2, _ZSTANDARD = b"\x1f\x8b", b"BZh", b"\x28\xb5\x2f\xfd"
_SKIPPABLE = b"\x2a\x4d\x18"
"""Bytes 1 to 3 of a Zstandard skippable frame, with which parallel compressors begin a file."""

_BYTE_ORDER_MARK = b"\xef\xbb\xbf"
_AROUND = b" \t\r\n,"

_ISAL_ERROR = cast("type[Exception]", isal_zlib.error)  # its stubs call the class an instance
_DAMAGED = (EOFError, OSError, zlib.error, _ISAL_ERROR)


def compression(path: str | Path) -> str:
    """`gzip`, `bzip2`, `zstd` or `none`, by the first bytes of the file.

    Raises InputError if the file is missing, unreadable or empty.
    """
    try:
        with Path(path).open("rb") as file:
            magic = file.read(4)
    except OSError as error:
        raise InputError(f"{path}: cannot be read ({error.strerror}); check the path of the dump") from error
    if not magic:
        raise InputError(f"{path}: the file is empty; download the dump again")
    if magic.startswith(_GZIP):
        return "gzip"
    if magic.startswith(_BZIP2):
        return "bzip2"
    if magic == _ZSTANDARD or (magic[0] & 0xF0 == 0x50 and magic[1:] == _SKIPPABLE):
        return "zstd"
    return "none"


def open_stream(path: str | Path) -> io.BufferedReader:
    """A buffered binary reader of the decompressed bytes of a file.

    Raises InputError, here or when read, if the file is missing, empty, truncated or corrupt.
    """
    path = Path(path)
    source: Any
    match compression(path):
        case "gzip":
            source = igzip.IGzipFile(path, "rb")  # type: ignore[no-untyped-call]
        case "bzip2":
            source = bz2.BZ2File(path, "rb")
        case "zstd":
            source = pa.input_stream(str(path), compression="zstd", buffer_size=READ_SIZE)
        case _:
            source = path.open("rb", buffering=0)
    return io.BufferedReader(_Decompressed(path, source), READ_SIZE)


def lines(path: str | Path) -> Iterator[tuple[int, int, bytes]]:
    """Line number (from 1), byte offset of the line in the decompressed text, and text, of every entity.

    White space, separating commas and the brackets of the array are taken off; lines that hold nothing else
    are passed over. Whether a text is JSON is not looked at. Raises InputError if the file cannot be read, or
    if a text that began with `[` ends without `]`.
    """
    opened = closed = False
    number = offset = 0
    with open_stream(path) as stream:
        for number, line in enumerate(stream, start=1):
            start = offset
            offset += len(line)
            if number == 1:
                line = line.removeprefix(_BYTE_ORDER_MARK)
            text = line.strip(_AROUND)
            if not opened and text.startswith(b"["):
                opened = True
                text = text[1:].lstrip(_AROUND)
            if text:
                closed = text == b"]" or text.endswith(b"}]")
                if closed:
                    text = text[:-1].rstrip(_AROUND)
                if text:
                    yield number, start, text
    if opened and not closed:
        raise InputError(
            f"{path}, line {number}: the dump is truncated, its closing ] is missing after {offset:,} bytes "
            "of text; download it again and compare its checksum"
        )


class _Decompressed(io.RawIOBase):
    """The decompressed bytes of a file; damage of the file becomes an InputError that names it."""

    def __init__(self, path: Path, source: IO[bytes]) -> None:
        self._path, self._source, self._offset = path, source, 0

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        view = memoryview(buffer).cast("B")
        try:
            part = self._source.read(len(view))
        except _DAMAGED as error:
            size = self._path.stat().st_size
            raise InputError(
                f"{self._path}: the archive is truncated or corrupt after {self._offset:,} bytes of text "
                f"({str(error) or type(error).__name__}; the file has {size:,} bytes); download it again and "
                "compare its checksum"
            ) from error
        view[: len(part)] = part
        self._offset += len(part)
        return len(part)

    def close(self) -> None:
        if not self.closed:
            self._source.close()
        super().close()
