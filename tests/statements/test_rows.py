"""What becomes of one entity: every field and every oddity of the spec, through to the gathered tables."""

import json
from typing import Any

import pytest

from factdrift.statements.rows import Oddities, entity_row, is_whole, property_row
from factdrift.statements.statement_columns import StatementColumns
from factdrift.wikidata.entity import UNREADABLE, read_entity, read_outline

from .conftest import claim, entity, linked, snak

GREGORIAN = "http://www.wikidata.org/entity/Q1985727"


def property_(number: int) -> dict[str, Any]:
    return {"entity-type": "property", "numeric-id": number, "id": f"P{number}"}


def date(timestamp: str, precision: int) -> dict[str, Any]:
    return {"time": timestamp, "precision": precision, "calendarmodel": GREGORIAN}


def line(identity: str = "Q1", *claims: dict[str, Any], **fields: Any) -> bytes:
    return json.dumps(entity(identity, *claims, **fields)).encode()


def rows(*claims: dict[str, Any], oddities: Oddities | None = None, **fields: Any) -> list[dict[str, Any]]:
    columns = StatementColumns(oddities if oddities is not None else Oddities())
    assert columns.add(read_entity(line("Q1", *claims, **fields)), 1, 7) == len(columns)
    found: list[dict[str, Any]] = columns.take().to_pylist()
    assert len(columns) == 0
    return found


def test_a_plain_statement():
    main = snak("P35", "wikibase-entityid", linked(76))
    successor = snak("P1365", "wikibase-entityid", linked(207))
    start = snak("P580", "time", date("+2009-01-20T00:00:00Z", 11))
    said = claim(main, successor, start, snak("P39", "string", "x"), rank="preferred")
    (row,) = rows(said, lastrevid=99)
    assert row.pop("start")["first"] == 20090120
    expected = dict.fromkeys(("json", "time", "end", "pit", "starts", "ends", "pits", "inferred"))
    expected |= {"subject": 1, "property": 35, "statement": "Q1$a", "position": 0, "rank": "preferred"}
    expected |= {"snak": "value", "datatype": "wikibase-item", "object": 76, "key": "Q76"}
    expected |= {"start_unknown": False, "end_unknown": False, "qualifiers": [39, 580, 1365]}
    assert row == expected | {"revision": 99, "line": 7}


NOTHING = dict.fromkeys(("object", "key", "json", "time"))


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (claim(snak("P9", None, "somevalue")), {"snak": "somevalue", **NOTHING}),
        (claim(snak("P9", None, "novalue")), {"snak": "novalue", **NOTHING}),
        (
            claim({"snaktype": "value", "property": "P9"}),
            {"snak": "value", "object": None, "key": "null", "json": "null"},
        ),
        ({"mainsnak": snak("P9", "string", "x")}, {"statement": None, "rank": "normal", "qualifiers": []}),
        (claim(snak("P9", "string", "x"), qualifiers=[]), {"qualifiers": []}),
        (claim(snak("P9", "string", "x"), qualifiers={}), {"qualifiers": []}),
    ],
)
def test_statements_that_lack_something(statement, expected):
    (row,) = rows(statement)
    assert expected.items() <= row.items()


Y2001, Y2005, MAY_2005 = (
    snak("", "time", date(timestamp, precision))
    for timestamp, precision in (
        ("+2001-00-00T00:00:00Z", 9),
        ("+2005-00-00T00:00:00Z", 9),
        ("+2005-05-00T00:00:00Z", 10),
    )
)
SOME, NONE = snak("", None, "somevalue"), snak("", None, "novalue")
IMPOSSIBLE = snak("", "time", "yesterday")


@pytest.mark.parametrize(
    ("values", "start", "start_unknown", "end", "end_unknown", "pit"),
    [
        ([], None, False, None, False, None),
        ([Y2001], 20010101, False, 20010101, False, 20010101),
        ([Y2005, Y2001], 20010101, False, 20050101, False, 20050101),
        ([MAY_2005, Y2005, Y2001], 20010101, False, 20050501, False, 20050501),
        ([Y2005, MAY_2005], 20050101, False, 20050501, False, 20050501),
        ([SOME], None, True, None, True, None),
        ([NONE], None, False, None, False, None),
        ([NONE, SOME], None, True, None, True, None),
        ([SOME, Y2001], 20010101, False, 20010101, False, 20010101),
        ([NONE, Y2001], 20010101, False, 20010101, False, 20010101),
        ([IMPOSSIBLE], None, True, None, True, None),
        ([IMPOSSIBLE, Y2001], 20010101, False, 20010101, False, 20010101),
    ],
)
def test_several_dates_of_one_statement(values, start, start_unknown, end, end_unknown, pit):
    qualifiers = [{**value, "property": name} for name in ("P580", "P582", "P585") for value in values]
    for order in (qualifiers, qualifiers[::-1]):
        (row,) = rows(claim(snak("P9", "string", "x"), *order))
        first = {name: time["first"] if (time := row[name]) else None for name in ("start", "end", "pit")}
        assert first == {"start": start, "end": end, "pit": pit}
        assert (row["start_unknown"], row["end_unknown"]) == (start_unknown, end_unknown)
        assert row["qualifiers"] == ([580, 582, 585] if values else [])
        dated = [value["datavalue"]["value"]["time"] for value in values if value in (Y2001, Y2005, MAY_2005)]
        several = sorted(int(time[1:5]) for time in dated) if len(dated) > 1 else None
        for name in ("starts", "ends", "pits"):
            assert (sorted(time["year"] for time in row[name]) if row[name] else None) == several


