"""What becomes of one entity: every field and every oddity of the spec, through to the gathered tables."""

import json
from typing import Any

import pytest

from factdrift.statements.rows import Oddities, entity_row, property_row
from factdrift.statements.statement_columns import StatementColumns
from factdrift.wikidata.entity import read_entity, read_outline

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
    found: list[dict[str, Any]] = columns.rows().to_pylist()
    return found


@pytest.mark.parametrize(
    ("statement", "expected"),
    [
        (claim(snak("P9", None, "somevalue")), dict.fromkeys(("object", "key", "json", "time"))),
        (claim(snak("P9", None, "somevalue")), {"snak": "somevalue"}),
        (claim({"snaktype": "value", "property": "P9"}), {"object": None, "key": "null", "json": "null"}),
        (claim({"snaktype": "value", "property": "P9"}), {"snak": "value"}),
        ({"mainsnak": snak("P9", "string", "x")}, {"statement": None, "rank": "normal", "qualifiers": []}),
        (claim(snak("P9", "string", "x"), qualifiers=[]), {"qualifiers": []}),
    ],
)
def test_statements_that_lack_something(statement, expected):
    (row,) = rows(statement)
    assert expected.items() <= row.items()


Y2001, Y2005, MAY_2005 = (
    snak("", "time", date(f"+{day}T00:00:00Z", precision))
    for day, precision in (("2001-00-00", 9), ("2005-00-00", 9), ("2005-05-00", 10))
)
SOME, NONE = snak("", None, "somevalue"), snak("", None, "novalue")
IMPOSSIBLE = snak("", "time", "yesterday")


@pytest.mark.parametrize(
    ("values", "start", "start_unknown", "end", "end_unknown", "pit"),
    [
        ([], None, False, None, False, None),
        ([Y2001], 20010101, False, 20010101, False, 20010101),
        ([MAY_2005, Y2005, Y2001], 20010101, False, 20050501, False, 20050501),
        ([Y2005, MAY_2005], 20050101, False, 20050501, False, 20050501),
        ([NONE], None, False, None, False, None),
        ([NONE, SOME], None, True, None, True, None),
        ([SOME, Y2001], 20010101, False, 20010101, False, 20010101),
        ([IMPOSSIBLE], None, True, None, True, None),
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


def test_of_dates_with_one_first_day_the_one_that_ends_later_is_the_last():
    day = snak("P582", "time", date("+2001-01-01T00:00:00Z", 11))
    for ends in ([{**Y2001, "property": "P582"}, day], [day, {**Y2001, "property": "P582"}]):
        (row,) = rows(claim(snak("P9", "string", "x"), *ends))
        assert row["end"]["precision"] == 9


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
    raw = {"wikibase-item": 1}
    counts = Oddities(several_starts=1, unreadable_dates=2, unusable_entities=1, raw_values=raw)
    assert oddities == counts


@pytest.mark.parametrize(
    ("kind", "value", "datatype"),
    [
        ("wikibase-entityid", linked(5), "wikibase-item"),
        ("wikibase-entityid", {"entity-type": "property", "numeric-id": 5}, "wikibase-property"),
        ("wikibase-entityid", {"entity-type": "lexeme", "id": "L5"}, "wikibase-lexeme"),
        ("wikibase-entityid", None, "wikibase-item"),
        ("globecoordinate", {"latitude": 1.5}, "globe-coordinate"),
        ("brand-new", [1], "brand-new"),
    ],
)
def test_datatype_is_inferred_where_the_snak_has_none(kind, value, datatype):
    (row,) = rows(claim(snak("P9", kind, value)))
    assert row["inferred"] is None
    (row,) = rows(claim(snak("P9", kind, value, datatype=None)))
    assert (row["datatype"], row["inferred"]) == (None, datatype)


@pytest.mark.parametrize(
    ("symbols", "symbol"),
    [
        ([("ru", "км", "normal"), ("mul", "km", "normal")], "km"),
        ([("mul", "km", "preferred"), ("en", "kilom", "normal")], "kilom"),
        ([("ru", "a", "normal"), ("de", "b", "normal")], "a"),
        ([("ru", "a", "normal"), ("de", "b", "preferred")], "b"),
        ([("en", "a", "deprecated"), ("de", "b", "normal")], "b"),
        ([("en", "a", "normal"), ("en", "b", "normal"), ("en", "c", "preferred")], "c"),
    ],
)
def test_unit_symbol(symbols, symbol):
    values = [({"language": language, "text": text}, rank) for language, text, rank in symbols]
    claims = [claim(snak("P5061", "monolingualtext", value), rank=rank) for value, rank in values]
    assert entity_row(read_outline(line("Q1", *claims)), 1, False, 1)[10] == symbol


def constraint(kind: int, *separators: int, rank: str = "normal") -> dict[str, Any]:
    apart = [snak("P4155", "wikibase-entityid", property_(number)) for number in separators]
    return claim(snak("P2302", "wikibase-entityid", linked(kind)), *apart, rank=rank)


@pytest.mark.parametrize(
    ("constraints", "single_value", "separators", "symmetric"),
    [
        ([], False, [], False),
        ([constraint(52060874)], True, [], False),
        ([constraint(19474404, 585), constraint(52060874, 580, 585)], True, [580, 585], False),
        ([constraint(19474404, 585, rank="deprecated")], False, [], False),
        ([constraint(21502410, 585), constraint(19474404)], True, [], False),
        ([constraint(19474404), constraint(21510862)], True, [], True),
    ],
)
def test_constraints(constraints, single_value, separators, symmetric):
    row = property_row(read_entity(line("P6", *constraints)), 6, 1)
    assert (row[7], row[8], row[11]) == (single_value, separators, symmetric)


def test_fields_of_a_property():
    value = snak("P6", "wikibase-entityid", linked(22686), hash="abc")
    inverse = {number: snak("P1696", "wikibase-entityid", property_(number)) for number in (1308, 35, 36)}
    text = line(
        "P6",
        claim(snak("P31", "wikibase-entityid", linked(22984363))),
        claim(snak("P1855", "wikibase-entityid", linked(30)), value, snak("P580", None, "somevalue")),
        claim(snak("P1855", "wikibase-entityid", linked(31)), value, rank="deprecated"),
        claim(snak("P1855", "wikibase-entityid", linked(32))),
        *(claim(inverse[number]) for number in (1308, 35)),
        claim(inverse[36], rank="deprecated"),
        labels={"en": {"value": "head of government"}},
        datatype="wikibase-item",
        type="property",
    )
    row = property_row(read_entity(text), 6, 4)
    ((subject, example),) = row[9]
    assert row[:5] == (6, "head of government", None, [], "wikibase-item")
    assert (row[6], row[10:]) == ([22984363], ([35, 1308], False, 4))
    del value["hash"]
    assert (subject, json.loads(example)) == (30, value)
