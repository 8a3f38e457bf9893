"""Writes dump files in Wikidata's layout: `[`, one entity per line, `]`; the suffix names the compression.

The bytes depend on the lines only. Gzip files consist of many members that begin at a line, as Wikidata's own
do, so that a reader can start in the middle; the comma between two members is a small member of its own.
"""

import bz2
import contextlib
import json
import re
from collections.abc import Callable, Iterator
from functools import partial
from json.encoder import encode_basestring_ascii
from pathlib import Path
from typing import IO, Any

import msgspec
from isal import igzip

from factdrift.core.errors import InputError
from factdrift.core.owned import atomic_path

MEMBER_SIZE = 4 << 20
"""Bytes of text after which a gzip member ends."""

_GZIP_LEVEL = 3
_BEYOND_ASCII = re.compile(rb"[^\x00-\x7f]+")


def php_json(value: Any) -> bytes:
    """JSON as PHP's json_encode writes it: without blanks, with all but ASCII and slashes escaped."""
    try:
        text = msgspec.json.encode(value).replace(b"/", b"\\/")
    except UnicodeEncodeError:  # half a pair of surrogates, which only Python's own encoder escapes
        text = json.dumps(value, separators=(",", ":")).encode().replace(b"/", b"\\/")
    if text.isascii():
        return text
    return _BEYOND_ASCII.sub(lambda run: encode_basestring_ascii(run[0].decode())[1:-1].encode(), text)


class DumpWriter:
    """Writes entities, given without line end and comma, with the brackets and commas of a dump."""

    def __init__(self, emit: Callable[[bytes], object], member_size: int) -> None:
        self._emit, self._member_size = emit, member_size
        self._waiting: list[bytes] = []
        self._size = 0
        self._first = True
        emit(b"[\n")

    def write(self, line: bytes) -> None:
        """Adds one entity."""
        self._waiting.append(line)
        self._size += len(line)
        if self._size >= self._member_size:
            self._flush()

    def finish(self) -> None:
        """Writes the buffered entities and the closing bracket."""
        self._flush()
        self._emit(b"]\n" if self._first else b"\n]\n")

    def _flush(self) -> None:
        if self._waiting:
            if not self._first:
                self._emit(b",\n")
            self._emit(b",\n".join(self._waiting))
            self._first = False
            self._waiting = []
            self._size = 0


def _emit_member(file: IO[bytes], data: bytes) -> None:
    """Writes a piece as a gzip member of its own, without time or name."""
    file.write(igzip.compress(data, _GZIP_LEVEL, mtime=0))


@contextlib.contextmanager
def dump_writer(path: str | Path, member_size: int = MEMBER_SIZE) -> Iterator[DumpWriter]:
    """A writer of a dump file that appears under its name only if the block ends without an exception.

    Raises InputError if `path` does not end in `.json`, `.json.gz`, `.json.bz2` or `.json.zst`.
    """
    path = Path(path)
    suffix = path.suffix
    if suffix not in (".json", ".gz", ".bz2", ".zst"):
        raise InputError(
            f"{path}: a dump is written as .json, .json.gz, .json.bz2 or .json.zst; rename the output"
        )
    with atomic_path(path) as temporary, contextlib.ExitStack() as open_files:
        emit: Callable[[bytes], object]
        match suffix:
            case ".json":
                emit = open_files.enter_context(temporary.open("wb")).write
            case ".gz":
                emit = partial(_emit_member, open_files.enter_context(temporary.open("wb")))
            case ".bz2":
                emit = open_files.enter_context(bz2.BZ2File(temporary, "wb")).write
            case _:
                import pyarrow as pa  # for this format alone

                emit = open_files.enter_context(pa.output_stream(str(temporary), compression="zstd")).write
        writer = DumpWriter(emit, member_size)
        yield writer
        writer.finish()
