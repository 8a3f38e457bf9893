"""Tenures by the statements of a single day, such as those of Wikidata's API, with the rules of dumps."""

from collections.abc import Iterable
from pathlib import Path

from factdrift.core.tables import database, sql
from factdrift.statements.extract import Choice, extract
from factdrift.statements.gather import SnapshotFiles, gather_bucket, gather_snapshot
from factdrift.streams.known import write_known
from factdrift.streams.timelines import create_statements
from factdrift.updates.filters import Items, Known, context, preprocess
from factdrift.updates.method import UpdateSettings


def write_newest(
    dump: Path, groups: Iterable[tuple[int, int]], day: int, method: UpdateSettings, folder: Path
) -> Path:
    """Writes TIMELINES into a folder. `groups`: subjects with a relation; `day`: that of the dump, packed.

    A relation whose constraint says so has a single value at a time, as where an update says it.
    """
    names = ("properties", "classes", "json", "statements", "entities", "relevant", "relations", "filtered")
    files = {name: folder / name for name in (*names, "kept", "known", "timelines")}
    extract(dump, Choice(scope="all"), folder / "shard")
    parts = SnapshotFiles(files["properties"], files["classes"], files["json"])
    gather_snapshot([folder / "shard"], dump, 0.0, parts)
    gather_bucket([folder / "shard"], 0, files["properties"], files["statements"], files["entities"])
    items = Items([files["entities"]], files["classes"])
    known = Known(files["relevant"], files["relations"])
    context(items, items, files["properties"], files["properties"], method, *known)
    preprocess(files["statements"], known, day, method, files["filtered"], files["kept"])
    with database() as db:
        pairs = ", ".join(f"({subject}, {relation})" for subject, relation in sorted(set(groups)))
        db.execute(
            f"""CREATE TEMP TABLE linked AS SELECT subject, property, 0 AS since,
                CASE WHEN temporal_functional THEN 0 END AS functional_since
            FROM (VALUES {pairs}) t(subject, property)
            LEFT JOIN read_parquet({sql(files["relations"])}) USING (property)"""
        )
        create_statements(db, [files["filtered"]])
        write_known(db, [day], {}, files["known"], files["timelines"])
    return files["timelines"]
