"""Values as the sample's tables write them."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factdrift.snapshots.sample.value_text import parse_day, parse_snak, parse_time_text

WIKIDATA = "http://www.wikidata.org/entity/"
GREGORIAN, JULIAN = f"{WIKIDATA}Q1985727", f"{WIKIDATA}Q1985786"


@pytest.mark.parametrize(
    ("text", "time", "precision", "calendar"),
    [
        ("1990-03-02", "+1990-03-02", 11, GREGORIAN),
        ("1990-03", "+1990-03-00", 10, GREGORIAN),
        ("1990", "+1990-00-00", 9, GREGORIAN),
        ("1990s", "+1990-00-00", 8, GREGORIAN),
        ("-0340s", "-0340-00-00", 8, GREGORIAN),
        ("c20", "+2000-00-00", 7, GREGORIAN),
        ("c-3", "-0300-00-00", 7, GREGORIAN),
        ("-0044-03-15", "-0044-03-15", 11, GREGORIAN),
        ("0476-09-04 julian", "+0476-09-04", 11, JULIAN),
        ("1616 julian", "+1616-00-00", 9, JULIAN),
        ("1700-02-29 julian", "+1700-02-29", 11, JULIAN),
        ("1990-01-01/9", "+1990-01-01", 9, GREGORIAN),
        ("2016-06-31/11", "+2016-06-31", 11, GREGORIAN),
        ("-13798000000/1", "-13798000000-00-00", 1, GREGORIAN),
    ],
)
def test_dates(text, time, precision, calendar):
    value, parsed = parse_time_text(text)
    known = {"timezone": 0, "before": 0, "after": 0, "precision": precision, "calendarmodel": calendar}
    assert value == {"time": f"{time}T00:00:00Z", **known}
    assert parsed.precision == precision
    assert parsed.julian == (calendar == JULIAN)


@pytest.mark.parametrize(
    "text",
    [
        *("90", "1990-13", "1990-00", "1990-02-30", "2021-02-29", "0000", "c0", "0000s", "1990-1-1"),
        *("1990/15", "1990-13-01/9", "soon", "1990s/8", "1990-03-02T00:00:00Z", "+1990", "1700-02-29"),
    ],
)
def test_what_is_no_date(text):
    with pytest.raises(ValueError, match=r"date|year|month|out of range"):
        parse_time_text(text)


@given(st.integers(1, 9999), st.integers(0, 12), st.integers(0, 31), st.integers(0, 14), st.booleans())
def test_raw_dates_keep_their_fields(year, month, day, precision, before):
    sign = "-" if before else ""
    value, parsed = parse_time_text(f"{sign}{year:04d}-{month:02d}-{day:02d}/{precision}")
    assert (parsed.year, parsed.month, parsed.day) == (-year if before else year, month, day)
    assert value["time"] == f"{sign or '+'}{year:04d}-{month:02d}-{day:02d}T00:00:00Z"
    assert parsed.first <= parsed.last


@pytest.mark.parametrize(
    ("datatype", "text", "value"),
    [
        ("wikibase-item", "Q42", {"entity-type": "item", "numeric-id": 42, "id": "Q42"}),
        ("wikibase-property", "P31", {"entity-type": "property", "numeric-id": 31, "id": "P31"}),
        ("wikibase-lexeme", "L7", {"entity-type": "lexeme", "numeric-id": 7, "id": "L7"}),
        ("wikibase-form", "L7-F1", {"entity-type": "form", "id": "L7-F1"}),
        ("wikibase-sense", "L7-S2", {"entity-type": "sense", "id": "L7-S2"}),
        ("quantity", "+125440000", {"amount": "+125440000", "unit": "1"}),
        ("quantity", "-0.50 Q712226", {"amount": "-0.50", "unit": f"{WIKIDATA}Q712226"}),
        ("monolingualtext", "de-at:Jänner: kalt", {"text": "Jänner: kalt", "language": "de-at"}),
        (
            "globe-coordinate",
            "51.5,-0.12",
            {"latitude": 51.5, "longitude": -0.12}
            | {"altitude": None, "precision": None, "globe": f"{WIKIDATA}Q2"},
        ),
        ("string", "a=b;c", "a=b;c"),
        ("external-id", "0042", "0042"),
        ("commonsMedia", "A b.jpg", "A b.jpg"),
    ],
)
def test_values(datatype, text, value):
    types = {"external-id": "string", "commonsMedia": "string", "globe-coordinate": "globecoordinate"}
    type_ = "wikibase-entityid" if datatype.startswith("wikibase-") else types.get(datatype, datatype)
    snak = parse_snak(1, datatype, text)
    assert (snak.kind, snak.datatype, snak.type, snak.value) == ("value", datatype, type_, value)


@pytest.mark.parametrize("kind", ["somevalue", "novalue"])
@pytest.mark.parametrize("datatype", ["wikibase-item", "time", "quantity", "string"])
def test_no_value_fits_every_datatype(kind, datatype):
    snak = parse_snak(1, datatype, kind)
    assert (snak.kind, snak.type, snak.value, snak.item, snak.time) == (kind, None, None, None, None)


NO_VALUES = {
    "wikibase-item": ["P42", "42"],
    "wikibase-property": ["Q42"],
    "wikibase-lexeme": ["Q7"],
    "quantity": ["125440000", "+1,000", "+1 km", "+1.5Q712226"],
    "monolingualtext": ["Text", "en:"],
    "globe-coordinate": ["north", "95.0,10"],
    "time": ["yesterday"],
    "string": ["", " blank"],
}


@pytest.mark.parametrize(("datatype", "texts"), NO_VALUES.items())
def test_what_is_no_value(datatype, texts):
    for text in texts:
        with pytest.raises(ValueError):
            parse_snak(1, datatype, text)


@pytest.mark.parametrize(("datatype", "text"), [("wikibase-item", "Q{}"), ("quantity", "+1 Q{}")])
def test_redirected_values(datatype, text):
    before, after = (parse_snak(6, datatype, text.format(number)) for number in (1, 2))
    assert before.redirected(2) == after


def test_days():
    assert parse_day("2021-01-04") == 20210104
    assert parse_day("2020-02-29") == 20200229
    for text in ("2021-02-29", "2021-13-01", "2021", "20210104", "0000-01-01", ""):
        with pytest.raises(ValueError, match="is no day; write one such as 2021-01-04"):
            parse_day(text)
