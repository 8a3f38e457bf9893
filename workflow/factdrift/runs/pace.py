"""How fast this machine reads a dump, and how much text the dump has, measured on pieces of it."""

import contextlib
import io
import statistics
import time
from pathlib import Path
from typing import Any, NamedTuple, cast

from factdrift.core.errors import InputError
from factdrift.core.owned import scratch

PIECES = (8_000_000, 128_000_000)
"""Bytes of the file in a piece; the second if no member begins in pieces of the first (those of Wikidata have
about 70 MB)."""

PLACES = (0.3, 0.5, 0.8)
"""Where in the file the pieces begin: not at its beginning, where the best known items stand."""


class Pace(NamedTuple):
    """Bytes of text in a byte of the file, and CPU seconds that `statements extract` takes for its GB."""

    text_per_byte: float
    cpu_s_gb: float


def pace_of(dump: Path, scope: str) -> Pace | None:
    """Reads PLACES of a dump, which takes some seconds.

    None if the file has fewer than ten pieces or cannot be divided, or if it is damaged there, which is for
    the run to say.
    """
    # Only here, so that Snakemake starts without what reads dumps.
    from factdrift.statements.extract import extract
    from factdrift.statements.jobs import Extract
    from factdrift.wikidata.shares import Share

    size, kept = dump.stat().st_size, cast(Any, scope)
    found: list[Pace] = []
    for pieces in (size // each for each in PIECES):
        if found or pieces < 10:
            break
        with scratch() as folder, contextlib.redirect_stderr(io.StringIO()):
            try:
                if not Share(dump, 0, pieces).account.divided:
                    return None
                for shard in (int(place * pieces) for place in PLACES):
                    output = folder / str(shard)
                    job = Extract(
                        dump=dump, shard=shard, shards=pieces, scope=kept, names="held", output=output
                    )
                    start = time.process_time()
                    share = extract(job)["share"]
                    cpu = time.process_time() - start
                    if text := share["text_bytes"]:
                        found.append(Pace(text / (share["stop"] - share["first"]), cpu / text * 1e9))
            except InputError:
                return None
    # The first piece also takes what is done once in a process.
    return Pace(*map(statistics.median, zip(*found, strict=True))) if found else None
