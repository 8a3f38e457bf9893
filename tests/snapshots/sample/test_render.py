"""The rendered lines: layout by date, equality of form with real dumps, other readers."""

import json
import os
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from support.dumps import decompressed, lines

from factdrift.snapshots.compression import php_json
from factdrift.snapshots.sample.render import render_dump
from factdrift.snapshots.sample.tables import read_sample

from ..conftest import Render

REAL_DATA = os.environ.get("FACTDRIFT_REAL_DATA")

PROPERTIES = [
    {
        "id": "P6",
        "label": "head of government",
        "description": "head of it",
        "aliases": "mayor|premier",
        "datatype": "wikibase-item",
        "types": "Q5",
        "constraints": "single-best-value",
        "separators": "P580 P39",
        "examples": "Q1>Q2",
    }
]
ENTITIES = [
    {
        "id": "Q1",
        "label": "Zürich/\U0001f600",
        "description": "a town",
        "aliases": "Turicum|Züri",
        "title": "Zürich",
        "sitelinks": "4",
        "classes": "Q5",
    },
    {"id": "Q2"},
]
FACTS = [
    {
        "subject": "Q1",
        "property": "P6",
        "value": "Q2",
        "start": "2010-05-01",
        "end": "2015",
        "qualifiers": "P39=Q3;P1545=a;P1082=+2 Q4",
        "rank": "current",
    },
    {"subject": "Q1", "property": "P6", "value": "novalue", "start": "somevalue"},
    {"subject": "Q1", "property": "P1082", "value": "+400000", "pit": "2015"},
    {"subject": "Q1", "property": "P569", "value": "-0015"},
    {"subject": "Q1", "property": "P1448", "value": "de:Zürich"},
    {"subject": "Q1", "property": "P625", "value": "47.37,8.54"},
    {"subject": "Q1", "property": "P1535", "value": "P6"},
    {"subject": "Q1", "property": "P1545", "value": "http://a/b"},
]


def all_of(render: Render, day: int) -> dict[str, dict[str, Any]]:
    return render(day, FACTS, ENTITIES, PROPERTIES)


def keys(value: Any) -> Any:
    """The keys of nested maps, in their order."""
    if isinstance(value, dict):
        return [[key, keys(each)] for key, each in value.items()]
    return None


@pytest.mark.parametrize(
    ("day", "names"),
    [
        (20150101, "id labels descriptions aliases claims sitelinks"),
        (20190507, "id labels descriptions aliases claims sitelinks"),
        (20190508, "id labels descriptions aliases claims sitelinks lastrevid"),
        (20220522, "id labels descriptions aliases claims sitelinks lastrevid"),
        (20220523, "id labels descriptions aliases claims sitelinks pageid ns title lastrevid modified"),
    ],
)
def test_keys_by_date(render, day, names):
    entities = all_of(render, day)
    assert list(entities["Q1"]) == ["type", *names.split()]
    assert list(entities["P6"]) == ["type", "datatype", *(key for key in names.split() if key != "sitelinks")]


def test_page_fields_and_order(render):
    entities = all_of(render, 20230101)
    assert (entities["Q1"]["pageid"], entities["Q1"]["ns"], entities["Q1"]["title"]) == (1, 0, "Q1")
    assert (entities["P6"]["ns"], entities["P6"]["title"]) == (120, "Property:P6")
    for field in ("pageid", "lastrevid"):
        assert len({entity[field] for entity in entities.values()}) == len(entities)
    assert list(entities) == sorted(entities, key=lambda name: (name[0] == "P", int(name[1:])))
    assert {"Q1", "Q5", "P6", "P1545"} <= set(entities)


def test_empty_maps_by_date(render):
    maps = ("labels", "descriptions", "aliases", "claims", "sitelinks")
    for day, empty in [(20190429, []), (20190430, {})]:
        entity = all_of(render, day)["Q2"]
        assert [entity[name] for name in maps] == [empty] * 5


