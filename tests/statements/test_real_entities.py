"""Real entities: counts and values against plain `json` and qwikidata, whatever the shards and compression.

The excerpt in tests/data is read by everybody's tests; whole files if FACTDRIFT_REAL_DATA names their folder.
"""

from __future__ import annotations

import bz2
import gzip
import json
import os
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

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
    decompress = gzip.decompress if dump.suffix == ".gz" else bz2.decompress
    for line in decompress(dump.read_bytes()).splitlines():
        text = line.strip().strip(b",").strip()
        if text not in (b"[", b"]", b""):
            yield json.loads(text)


def plain_statements(entity: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for group in (entity.get("claims") or {}).values():
        yield from group


@pytest.mark.parametrize("name", ["excerpt", *WHOLE_FILES])
def test_counts_equal_those_of_plain_json(name, take_snapshot):
    dump = EXCERPT if name == "excerpt" else real(name)
    items, properties = {}, {}
    for entity in plain(dump):
        (items if entity["type"] == "item" else properties)[entity["id"]] = entity
    ranks, snaks, datatypes, subjects = Counter[str](), Counter[str](), Counter[str](), Counter[int]()
    relations, started, ended, dated = Counter[int](), Counter[int](), Counter[int](), Counter[int]()
    for identity, entity in items.items():
        for statement in plain_statements(entity):
            main_snak = statement["mainsnak"]
            relation = main_snak["property"]
            datatype = main_snak.get("datatype") or properties.get(relation, {}).get("datatype")
            if datatype is None and "datavalue" in main_snak:
                datatype = VALUE_DATATYPES.get(main_snak["datavalue"]["type"], main_snak["datavalue"]["type"])
            ranks[statement["rank"]] += 1
            snaks[main_snak["snaktype"]] += 1
            datatypes[datatype or "unknown"] += 1
            subjects[int(identity[1:])] += 1
            relations[int(relation[1:])] += 1
            for qualifier, counter in (("P580", started), ("P582", ended), ("P585", dated)):
                found = statement.get("qualifiers", {}).get(qualifier, [])
                counter[int(identity[1:])] += any(snak["snaktype"] == "value" for snak in found)
    snapshot = take_snapshot(dump, shards=2, buckets=3)
    summary = snapshot.summary
    assert (summary["items"], summary["properties"]) == (len(items), len(properties))
    assert summary["lines"] == len(items) + len(properties)
    assert (summary["bad_lines"], summary["duplicates"]) == (0, 0)
    assert summary["statements"] == {
        "total": ranks.total(),
        "rank": dict(ranks),
        "snak": dict(snaks),
        "datatype": dict(datatypes),
    }
    table = snapshot.statements.to_pydict()
    assert Counter(table["rank"]) == ranks
    assert Counter(table["snak"]) == snaks
    assert Counter(datatype or "unknown" for datatype in table["datatype"]) == datatypes
    assert Counter(table["subject"]) == subjects
    assert Counter(table["property"]) == relations
    for column, counter in (("start", started), ("end", ended), ("pit", dated)):
        rows = zip(table["subject"], table[column], strict=True)
        assert Counter(subject for subject, time in rows if time is not None) == +counter
    assert sum(found == "value" for found in table["snak"]) == sum(key is not None for key in table["key"])
    with_titles = {int(identity[1:]) for identity, e in items.items() if "enwiki" in (e["sitelinks"] or {})}
    rows = zip(*(snapshot.entities[name].to_pylist() for name in ("id", "title")), strict=True)
    assert {number for number, title in rows if title is not None} == with_titles


def test_statements_equal_those_of_plain_json_one_by_one(take_snapshot):
    snapshot = take_snapshot(EXCERPT)
    expected = []
    for entity in plain(EXCERPT):
        if entity["type"] == "item":
            for position, statement in enumerate(plain_statements(entity)):
                value = statement["mainsnak"].get("datavalue", {}).get("value")
                of_entity = isinstance(value, dict) and "entity-type" in value
                prefix = {"item": "Q", "property": "P"}[value["entity-type"]] if of_entity else ""
                identity, rest = statement["id"].split("$")
                expected.append(
                    (
                        int(entity["id"][1:]),
                        position,
                        f"{identity.upper()}${rest}",
                        f"{prefix}{value['numeric-id']}" if of_entity else None,
                        None if of_entity else value,
                        sorted(int(name[1:]) for name in statement.get("qualifiers", {})),
                        entity.get("lastrevid"),
                    )
                )
    found = [
        (
            row["subject"],
            row["position"],
            row["statement"],
            row["key"] if row["object"] is not None else None,
            json.loads(row["json"]) if row["json"] is not None else None,
            row["qualifiers"],
            row["revision"],
        )
        for row in snapshot.statements.to_pylist()
    ]
    assert found == sorted(expected, key=lambda row: row[:2])


@pytest.mark.filterwarnings("ignore::DeprecationWarning:qwikidata")
def test_items_equal_those_of_qwikidata(take_snapshot):
    from qwikidata.entity import WikidataItem

    snapshot = take_snapshot(EXCERPT)
    compared = 0
    for entity in plain(EXCERPT):
        without_datatype = any("datatype" not in found["mainsnak"] for found in plain_statements(entity))
        if entity["type"] != "item" or without_datatype or "aliases" not in entity or not entity["claims"]:
            continue  # qwikidata reads none of these
        if any("id" not in _value(found) for found in plain_statements(entity)):
            continue
        theirs = WikidataItem(entity)
        ours = snapshot.entity(int(entity["id"][1:]))
        compared += 1
        assert (ours["label"] or "") == theirs.get_label("en")
        assert (ours["description"] or "") == theirs.get_description("en")
        assert ours["aliases"] == list(dict.fromkeys(theirs.get_aliases("en")))
        assert (ours["title"] or "") == theirs.get_enwiki_title()
        assert ours["sitelinks"] == len(entity["sitelinks"])
        groups = theirs.get_claim_groups()
        rows = snapshot.rows(ours["id"])
        assert Counter(f"P{row['property']}" for row in rows) == {
            name: len(group) for name, group in groups.items()
        }
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
        for name in ("properties.parquet", "classes.parquet", "snapshot.json"):
            assert (found.folder / name).read_bytes() == (expected.folder / name).read_bytes(), name
        if buckets == 1:
            for name in ("statements/0.parquet", "entities/0.parquet"):
                assert (found.folder / name).read_bytes() == (expected.folder / name).read_bytes(), name


def test_odd_entities_of_the_excerpt(take_snapshot):
    snapshot = take_snapshot(EXCERPT)
    assert snapshot.entity(41700)["label"] is None
    assert snapshot.rows(7290167) == []
    bang = next(row for row in snapshot.rows(323) if row["property"] == 585)
    assert (bang["time"]["year"], bang["time"]["precision"]) == (-13_798_000_000, 3)
    assert bang["key"] == "-13798000000/3/Q1985727"
    assert snapshot.property(731)["classes"] == []
    assert snapshot.property(643)["datatype"] == "string"
    assert any(row["end_unknown"] for row in snapshot.rows(1253))
    assert any(row["start_unknown"] for row in snapshot.rows(4917))
    assert snapshot.summary["oddities"]["several_starts"] > 0
    assert {row["snak"] for row in snapshot.rows(1526)} == {"value", "somevalue"}
