"""Dumps written by hand, and the tables of a snapshot of one."""

import functools
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.shards import extract, gather_bucket, gather_snapshot


@dataclass
class Snapshot:
    """The gathered tables of a dump; those of all buckets together, in total order."""

    statements: pa.Table
    entities: pa.Table
    translations: pa.Table
    properties: pa.Table
    classes: pa.Table
    summary: dict[str, Any]
    folder: Path


def snapshot_of(
    folder: Path,
    dump: Path,
    shards: int = 1,
    buckets: int = 1,
    scope: str = "all",
    max_bad_lines: float = 0.0,
    names: str = "all",
    languages: tuple[str, ...] = (),
) -> Snapshot:
    """The snapshot of a dump, in a folder of its own under `folder`."""
    folder = folder / f"{dump.name}-{shards}-{buckets}-{scope}-{names}"
    shard_dirs = [folder / f"{shard}-of-{shards}" for shard in range(shards)]
    for shard, shard_dir in enumerate(shard_dirs):
        extract(dump, shard, shards, buckets, scope, shard_dir, names, languages=languages)
    files = ("properties.parquet", "classes.parquet", "snapshot.json", "together")
    properties, classes, _, together = outputs = [folder / name for name in files]
    summary = gather_snapshot(shard_dirs, dump, max_bad_lines, *outputs)
    tables = []
    for bucket in range(buckets):
        paths = [folder / name / f"{bucket}.parquet" for name in ("statements", "entities", "translations")]
        gather_bucket([together], bucket, properties, paths[0], paths[1], translations=paths[2])
        tables.append([pq.read_table(path) for path in paths])
    statements, entities, translations = map(pa.concat_tables, zip(*tables, strict=True))
    statements = statements.sort_by([("subject", "ascending"), ("position", "ascending")])
    translations = translations.sort_by([("id", "ascending"), ("language", "ascending")])
    of_all = (pq.read_table(properties), pq.read_table(classes), summary, folder)
    return Snapshot(statements, entities.sort_by("id"), translations, *of_all)


DATATYPES = {"wikibase-entityid": "wikibase-item"}
"""Datatypes that are named otherwise than the kind of their values."""


def snak(property_id: str, kind: str | None, value: Any = None, **fields: Any) -> dict[str, Any]:
    """A snak of a value of this kind, without a field that is None; `kind` None: `value` is the snak type."""
    if kind is None:
        return {"snaktype": value, "property": property_id, "datatype": "time", **fields}
    data = {"type": kind, "value": value}
    made = {"snaktype": "value", "property": property_id, "datatype": DATATYPES.get(kind, kind), **fields}
    return {name: field for name, field in made.items() if field is not None} | {"datavalue": data}


def linked(number: int) -> dict[str, Any]:
    """The value that names an item."""
    return {"entity-type": "item", "numeric-id": number, "id": f"Q{number}"}


def claim(main: dict[str, Any], *qualifiers: dict[str, Any], **fields: Any) -> dict[str, Any]:
    grouped: dict[str, list[Any]] = {}
    for qualifier in qualifiers:
        grouped.setdefault(qualifier["property"], []).append(qualifier)
    known = {"mainsnak": main, "type": "statement", "id": "q1$a", "rank": "normal", "qualifiers": grouped}
    return {**known, **fields}


def entity(identity: str, *claims: dict[str, Any], **fields: Any) -> dict[str, Any]:
    grouped: dict[str, list[Any]] = {}
    for statement in claims:
        grouped.setdefault(statement["mainsnak"]["property"], []).append(statement)
    return {"id": identity, "type": "item", "claims": grouped, **fields}


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
    """Extracts and gathers a dump, into folders of this test."""
    return functools.partial(snapshot_of, tmp_path)
