"""Real entities: counts and values against plain `json` and qwikidata, whatever the shards and compression.

The excerpt in tests/data is read by everybody's tests; whole files if FACTDRIFT_REAL_DATA names their folder.
"""

import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.dumps import decompressed

from .conftest import snapshot_of

EXCERPT = Path(__file__).parents[1] / "data" / "real-excerpt.json.bz2"
WHOLE_FILES = (
    "entities.json.bz2",
    "head-2014-12.json.bz2",
    "original-bytes-2021-02.json.bz2",
    "pair-2018-09.json.gz",
    "pair-2021-06.json.gz",
)
VALUE_DATATYPES = {"globecoordinate": "globe-coordinate", "wikibase-entityid": "wikibase-item"}


def real(name: str) -> Path:
    folder = os.environ.get("FACTDRIFT_REAL_DATA")
    if folder is None:
        pytest.skip("FACTDRIFT_REAL_DATA names no folder of real dumps")
    return Path(folder) / "wikidata" / name


def plain(dump: Path) -> Iterator[dict[str, Any]]:
    """The entities of a dump as the standard library reads them."""
    for line in decompressed(dump).splitlines():
        text = line.strip().strip(b",").strip()
        if text not in (b"[", b"]", b""):
            yield json.loads(text)


def plain_statements(entity: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for group in (entity.get("claims") or {}).values():
        yield from group


@pytest.fixture(scope="module")
def excerpt(tmp_path_factory):
    return snapshot_of(tmp_path_factory.mktemp("excerpt"), EXCERPT)


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
    found = snapshot.statements.select([*expected[0], "object"]).to_pylist()
    for row in found:
        row["key"] = row["key"] if row.pop("object") is not None else None
        row["json"] = json.loads(row["json"]) if row["json"] is not None else None
        row |= {name: row[name] is not None for name in ("start", "end", "pit")}
    assert found == expected
    titled = {int(item["id"][1:]) for item in items if "enwiki" in (item["sitelinks"] or {})}
    rows = snapshot.entities.select(["id", "title"]).to_pylist()
    assert {row["id"] for row in rows if row["title"] is not None} == titled


@pytest.mark.filterwarnings("ignore::DeprecationWarning:qwikidata")
def test_items_equal_those_of_qwikidata(excerpt):
    from qwikidata.entity import WikidataItem

    compared = 0
    for entity in plain(EXCERPT):
        odd = any(
            "datatype" not in found["mainsnak"] or "id" not in _value(found)
            for found in plain_statements(entity)
        )
        if entity["type"] != "item" or odd or "aliases" not in entity or not entity["claims"]:
            continue  # qwikidata reads none of these
        theirs = WikidataItem(entity)
        ours = excerpt.entity(int(entity["id"][1:]))
        compared += 1
        assert (ours["label"] or "") == theirs.get_label("en")
        assert (ours["description"] or "") == theirs.get_description("en")
        assert ours["aliases"] == list(dict.fromkeys(theirs.get_aliases("en")))
        assert (ours["title"] or "") == theirs.get_enwiki_title()
        assert ours["sitelinks"] == len(entity["sitelinks"])
        groups = theirs.get_claim_groups()
        sizes = Counter(f"P{row['property']}" for row in excerpt.rows(ours["id"]))
        assert sizes == {name: len(group) for name, group in groups.items()}
        classes = [
            int(found.mainsnak.datavalue.value["id"][1:])
            for found in groups.get("P31", [])
            if found.rank != "deprecated" and found.mainsnak.snaktype == "value"
        ]
        assert ours["classes"] == list(dict.fromkeys(classes))
    assert compared >= 10


def _value(statement: dict[str, Any]) -> dict[str, Any]:
    """The value of an entity-valued statement; anything with an `id` for the others."""
    datavalue = statement["mainsnak"].get("datavalue", {})
    return dict(datavalue["value"]) if datavalue.get("type") == "wikibase-entityid" else {"id": ""}


@pytest.mark.parametrize(("scope", "names"), [("enwiki", "held"), ("enwiki", "all"), ("all", "all")])
def test_results_depend_neither_on_shards_nor_on_buckets(take_snapshot, scope, names):
    expected = take_snapshot(EXCERPT, 1, 1, scope, names=names)
    for shards, buckets in ((2, 1), (7, 3), (1, 16)):
        found = take_snapshot(EXCERPT, shards, buckets, scope, names=names)
        assert found.summary == expected.summary
        for table in ("statements", "entities"):
            assert getattr(found, table).equals(getattr(expected, table)), table
        files = ["properties.parquet", "classes.parquet", "snapshot.json"]
        files += ["statements/0.parquet", "entities/0.parquet"] if buckets == 1 else []
        for name in files:
            assert (found.folder / name).read_bytes() == (expected.folder / name).read_bytes(), name
