"""Dump files in every compression, made and read by the standard library."""

from __future__ import annotations

import bz2
import gzip
from pathlib import Path

import pyarrow as pa


def zstd(data: bytes) -> bytes:
    return bytes(pa.compress(data, codec="zstd", asbytes=True))


COMPRESS = {"none": bytes, "gzip": gzip.compress, "bzip2": bz2.compress, "zstd": zstd}


def decompressed(path: Path) -> bytes:
    """The text of a dump file, compressed as its suffix says."""
    if path.suffix == ".zst":
        return bytes(pa.input_stream(str(path), compression="zstd").read())
    return {".gz": gzip.decompress, ".bz2": bz2.decompress}.get(path.suffix, bytes)(path.read_bytes())