def test_terms(render):
    def term(text: str) -> dict[str, str]:
        return {"language": "en", "value": text}

    entity = all_of(render, 20200101)["Q1"]
    assert entity["labels"] == {"en": term("Zürich/\U0001f600")}
    assert entity["descriptions"] == {"en": term("a town")}
    assert entity["aliases"] == {"en": [term("Turicum"), term("Züri")]}


def test_a_statement_as_wikidata_nests_it(render):
    statement = all_of(render, 20140601)["Q1"]["claims"]["P6"][0]
    qualifiers = statement["qualifiers"]
    item = {"entity-type": "item", "numeric-id": 2, "id": "Q2"}
    time = {"time": "+2010-05-01T00:00:00Z", "timezone": 0, "before": 0, "after": 0, "precision": 11}
    time["calendarmodel"] = "http://www.wikidata.org/entity/Q1985727"
    main = {"snaktype": "value", "property": "P6", "datavalue": {"value": item, "type": "wikibase-entityid"}}
    start = {"snaktype": "value", "property": "P580", "hash": qualifiers["P580"][0]["hash"]}
    start["datavalue"] = {"value": time, "type": "time"}
    expected = {
        "mainsnak": {**main, "datatype": "wikibase-item"},
        "type": "statement",
        "qualifiers": {
            "P580": [{**start, "datatype": "time"}],
            **{name: qualifiers[name] for name in ("P39", "P1545", "P1082")},
        },
        "qualifiers-order": ["P580", "P39", "P1545", "P1082"],
        "id": statement["id"],
        "rank": "preferred",
    }
    assert json.dumps(statement) == json.dumps(expected)
    hashes = [snak["hash"] for group in qualifiers.values() for snak in group]
    assert len(set(hashes)) == 4
    assert all(len(each) == 40 and set(each) <= set("0123456789abcdef") for each in hashes)


def test_snaks_without_value_have_none(render):
    statement = all_of(render, 20140601)["Q1"]["claims"]["P6"][1]
    assert statement["mainsnak"] == {"snaktype": "novalue", "property": "P6", "datatype": "wikibase-item"}
    (start,) = statement["qualifiers"]["P580"]
    assert list(start) == ["snaktype", "property", "hash", "datatype"]


def test_a_property_carries_constraint_types_and_examples(render):
    claims = all_of(render, 20200101)["P6"]["claims"]
    assert list(claims) == ["P31", "P2302", "P1855"]
    (constraint,) = claims["P2302"]
    assert constraint["mainsnak"]["datavalue"]["value"]["id"] == "Q52060874"
    assert [snak["datavalue"]["value"]["id"] for snak in constraint["qualifiers"]["P4155"]] == ["P580", "P39"]
    assert constraint["qualifiers"]["P4155"][0]["datavalue"]["value"]["entity-type"] == "property"
    (example,) = claims["P1855"]
    assert example["mainsnak"]["datavalue"]["value"]["id"] == "Q1"
    assert example["qualifiers"]["P6"][0]["datavalue"]["value"]["id"] == "Q2"


def test_escapes_as_php_writes_them():
    assert php_json({"a": 'ü/\U0001f600\n"', "b": [], "c": {}, "d": None, "e": 1.5}) == (
        rb'{"a":"\u00fc\/\ud83d\ude00\n\"","b":[],"c":{},"d":null,"e":1.5}'
    )


def test_a_dump_file(tmp_path, write_tables):
    sample = read_sample(write_tables(FACTS, ENTITIES, PROPERTIES))
    path = tmp_path / "dump.json.gz"
    count = render_dump(sample, 20210104, path)
    text = decompressed(path)
    assert text.startswith(b'[\n{"type":"item","id":"Q1",')
    assert text.endswith(b"}\n]\n")
    assert text.isascii()
    assert len(json.loads(text)) == count == len(list(lines(path))) == text.count(b"\n") - 2
    first = path.read_bytes()
    render_dump(sample, 20210104, path)
    assert path.read_bytes() == first


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_qwikidata_reads_the_entities(render):
    from qwikidata.entity import WikidataItem, WikidataProperty

    entities = all_of(render, 20230101)
    item = WikidataItem(entities["Q1"])
    assert (item.get_label(), item.get_enwiki_title()) == ("Zürich/\U0001f600", "Zürich")
    groups = item.get_truthy_claim_groups()
    assert set(groups) == {"P31", "P6", "P1082", "P569", "P1448", "P625", "P1535", "P1545"}
    claim = item.get_claim_group("P6")[0]
    assert claim.mainsnak.datavalue.value["id"] == "Q2"
    assert claim.qualifiers["P582"][0].snak.datavalue.value["time"] == "+2015-00-00T00:00:00Z"
    assert WikidataProperty(entities["P6"]).get_label() == "head of government"