def test_oddities_are_counted():
    oddities = Oddities()
    rows(
        claim(
            snak("P9", "wikibase-entityid", {"entity-type": "item"}),
            *({**value, "property": "P580"} for value in (Y2001, Y2005, IMPOSSIBLE)),
            *({**value, "property": "P582"} for value in (Y2001, SOME)),
        ),
        claim(snak("P9", "time", date("+2001-00-00T00:00:00Z", 99))),
        oddities=oddities,
    )
    assert oddities == Oddities(several_starts=1, unreadable_dates=2, unusable_entities=1)


@pytest.mark.parametrize(
    ("kind", "value", "datatype"),
    [
        ("wikibase-entityid", linked(5), "wikibase-item"),
        ("wikibase-entityid", {"entity-type": "property", "numeric-id": 5}, "wikibase-property"),
        ("wikibase-entityid", {"entity-type": "lexeme", "id": "L5"}, "wikibase-lexeme"),
        ("wikibase-entityid", None, "wikibase-item"),
        ("globecoordinate", {"latitude": 1.5}, "globe-coordinate"),
        ("string", "x", "string"),
        ("brand-new", [1], "brand-new"),
    ],
)
def test_datatype_is_inferred_where_the_snak_has_none(kind, value, datatype):
    (row,) = rows(claim(snak("P9", kind, value)))
    assert row["inferred"] is None
    (row,) = rows(claim(snak("P9", kind, value, datatype=None)))
    assert (row["datatype"], row["inferred"]) == (None, datatype)


@pytest.mark.parametrize("name", ["p9", "Q9", "P", "P9x", "P99999999999"])
def test_property_ids_that_are_none(name):
    with pytest.raises(ValueError, match="no property id"):
        rows(claim(snak(name, "string", "x")))
    with pytest.raises(ValueError, match="no property id"):
        rows(claim(snak("P9", "string", "x"), snak(name, "string", "x")))


@pytest.mark.parametrize(
    "wrong",
    [
        claim(snak("Q9", "string", "x")),
        claim(snak("P9", "string", "x"), snak("Q9", "string", "x")),
        claim(snak("P9", "string", "x"), {"property": "P580", "snaktype": 5}),
    ],
)
def test_an_item_that_cannot_be_used_leaves_nothing_behind(wrong):
    timed = claim(
        snak("P9", "time", date("+2001-00-00T00:00:00Z", 9)), {**Y2001, "property": "P580"}, id="a$b"
    )
    main = snak("P9", "string", "x", datatype=None)
    good = line("Q1", timed, claim(main), lastrevid=3)
    odd = claim(snak("P9", "time", "yesterday"), *[{**Y2001, "property": "P580"}] * 2)
    oddities = Oddities()
    columns, alone = StatementColumns(oddities), StatementColumns(Oddities())
    for number in (1, 2):
        assert alone.add(read_entity(good), number, number) == 2
        assert columns.add(read_entity(good), number, number) == 2
        with pytest.raises(UNREADABLE):
            columns.add(read_entity(line("Q1", timed, claim(main), odd, wrong)), 5, 5)
    assert len(columns) == 4
    assert oddities == Oddities()
    assert columns.take() == alone.take()


def test_fields_of_an_item():
    def instance(number: int, **fields: Any) -> dict[str, Any]:
        return claim(snak("P31", "wikibase-entityid", linked(number)), **fields)

    text = line(
        "Q1",
        instance(9),
        instance(5, rank="preferred"),
        instance(9),
        instance(7, rank="deprecated"),
        claim(snak("P31", None, "somevalue")),
        claim(snak("P279", "wikibase-entityid", linked(8))),
        claim(snak("P279", "wikibase-entityid", {"entity-type": "property", "id": "P8"})),
        labels={"en": {"value": "label"}},
        descriptions={"en": {"value": "description"}},
        aliases={"en": [{"value": "alias"}]},
        sitelinks={"enwiki": {"site": "enwiki", "title": "Title"}, "dewiki": {"title": "Titel"}},
        lastrevid=5,
        modified="2022-06-01T00:00:00Z",
    )
    expected = (
        *(1, "label", "description", ["alias"], "Title", 2, 5, "2022-06-01T00:00:00Z"),
        *([9, 5], [8], None, True, 3),
    )
    assert entity_row(read_entity(text), 1, True, 3) == expected
    assert entity_row(read_outline(text), 1, True, 3) == expected


