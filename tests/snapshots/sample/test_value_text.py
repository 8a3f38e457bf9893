"""Values as the sample's tables write them."""

import pytest

from factdrift.snapshots.sample.value_text import parse_day, parse_snak, parse_time_text

WIKIDATA = "http://www.wikidata.org/entity/"
GREGORIAN, JULIAN = f"{WIKIDATA}Q1985727", f"{WIKIDATA}Q1985786"


@pytest.mark.parametrize(
    ("text", "time", "precision", "calendar"),
    [
        ("1990-03-02", "+1990-03-02", 11, GREGORIAN),
        ("1990-03", "+1990-03-00", 10, GREGORIAN),
        ("1990s", "+1990-00-00", 8, GREGORIAN),
        ("c20", "+2000-00-00", 7, GREGORIAN),
        ("-0044-03-15", "-0044-03-15", 11, GREGORIAN),
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
        *("90", "1990-13", "1990-02-30", "2021-02-29", "0000", "c0", "1990-1-1"),
        *("1990/15", "1990-13-01/9", "1990s/8", "+1990", "1700-02-29"),
    ],
)
def test_what_is_no_date(text):
    with pytest.raises(ValueError, match=r"date|year|month|out of range"):
        parse_time_text(text)


@pytest.mark.parametrize(
    ("datatype", "text", "value"),
    [
        ("wikibase-lexeme", "L7", {"entity-type": "lexeme", "numeric-id": 7, "id": "L7"}),
        ("wikibase-form", "L7-F1", {"entity-type": "form", "id": "L7-F1"}),
        ("quantity", "-0.50 Q712226", {"amount": "-0.50", "unit": f"{WIKIDATA}Q712226"}),
        ("monolingualtext", "de-at:Jänner: kalt", {"text": "Jänner: kalt", "language": "de-at"}),
        ("string", "a=b;c", "a=b;c"),
    ],
)
def test_values(datatype, text, value):
    snak = parse_snak(1, datatype, text)
    assert (snak.kind, snak.datatype, snak.value) == ("value", datatype, value)


def test_days():
    assert parse_day("2020-02-29") == 20200229
    for text in ("2021-02-29", "2021-13-01", "20210104", "0000-01-01", ""):
        with pytest.raises(ValueError, match="is no day; write one such as 2021-01-04"):
            parse_day(text)
