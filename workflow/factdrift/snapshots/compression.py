"""Writing dump files in Wikidata's layout: `[`, one entity a line, `]`; compressed by the file's suffix.

The bytes are a function of the lines alone. Gzip files are many members that begin on lines, as Wikidata's
own are, so that a reader can start in the middle; a comma between two of them stands in its own small member.
"""

from __future__ import annotations

import bz2
import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
from isal import igzip

from factdrift.settings import InputError
from factdrift.tables import atomic_path

MEMBER_SIZE = 4 << 20
"""Bytes of text after which a gzip member ends, if the caller does not say."""

_GZIP_LEVEL = 3


class _Sink(Protocol):
    def write(self, data: bytes, /) -> Any: ...


class DumpWriter:
    """Takes entities without line end and comma; writes them with the brackets and commas of a dump."""

    def __init__(self, sink: _Sink, member_size: int) -> None:
        self._sink, self._member_size = sink, member_size
        self._waiting: list[bytes] = []
        self._held = 0
        self._first = True
        sink.write(b"[\n")

    def write(self, line: bytes) -> None:
        """Adds one entity."""
        self._waiting.append(line)
        self._held += len(line)
        if self._held >= self._member_size:
            self._flush()

    def finish(self) -> None:
        """Writes what waits and closes the array."""
        self._flush()
        self._sink.write(b"]\n" if self._first else b"\n]\n")

    def _flush(self) -> None:
        if self._waiting:
            if not self._first:
                self._sink.write(b",\n")
            self._sink.write(b",\n".join(self._waiting))
            self._first = False
            self._waiting = []
            self._held = 0


class _GzipMembers:
    """Every write becomes a gzip member of its own, without time or name."""

    def __init__(self, file: _Sink) -> None:
        self._file = file

    def write(self, data: bytes) -> None:
        self._file.write(igzip.compress(data, _GZIP_LEVEL, mtime=0))


@contextlib.contextmanager
def dump_writer(path: str | Path, member_size: int = MEMBER_SIZE) -> Iterator[DumpWriter]:
    """A writer of a dump file, which takes its name only when the block ends well.

    `.json`, `.json.gz`, `.json.bz2` and `.json.zst` are written; anything else is an InputError.
    """
    path = Path(path)
    suffix = path.suffix
    if suffix not in (".json", ".gz", ".bz2", ".zst"):
        raise InputError(
            f"{path}: a dump is written as .json, .json.gz, .json.bz2 or .json.zst; rename the output"
        )
    with atomic_path(path) as temporary, contextlib.ExitStack() as open_files:
        sink: _Sink
        match suffix:
            case ".json":
                sink = open_files.enter_context(temporary.open("wb"))
            case ".gz":
                sink = _GzipMembers(open_files.enter_context(temporary.open("wb")))
            case ".bz2":
                sink = open_files.enter_context(bz2.BZ2File(temporary, "wb"))
            case _:
                sink = open_files.enter_context(pa.output_stream(str(temporary), compression="zstd"))
        writer = DumpWriter(sink, member_size)
        yield writer
        writer.finish()
