"""Real entities: counts and values against plain `json`, whatever the shards and compression.

The excerpt in tests/data is read by everybody's tests; whole files if FACTDRIFT_REAL_DATA names their folder.
"""

import json
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.dumps import decompressed
from support.excerpt import EXCERPT, real

WHOLE_FILES = ("original-bytes-2021-02.json.bz2", "pair-2018-09.json.gz")
VALUE_DATATYPES = {"globecoordinate": "globe-coordinate", "wikibase-entityid": "wikibase-item"}


def plain(dump: Path) -> Iterator[dict[str, Any]]:
    """The entities of a dump as the standard library reads them."""
    for line in decompressed(dump).splitlines():
        text = line.strip().strip(b",").strip()
        if text not in (b"[", b"]", b""):
            yield json.loads(text)


def plain_statements(entity: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for group in (entity.get("claims") or {}).values():
        yield from group


def plain_row(
    entity: dict[str, Any], position: int, statement: dict[str, Any], datatypes: dict[str, str]
) -> dict[str, Any]:
    """A statement as a row of the table; of dates only whether there are any."""
    main, qualifiers = statement["mainsnak"], statement.get("qualifiers") or {}
    data = main.get("datavalue", {"type": None, "value": None})
    kind = data["value"].get("entity-type") if isinstance(data["value"], dict) else None
    prefix = {"item": "Q", "property": "P"}.get(kind)
    of_value = VALUE_DATATYPES.get(data["type"], data["type"])
    identity, rest = statement["id"].split("$")
    dates = {
        name: any(snak["snaktype"] == "value" for snak in qualifiers.get(qualifier, []))
        for name, qualifier in (("start", "P580"), ("end", "P582"), ("pit", "P585"))
    }
    return {
        "subject": int(entity["id"][1:]),
        "position": position,
        "property": int(main["property"][1:]),
        "statement": f"{identity.upper()}${rest}",
        "rank": statement["rank"],
        "snak": main["snaktype"],
        "datatype": main.get("datatype") or datatypes.get(main["property"]) or of_value,
        "key": f"{prefix}{data['value']['numeric-id']}" if prefix else None,
        "json": None if prefix else data["value"],
        "qualifiers": sorted(int(name[1:]) for name in qualifiers),
        "revision": entity.get("lastrevid"),
        **dates,
    }


def plain_items(statements: list[dict[str, Any]]) -> list[int]:
    """The items that are values of statements that are not deprecated, each once."""
    mains = [each["mainsnak"] for each in statements if each["rank"] != "deprecated"]
    values = [main["datavalue"]["value"] for main in mains if main["snaktype"] == "value"]
    return list(dict.fromkeys(each["numeric-id"] for each in values if each["entity-type"] == "item"))


def plain_item(entity: dict[str, Any]) -> dict[str, Any]:
    """An item as a row of the table of entities."""
    terms = {name: dict(entity.get(name) or {}).get("en") for name in ("labels", "descriptions", "aliases")}
    sites, claims = entity["sitelinks"] or {}, entity.get("claims") or {}
    return {
        "id": int(entity["id"][1:]),
        "label": terms["labels"] and terms["labels"]["value"],
        "description": terms["descriptions"] and terms["descriptions"]["value"],
        "aliases": list(dict.fromkeys(alias["value"] for alias in terms["aliases"] or [])),
        "title": sites["enwiki"]["title"] if "enwiki" in sites else None,
        "sitelinks": len(sites),
        "revision": entity.get("lastrevid"),
        "modified": entity.get("modified"),
        "classes": plain_items(dict(claims).get("P31", [])),
        "superclasses": plain_items(dict(claims).get("P279", [])),
    }


@pytest.mark.parametrize("name", ["excerpt", *WHOLE_FILES])
def test_tables_equal_those_of_plain_json(name, take_snapshot):
    dump = EXCERPT if name == "excerpt" else real(name)
    entities = list(plain(dump))
    items = [entity for entity in entities if entity["type"] == "item"]
    datatypes = {each["id"]: each.get("datatype") for each in entities if each["type"] != "item"}
    expected = [
        plain_row(entity, position, statement, datatypes)
        for entity in sorted(items, key=lambda entity: int(entity["id"][1:]))
        for position, statement in enumerate(plain_statements(entity))
    ]
    snapshot = take_snapshot(dump, shards=2, buckets=3)
    summary = snapshot.summary
    assert (summary["items"], summary["properties"]) == (len(items), len(datatypes))
    assert (summary["lines"], summary["bad_lines"], summary["duplicates"]) == (len(entities), 0, 0)
    counts = {key: Counter(row[key] or "unknown" for row in expected) for key in ("rank", "snak", "datatype")}
    assert summary["statements"] == {"total": len(expected), **counts}
    rows = snapshot.statements.select([*expected[0], "object"]).to_pylist()
    for row in rows:
        row["key"] = row["key"] if row.pop("object") is not None else None
        row["json"] = json.loads(row["json"]) if row["json"] is not None else None
        row |= {name: row[name] is not None for name in ("start", "end", "pit")}
    assert rows == expected
    described = sorted(map(plain_item, items), key=lambda item: item["id"])
    # In the second snapshot, items without an article are read in outline.
    for found in (snapshot, take_snapshot(dump, scope="enwiki")):
        assert found.entities.select([*described[0]]).to_pylist() == described


@pytest.mark.parametrize(("scope", "names"), [("enwiki", "held"), ("all", "all")])
def test_results_depend_neither_on_shards_nor_on_buckets(take_snapshot, scope, names):
    expected = take_snapshot(EXCERPT, 1, 1, scope, names=names)
    for shards, buckets in ((2, 1), (7, 3)):
        found = take_snapshot(EXCERPT, shards, buckets, scope, names=names)
        assert found.summary == expected.summary
        for table in ("statements", "entities"):
            assert getattr(found, table).equals(getattr(expected, table)), table
        files = ["properties.parquet", "classes.parquet", "snapshot.json"]
        files += ["statements/0.parquet", "entities/0.parquet"] if buckets == 1 else []
        for name in files:
            assert (found.folder / name).read_bytes() == (expected.folder / name).read_bytes(), name