@pytest.mark.parametrize(
    ("symbols", "symbol"),
    [
        ([], None),
        ([("ru", "км", "normal"), ("mul", "km", "normal")], "km"),
        ([("mul", "km", "preferred"), ("en", "kilom", "normal")], "kilom"),
        ([("ru", "a", "normal"), ("de", "b", "normal")], "a"),
        ([("ru", "a", "normal"), ("de", "b", "preferred")], "b"),
        ([("en", "a", "deprecated"), ("de", "b", "normal")], "b"),
        ([("en", "a", "normal"), ("en", "b", "normal"), ("en", "c", "preferred")], "c"),
    ],
)
def test_unit_symbol(symbols, symbol):
    claims = [
        claim(snak("P5061", "monolingualtext", {"language": language, "text": text}), rank=rank)
        for language, text, rank in symbols
    ]
    assert entity_row(read_outline(line("Q1", *claims)), 1, False, 1)[10] == symbol


@pytest.mark.parametrize(
    ("sites", "scopes"),
    [
        ([], {"all"}),
        (["enwiki"], {"enwiki", "anywiki", "all"}),
        (["dewiki"], {"anywiki", "all"}),
        (["commonswiki", "specieswiki", "enwikiquote"], {"all"}),
        (["commonswiki", "be_x_oldwiki"], {"anywiki", "all"}),
    ],
)
def test_scope(sites, scopes):
    found = read_entity(line("Q1", sitelinks={site: {"title": "t"} for site in sites}))
    assert {scope for scope in ("enwiki", "anywiki", "all") if is_whole(found, scope)} == scopes


def constraint(kind: int, *separators: int, rank: str = "normal") -> dict[str, Any]:
    return claim(
        snak("P2302", "wikibase-entityid", linked(kind)),
        *(
            snak("P4155", "wikibase-entityid", {"entity-type": "property", "id": f"P{number}"})
            for number in separators
        ),
        rank=rank,
    )


@pytest.mark.parametrize(
    ("constraints", "single_value", "separators", "symmetric"),
    [
        ([], False, [], False),
        ([constraint(19474404)], True, [], False),
        ([constraint(52060874, 585, 580)], True, [580, 585], False),
        ([constraint(19474404, 585), constraint(52060874, 580, 585)], True, [580, 585], False),
        ([constraint(19474404, 585, rank="deprecated")], False, [], False),
        ([constraint(21502410, 585)], False, [], False),
        ([constraint(21502410, 585), constraint(19474404)], True, [], False),
        ([constraint(21510862, 585)], False, [], True),
        ([constraint(19474404), constraint(21510862)], True, [], True),
        ([constraint(21510862, rank="deprecated")], False, [], False),
    ],
)
def test_constraints(constraints, single_value, separators, symmetric):
    row = property_row(read_entity(line("P6", *constraints)), 6, 1)
    assert (row[7], row[8], row[11]) == (single_value, separators, symmetric)


def test_fields_of_a_property():
    value = snak("P6", "wikibase-entityid", linked(22686), hash="abc")
    text = line(
        "P6",
        claim(snak("P31", "wikibase-entityid", linked(22984363))),
        claim(snak("P1855", "wikibase-entityid", linked(30)), value, snak("P580", None, "somevalue")),
        claim(snak("P1855", "wikibase-entityid", linked(31)), value, rank="deprecated"),
        claim(snak("P1855", "wikibase-entityid", linked(32))),
        *(claim(snak("P1696", "wikibase-entityid", property_(number))) for number in (1308, 35)),
        claim(snak("P1696", "wikibase-entityid", property_(36)), rank="deprecated"),
        labels={"en": {"value": "head of government"}},
        aliases={"en": [{"value": "premier"}]},
        datatype="wikibase-item",
        type="property",
    )
    row = property_row(read_entity(text), 6, 4)
    (example,) = row[9]
    assert row[:9] == (
        *(6, "head of government", None, ["premier"], "wikibase-item", None),
        *([22984363], False, []),
    )
    assert row[10:] == ([35, 1308], False, 4)
    assert example[0] == 30
    del value["hash"]
    assert json.loads(example[1]) == value
