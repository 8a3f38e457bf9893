"""Dump files in every compression, made and read by the standard library."""

import bz2
import gzip
from collections.abc import Iterator
from pathlib import Path

import pyarrow as pa

from factdrift.wikidata.shares import Share, check_shares


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


COMPRESS = {"none": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "zstd": zstd}


def decompressed(path: Path) -> bytes:
    """The text of a dump file, compressed as its suffix says."""
    if path.suffix == ".zst":
        return bytes(pa.input_stream(str(path), compression="zstd").read())
    return {".gz": gzip.decompress, ".bz2": bz2.decompress}.get(path.suffix, bytes)(path.read_bytes())


def lines(path: Path) -> Iterator[tuple[int, int, bytes]]:
    """Line number (from 1), byte offset in the text, and text of every entity of a dump, as one shard."""
    share = Share(path)
    yield from share.lines()
    check_shares(share.path, [share.account])
