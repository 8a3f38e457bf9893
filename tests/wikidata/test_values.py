"""When two values are equal: by the canonical key of the paper, and by the JSON of the reference code."""

import json
import unicodedata
from decimal import Decimal, localcontext
from itertools import product
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from factdrift.wikidata.values import canonical_json, clean_value, decimal_key, read_time, read_value

GREGORIAN = "http://www.wikidata.org/entity/Q1985727"
JULIAN = "http://www.wikidata.org/entity/Q1985786"

FLOATS = st.floats(allow_nan=False, allow_infinity=False)
JSON = st.recursive(
    st.none() | st.booleans() | st.integers(-(2**70), 2**70) | st.text() | FLOATS,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=8,
)


def time(timestamp: str, precision: Any = 11, calendar: str = GREGORIAN) -> dict[str, Any]:
    return {"time": timestamp, "precision": precision, "calendarmodel": calendar, "timezone": 0}


@pytest.mark.parametrize(
    ("value", "number", "key"),
    [
        ({"entity-type": "item", "numeric-id": 42, "id": "Q42"}, 42, "Q42"),
        ({"entity-type": "item", "numeric-id": 42}, 42, "Q42"),
        ({"entity-type": "property", "numeric-id": 31}, -31, "P31"),
        ({"entity-type": "property", "id": "P31"}, -31, "P31"),
        ({"entity-type": "item", "id": "Q42", "numeric-id": 43}, 42, "Q42"),
        ({"entity-type": "form", "id": "L1-F1"}, None, "L1-F1"),
    ],
)
def test_entities(value, number, key):
    read = read_value("wikibase-entityid", value)
    assert (read.object, read.key) == (number, key)
    assert (read.json is None) == (number is not None)


@pytest.mark.parametrize(
    "value",
    [
        *({"entity-type": "item", "numeric-id": number} for number in (0, -5, 2**31, "5")),
        *({"entity-type": kind, "numeric-id": 5} for kind in (["item"], "lexeme")),
        *({"entity-type": "item"}, {"id": ""}, {"id": 5}, {}, [], "Q42", None),
    ],
)
def test_the_key_of_an_entity_without_usable_id_is_its_json(value):
    json_text = canonical_json(value)
    assert read_value("wikibase-entityid", value) == (None, json_text, json_text, None)


@pytest.mark.parametrize(
    ("amount", "key"),
    [
        *(("+10.0", "10"), ("10.500", "10.5"), ("-0", "0"), ("-0.10", "-0.1"), ("+007", "7")),
        ("+123456789012345678901234567890.10", "123456789012345678901234567890.1"),
        *((amount, None) for amount in ("", "+", "1e5", "NaN", "1,5", "٣", "--1", "+.5")),
    ],
)
def test_amounts_are_decimals(amount, key):
    assert decimal_key(amount) == key
    assert read_value("quantity", {"amount": amount}).key == (key or canonical_json({"amount": amount}))


@given(st.decimals(allow_nan=False, allow_infinity=False), st.decimals(allow_nan=False, allow_infinity=False))
@settings(max_examples=examples(80))
def test_amounts_are_the_same_if_their_numbers_are(one, two):
    keys = [decimal_key(f"{number:+f}") for number in (one, two)]
    assert (keys[0] == keys[1]) == (one == two)
    assert keys[0] is not None
    with localcontext(prec=400):
        assert Decimal(keys[0]) == one


def test_units_belong_to_a_quantity_and_bounds_do_not():
    metre = "http://www.wikidata.org/entity/Q11573"

    def key(**value: str) -> str:
        return read_value("quantity", value).key

    assert key(amount="+10", unit=metre) == "10 Q11573"
    assert key(amount="+10.0", unit=metre, upperBound="+11", lowerBound="+9") == "10 Q11573"
    assert key(amount="+10", unit="1") == key(amount="+10") == "10"
    assert key(amount="+10", unit=metre.replace("http:", "https:")) == "10 Q11573"


