"""A dump by hand: the lines of a few entities, and the source over the tables that are made of them."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq

from factdrift.core.tables import database
from factdrift.tempripple.table_source import EDGES, ROWS, TableSource, make_rows
from support.ripples import RELATIONS
from support.shards import extract, gather_bucket, gather_snapshot
from support.worlds import GREGORIAN, JULIAN


def snak(relation: str, value: Any, kind: str = "value") -> dict[str, Any]:
    if kind != "value":
        return {"property": relation, "snaktype": kind}
    match value:
        case int():
            datavalue = {"type": "wikibase-entityid", "value": {"id": f"Q{value}", "entity-type": "item"}}
        case str():
            datavalue = {"type": "string", "value": value}
        case {"text": _}:
            datavalue = {"type": "monolingualtext", "value": value}
        case {"time": _}:
            datavalue = {"type": "time", "value": value}
        case _:
            datavalue = {"type": "wikibase-entityid", "value": value}
    return {"property": relation, "snaktype": "value", "datavalue": datavalue}


def date(stamp: str, precision: int, calendar: str = GREGORIAN) -> dict[str, Any]:
    return {"time": stamp, "precision": precision, "calendarmodel": calendar}


def statement(
    name: str, main: dict[str, Any], *qualifiers: dict[str, Any], rank: str = "normal"
) -> dict[str, Any]:
    grouped: dict[str, list[dict[str, Any]]] = {}
    for each in qualifiers:
        grouped.setdefault(each["property"], []).append(each)
    return {"id": name, "mainsnak": main, "rank": rank, "qualifiers": grouped}


def item(number: int, *statements: dict[str, Any], **more: Any) -> dict[str, Any]:
    claims: dict[str, list[dict[str, Any]]] = {}
    for each in statements:
        claims.setdefault(each["mainsnak"]["property"], []).append(each)
    return {"id": f"Q{number}", "type": "item", "claims": claims, **more}


MAY, JUNE = date("+2020-05-00T00:00:00Z", 10), date("+2020-06-03T00:00:00Z", 11)

ENTITIES = [
    item(
        1,
        statement("q1$a", snak("P6", 10), snak("P580", MAY), snak("P580", JUNE), snak("P642", 5)),
        statement("Q1$b", snak("P6", 11), snak("P582", None, "somevalue"), rank="preferred"),
        statement("Q1$c", snak("P6", None, "somevalue"), snak("P582", None, "novalue")),
        statement("Q1$d", snak("P6", None, "novalue"), snak("P580", None, "somevalue")),
        statement("Q1$e", snak("P6", 12), rank="deprecated"),
        statement("Q1$f", snak("P6", {"id": "L7", "entity-type": "lexeme"})),
        statement("Q1$g", snak("P6", {"id": "P7", "entity-type": "property"})),
        statement("Q1$h", snak("P6", 13), snak("P582", JUNE), snak("P582", None, "somevalue")),
        statement("Q1$i", snak("P6", 14), snak("P582", date("yesterday", 11))),
        statement("Q1$j", snak("P999", 14)),
        labels={"en": {"language": "en", "value": "one"}, "mul": {"language": "mul", "value": "eins"}},
        aliases={"en": [{"language": "en", "value": v} for v in ("uno", "ace", "uno")]},
    ),
    item(
        2,
        statement("Q2$a", snak("P569", date("+1582-10-04T00:00:00Z", 11, JULIAN))),
        statement("Q2$b", snak("P569", date("+1582-00-00T00:00:00Z", 9, JULIAN))),
        statement("Q2$c", snak("P569", date("+0000-00-00T00:00:00Z", 9))),
        statement("Q2$d", snak("P1477", {"language": "pl", "text": 'Ma\u0142gorzata "M"'})),
        statement("Q2$e", snak("P297", "GB")),
        statement("Q2$f", snak("P31", 5), rank="preferred"),
        statement("Q2$g", snak("P31", 6)),
        labels={"mul": {"language": "mul", "value": "zwei"}, "de": {"language": "de", "value": "Zwei"}},
    ),
    item(
        3,
        statement("Q3$a", snak("P279", 4)),
        statement("Q3$b", snak("P279", 4)),
        labels={"de": {"language": "de", "value": "drei"}},
    ),
    {
        "id": "P6",
        "type": "property",
        "datatype": "wikibase-item",
        "labels": {"en": {"language": "en", "value": "head of government"}},
        "claims": {},
    },
]


@contextmanager
def source(folder: Path, buckets: int = 2, scope: str = "all") -> Iterator[TableSource]:
    dump = folder / "dump.json"
    dump.write_text("[\n" + ",\n".join(json.dumps(each) for each in ENTITIES) + "\n]\n", encoding="utf-8")
    shard = folder / "shard"
    extract(dump, 0, 1, buckets, scope, shard)
    properties = folder / "properties.parquet"
    gather_snapshot([shard], dump, 0, properties, folder / "classes.parquet", folder / "snapshot.json")
    paths: dict[str, list[Path]] = {"rows": [], "edges": [], "entities": []}
    for bucket in range(buckets):
        statements, entities = folder / f"statements-{bucket}.parquet", folder / f"entities-{bucket}.parquet"
        gather_bucket([shard], bucket, properties, statements, entities)
        rows, edges = folder / f"rows-{bucket}.parquet", folder / f"edges-{bucket}.parquet"
        make_rows(statements, entities, RELATIONS.properties(), rows, edges)
        for name, path in zip(paths, (rows, edges, entities), strict=True):
            paths[name].append(path)
    assert pq.read_schema(paths["rows"][0]).equals(ROWS)
    assert pq.read_schema(paths["edges"][0]).equals(EDGES)
    with database() as db:
        yield TableSource(db, paths["rows"], paths["edges"], paths["entities"], properties)
