"""The functions of the stage `statements`, called with the values that tests vary."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from factdrift.statements import gather
from factdrift.statements.extract import Choice
from factdrift.statements.extract import extract as extract_shard

gather_bucket = gather.gather_bucket


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
    choice = Choice(shard=shard, shards=shards, buckets=buckets, scope=scope, names=names, **more)
    return extract_shard(dump, choice, output)


def gather_snapshot(
    shard_dirs: Sequence[Path], dump: Path, max_bad_lines: float, *files: Path
) -> dict[str, Any]:
    """`files`: properties, classes, counts, and where the folders of the shards are moved to, if at all."""
    return gather.gather_snapshot(
        shard_dirs, dump, max_bad_lines, gather.SnapshotFiles(*files[:3]), *files[3:]
    )
