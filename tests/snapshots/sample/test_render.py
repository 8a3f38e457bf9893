"""The rendered lines: layout by date, equality of form with real dumps, other readers."""

import json
from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import pytest
from support.dumps import lines
from support.excerpt import EXCERPT, real

from factdrift.snapshots.compression import php_json

from ..conftest import Render

PROPERTIES = [
    {
        **{"id": "P6", "label": "head of government", "description": "head of it"},
        **{"aliases": "mayor|premier", "datatype": "wikibase-item", "types": "Q5"},
        **{"constraints": "single-best-value", "separators": "P580 P39", "examples": "Q1>Q2"},
    }
]
ENTITIES = [
    {
        **{"id": "Q1", "label": "Zürich/\U0001f600", "description": "a town", "aliases": "Turicum|Züri"},
        **{"title": "Zürich", "sitelinks": "4", "classes": "Q5"},
    },
    {"id": "Q2"},
]
FACTS = [
    {
        **{"subject": "Q1", "property": "P6", "value": "Q2", "start": "2010-05-01", "end": "2015"},
        **{"qualifiers": "P39=Q3;P1545=a;P1082=+2 Q4", "rank": "current"},
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
    maps = ("labels", "descriptions", "aliases", "claims", "sitelinks")
    for day, empty in [(20190429, []), (20190430, {})]:
        entity = all_of(render, day)["Q2"]
        assert [entity[name] for name in maps] == [empty] * 5


def test_escapes_as_php_writes_them():
    assert php_json({"a": 'ü/\U0001f600\n"', "b": [], "c": {}, "d": None, "e": 1.5}) == (
        rb'{"a":"\u00fc\/\ud83d\ude00\n\"","b":[],"c":{},"d":null,"e":1.5}'
    )
    assert php_json(["\ud800/\u00fc"]) == rb'["\ud800\/\u00fc"]'


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_qwikidata_reads_the_entities(render):
    from qwikidata.entity import WikidataItem, WikidataProperty

    entities = all_of(render, 20230101)
    item = WikidataItem(entities["Q1"])
    assert (item.get_label(), item.get_enwiki_title()) == ("Zürich/\U0001f600", "Zürich")
    assert (item.get_description(), item.get_aliases()) == ("a town", ["Turicum", "Züri"])
    groups = item.get_truthy_claim_groups()
    assert set(groups) == {"P31", "P6", "P1082", "P569", "P1448", "P625", "P1535", "P1545"}
    claim = item.get_claim_group("P6")[0]
    assert claim.mainsnak.datavalue.value["id"] == "Q2"
    assert claim.rank == "normal"
    assert list(claim.qualifiers) == ["P580", "P582", "P39", "P1545", "P1082"]
    assert claim.qualifiers["P582"][0].snak.datavalue.value["time"] == "+2015-00-00T00:00:00Z"
    assert WikidataProperty(entities["P6"]).get_label() == "head of government"


def real_lines(name: str) -> Iterator[bytes]:
    return (text for _, _, text in lines(real(name)))


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
    real = [json.loads(text) for _, _, text in lines(EXCERPT) if text.startswith(b'{"type":"property"')]
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
