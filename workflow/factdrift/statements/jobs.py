"""Jobs that write a dump as tables."""

from pathlib import Path
from typing import Annotated, Literal

from factdrift.core.jobs import Flag, Job, Key, Output, Paths, Role


class Extract(Job, command="statements extract"):
    """Write one shard of a dump as tables split by subject."""

    dump: Annotated[Path, "dump file, compressed or not"]
    shard: Annotated[int, "number of the shard, from 0"] = 0
    shards: Annotated[int, "number of shards"] = 1
    buckets: Annotated[int, "number of subject buckets"] = 1
    scope: Annotated[Literal["enwiki", "anywiki", "all"], Key("scope")]
    names: Annotated[
        Literal["held", "all"],
        "items without full statements that still get a row: classes and units (held) or every one (all)",
    ] = "all"
    languages: Annotated[
        tuple[str, ...], "languages other than English whose terms are kept", Flag("CODE")
    ] = ()
    output: Annotated[Output, "folder of the shard"]

    def run(self) -> None:
        from factdrift.statements.extract import Choice, extract

        extract(self.dump, self.fill(Choice), self.output)


class OfShards(Job):
    shard_dirs: Annotated[Paths, "folders of all shards, or the one that holds them"]
    memory: Annotated[int, "megabytes of memory before spilling to disk"] = 1000


class Gather(OfShards, command="statements gather"):
    """Write one bucket of all shards as tables of the snapshot."""

    bucket: Annotated[int, "number of the bucket, from 0"]
    properties: Annotated[Path, "the snapshot's properties.parquet"]
    statements: Annotated[Output, "statements of the bucket"]
    entities: Annotated[Output, "items of the bucket"]
    translations: Annotated[Output | None, "terms in other languages of the bucket"] = None

    def run(self) -> None:
        from factdrift.statements.gather import gather_bucket

        files = self.properties, self.statements, self.entities, self.translations
        gather_bucket(self.shard_dirs, self.bucket, *files, self.memory)


class Snapshot(OfShards, command="statements snapshot"):
    """Write properties, classes and counts of all shards."""

    dump: Annotated[Path, "the dump that the shards were read from"]
    # A resource, since another limit is no reason to make a finished snapshot again.
    max_bad_lines: Annotated[float, Key("max_bad_lines"), Role("resources")]
    properties: Output
    classes: Output
    json: Annotated[Output, "snapshot.json: counts"]
    together: Annotated[Output | None, "folder that the folders of the shards are moved to at the end"] = None

    def run(self) -> None:
        from factdrift.statements.gather import SnapshotFiles, gather_snapshot

        files = SnapshotFiles(self.properties, self.classes, self.json)
        gather_snapshot(self.shard_dirs, self.dump, self.max_bad_lines, files, self.together, self.memory)