# Against real dumps


def real_lines(name: str) -> Iterator[bytes]:
    if REAL_DATA is None:
        pytest.skip("FACTDRIFT_REAL_DATA does not name the folder of the real data")
    return (text for _, _, text in lines(Path(REAL_DATA) / "wikidata" / name))


def statements(entities: list[dict[str, Any]]) -> list[dict[str, Any]]:
    return [each for entity in entities for group in dict(entity["claims"]).values() for each in group]


def statement_keys(entities: list[dict[str, Any]]) -> set[tuple[str, ...]]:
    """References aside, which the sample has none of."""
    return {tuple(key for key in each if key != "references") for each in statements(entities)}


def snak_keys(entities: list[dict[str, Any]]) -> dict[tuple[str, ...], set[str]]:
    """Nested keys of main and qualifier snaks, by snak type and datatype."""
    found: dict[tuple[str, ...], set[str]] = defaultdict(set)
    for statement in statements(entities):
        snaks = [("main", statement["mainsnak"])]
        snaks += [("qualifier", each) for group in statement.get("qualifiers", {}).values() for each in group]
        for kind, snak in snaks:
            found[kind, snak["snaktype"], snak["datatype"]].add(str(keys(snak)))
    return found


@pytest.mark.parametrize(
    ("name", "day"), [("pair-2021-06.json.gz", 20210601), ("original-bytes-2021-02.json.bz2", 20210222)]
)
def test_the_form_is_that_of_a_real_dump(render, name, day):
    real = [json.loads(text) for text in real_lines(name)]
    entities = all_of(render, day)
    items = [entity for entity in entities.values() if entity["type"] == "item"]
    assert {tuple(entity) for entity in items} == {tuple(entity) for entity in real}
    for part in ("labels", "descriptions", "sitelinks"):
        theirs = {tuple(each) for entity in real for each in dict(entity[part]).values()}
        assert {tuple(each) for entity in items for each in dict(entity[part]).values()} == theirs
    assert statement_keys(items) == statement_keys(real)
    ours, theirs_by_kind = snak_keys(items), snak_keys(real)
    shared = ours.keys() & theirs_by_kind.keys()
    assert len(shared) >= 6
    assert all(ours[kind] <= theirs_by_kind[kind] for kind in shared)


def test_real_properties_have_the_same_keys(render):
    entities = map(json.loads, real_lines("entities.json.bz2"))
    real = [entity for entity in entities if entity["type"] == "property"]
    assert {tuple(entity) for entity in real} == {tuple(all_of(render, 20180101)["P6"])}
    constraint = next(
        statement
        for entity in real
        for statement in entity["claims"]["P2302"]
        if statement["mainsnak"]["datavalue"]["value"]["id"] in ("Q19474404", "Q52060874")
    )
    ours = all_of(render, 20180101)["P6"]["claims"]["P2302"][0]
    assert [key for key in constraint if key not in ("references", "qualifiers", "qualifiers-order")] == [
        key for key in ours if key not in ("qualifiers", "qualifiers-order")
    ]


def test_real_lines_are_escaped_alike():
    for text in real_lines("original-bytes-2021-02.json.bz2"):
        entity = json.loads(text)
        head = php_json({key: entity[key] for key in ("type", "id", "labels", "descriptions", "aliases")})
        assert text.startswith(head[:-1])