@pytest.mark.parametrize(
    ("timestamp", "precision", "key"),
    [
        ("+2021-01-04T00:00:00Z", 11, "+2021-01-04/11/Q1985727"),
        ("+00000002021-01-04T00:00:00Z", 11, "+2021-01-04/11/Q1985727"),
        ("+2021-01-04T00:00:00Z", 10, "+2021-01/10/Q1985727"),
        ("+2021-00-00T00:00:00Z", 9, "+2021/9/Q1985727"),
        ("+1999-07-01T00:00:00Z", 8, "+1990/8/Q1985727"),
        ("+2000-00-00T00:00:00Z", 7, "+1901/7/Q1985727"),
        ("-0044-03-15T00:00:00Z", 11, "-0044-03-15/11/Q1985727"),
        ("-13798000000-00-00T00:00:00Z", 3, "-13798000000/3/Q1985727"),
        ("+2016-06-31T00:00:00Z", 11, "+2016-06-31/11/Q1985727"),
        ("+2016-06-30T12:30:00Z", 11, "+2016-06-30/11/Q1985727"),
        ("+2016-06-30T12:30:00Z", 14, "+2016-06-30T12:30:00Z/14/Q1985727"),
    ],
)
def test_dates_are_cut_at_their_precision(timestamp, precision, key):
    value = time(timestamp, precision)
    read = read_value("time", value)
    assert read.key == key
    assert read.time is not None
    assert read.time == read_time(value)
    assert read.json == canonical_json(value)


def test_precision_and_calendar_belong_to_a_date():
    times = (time("+1700-01-01T00:00:00Z", *each) for each in product(range(15), (GREGORIAN, JULIAN)))
    assert len({read_value("time", each).key for each in times}) == 30


@pytest.mark.parametrize(
    "value",
    [
        *(time(text) for text in ("2021", "2021-01-04", "+999999999999999-01-04T00:00:00Z")),
        *(time("+2021-01-04T00:00:00Z", precision) for precision in (None, 15, -1)),
        {"time": 2021, "precision": 9},
        "+2021-01-04T00:00:00Z",
        None,
    ],
)
def test_unreadable_dates(value):
    json_text = canonical_json(value)
    assert read_value("time", value) == (None, json_text, json_text, None)
    assert read_time(value) is None


def test_texts_are_compared_in_normal_form_c():
    composed, decomposed = "Zürich", unicodedata.normalize("NFD", "Zürich")
    assert read_value("string", composed).key == read_value("string", decomposed).key == composed
    assert read_value("string", composed).json == read_value("string", decomposed).json

    def monolingual(language: str, text: str) -> str:
        return read_value("monolingualtext", {"language": language, "text": text}).key

    assert monolingual("de", decomposed) == monolingual("de", composed) == "de:Zürich"
    assert monolingual("de", composed) != monolingual("en", composed)


KINDS = st.sampled_from(["wikibase-entityid", "time", "quantity", "monolingualtext", "string", "new"])
KEYS = st.sampled_from(["id", "numeric-id", "entity-type", "time", "precision", "calendarmodel", "amount"])
FIELDS = JSON | st.just("item") | st.just(9) | st.just("+2000-01-01T00:00:00Z")


@given(KINDS, JSON | st.dictionaries(KEYS, FIELDS))
@settings(max_examples=examples(100))
def test_any_value_of_any_kind_passes_through(kind, value):
    read = read_value(kind, value)
    assert read.key or clean_value(value) == ""
    assert read.object is not None or read.json == canonical_json(clean_value(value))


@given(st.dictionaries(st.text(max_size=4), JSON, max_size=5), st.randoms())
@settings(max_examples=examples(100))
def test_canonical_json_keeps_the_value_and_ignores_the_order_of_keys(value, random):
    text = canonical_json(value)
    assert json.loads(text) == value
    assert canonical_json(json.loads(text)) == text
    items = list(value.items())
    random.shuffle(items)
    assert canonical_json(dict(items)) == text
