"""The commands of `factdrift statements`, called with the values that tests vary."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from factdrift.statements import extract as extracting
from factdrift.statements import gather as gathering
from factdrift.statements.jobs import Extract, Gather, Snapshot


def extract(
    dump: Path,
    shard: int,
    shards: int,
    buckets: int,
    scope: Any,
    output: Path,
    names: Any = "all",
    **more: Any,
) -> dict[str, Any]:
    given = {"dump": dump, "scope": scope, "names": names, "output": output, **more}
    return extracting.extract(Extract(shard=shard, shards=shards, buckets=buckets, **given))


def gather_snapshot(
    shard_dirs: Sequence[Path],
    dump: Path,
    max_bad_lines: float,
    properties: Path,
    classes: Path,
    json: Path,
    together: Path | None = None,
) -> dict[str, Any]:
    outputs = {"properties": properties, "classes": classes, "json": json, "together": together}
    job = Snapshot(shard_dirs=tuple(shard_dirs), dump=dump, max_bad_lines=max_bad_lines, **outputs)
    return gathering.gather_snapshot(job)


def gather_bucket(
    shard_dirs: Sequence[Path], bucket: int, properties: Path, statements: Path, entities: Path, **more: Any
) -> None:
    line = {"shard_dirs": tuple(shard_dirs), "bucket": bucket, "properties": properties}
    Gather(**line, statements=statements, entities=entities, **more).run()
