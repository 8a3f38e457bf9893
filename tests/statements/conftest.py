"""Dumps written by hand, and the tables of a snapshot of one."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.shards import extract, gather_bucket, gather_snapshot


@dataclass
class Snapshot:
    """The gathered tables of a dump; statements and items of all buckets together, in total order."""

    statements: pa.Table
    entities: pa.Table
    properties: pa.Table
    classes: pa.Table
    summary: dict[str, Any]
    folder: Path

    def rows(self, subject: int) -> list[dict[str, Any]]:
        return [row for row in self.statements.to_pylist() if row["subject"] == subject]

    def entity(self, number: int) -> dict[str, Any]:
        (row,) = [row for row in self.entities.to_pylist() if row["id"] == number]
        return dict(row)

    def property(self, number: int) -> dict[str, Any]:
        (row,) = [row for row in self.properties.to_pylist() if row["id"] == number]
        return dict(row)


WriteDump = Callable[..., Path]
TakeSnapshot = Callable[..., Snapshot]


@pytest.fixture
def write_dump(tmp_path):
    """Writes entities (dictionaries, or lines as bytes) in the layout of a dump."""

    def write(*entities: dict[str, Any] | bytes, name: str = "dump.json") -> Path:
        path = tmp_path / name
        texts = [entity if isinstance(entity, bytes) else json.dumps(entity).encode() for entity in entities]
        path.write_bytes(b"[\n" + b",\n".join(texts) + b"\n]\n")
        return path

    return write


@pytest.fixture
def take_snapshot(tmp_path):
    """Extracts and gathers a dump."""

    def take(
        dump: Path,
        shards: int = 1,
        buckets: int = 1,
        scope: str = "all",
        max_bad_lines: float = 0.0,
        names: str = "all",
    ) -> Snapshot:
        folder = tmp_path / f"{dump.name}-{shards}-{buckets}-{scope}-{names}"
        shard_dirs = [folder / f"{shard}-of-{shards}" for shard in range(shards)]
        for shard, shard_dir in enumerate(shard_dirs):
            extract(dump, shard, shards, buckets, scope, shard_dir, names)
        properties, classes = folder / "properties.parquet", folder / "classes.parquet"
        together = folder / "together"
        summary = gather_snapshot(
            shard_dirs, dump, max_bad_lines, properties, classes, folder / "snapshot.json", together
        )
        statements = [folder / "statements" / f"{bucket}.parquet" for bucket in range(buckets)]
        entities = [folder / "entities" / f"{bucket}.parquet" for bucket in range(buckets)]
        for bucket in range(buckets):
            gather_bucket([together], bucket, properties, statements[bucket], entities[bucket])
        return Snapshot(
            pa.concat_tables([pq.read_table(path) for path in statements]).sort_by(
                [("subject", "ascending"), ("position", "ascending")]
            ),
            pa.concat_tables([pq.read_table(path) for path in entities]).sort_by("id"),
            pq.read_table(properties),
            pq.read_table(classes),
            summary,
            folder,
        )

    return take
