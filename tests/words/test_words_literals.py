"""Literals as people write them: tables of cases, and properties that hold for any value."""

import json
import re
from decimal import Decimal

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples

from factdrift.words.dates import ordinal
from factdrift.words.literals import PERCENT, plural, short_number, shown, written_number

WIKIDATA = "http://www.wikidata.org/entity/"
KILOGRAM, DOLLAR, DEGREE, POUND, KNOT, NAMELESS = range(1, 7)
UNITS = {
    **{KILOGRAM: ("kilogram", "kg"), DOLLAR: ("United States dollar", "US$"), DEGREE: ("degree", "°")},
    **{POUND: ("pound sterling", None), KNOT: ("nautical mile per hour", None)},
    **{NAMELESS: (None, None), PERCENT: ("percent", None)},
}


def time_json(time: str, precision: int, calendar: str = "Q1985727") -> str:
    value = {"after": 0, "before": 0, "calendarmodel": WIKIDATA + calendar, "precision": precision}
    return json.dumps(value | {"time": time})


def quantity_json(amount: str, unit: int | None = None) -> str:
    return json.dumps({"amount": amount, "unit": "1" if unit is None else f"{WIKIDATA}Q{unit}"})


@pytest.mark.parametrize(
    ("time", "precision", "label"),
    [
        *(("+2022-09-08", 11, "September 8, 2022"), ("+2022-09-00", 11, "September 2022")),
        *(("+2022-09-08", 14, "September 8, 2022"), ("+2022-09-08", 10, "September 2022")),
        *(("+2022-00-00", 11, "2022"), ("+2022-09-08", 9, "2022")),
        *(("+1997-01-01", 8, "1990s"), ("-0430-00-00", 8, "430s BC"), ("+0093-00-00", 8, "90s AD")),
        *(("+1901-00-00", 7, "20th century"), ("+2000-00-00", 7, "20th century")),
        *(("+0001-00-00", 7, "1st century"), ("-0201-00-00", 7, "3rd century BC")),
        *(("-1500-00-00", 6, "2nd millennium BC"), ("+2000-00-00", 6, "2nd millennium")),
        *(("-0044-00-00", 9, "44 BC"), ("-0044-03-00", 10, "March 44 BC")),
        *(("-0044-03-15", 11, "March 15, 44 BC"), ("+0014-08-19", 11, "August 19, 14 AD")),
        *(("+0099-00-00", 9, "99 AD"), ("+0100-00-00", 9, "100")),
        *(("-10000-00-00", 9, "10,000 BC"), ("-12000-00-00", 5, "10,000 BC")),
        *(("-66000000-00-00", 3, "66 million years BC"), ("-13798000000-00-00", 0, "14 billion years BC")),
        ("-13798000000-00-00", 3, "13.798 billion years BC"),
        ("-600000-00-00", 3, "1 million years BC"),
        ("+5000000000-00-00", 0, "5 billion years AD"),
    ],
)
def test_dates_by_precision(time: str, precision: int, label: str) -> None:
    raw = f"{time}T00:00:00Z"
    assert shown("time", time_json(raw, precision), {}) == (label, label, raw)


def test_a_julian_date_is_shown_as_it_was_written() -> None:
    julian = time_json("+1616-04-23T00:00:00Z", 11, "Q1985786")
    assert shown("time", julian, {}).label == "April 23, 1616"


@pytest.mark.parametrize(
    "value",
    [
        *(time_json("+0000-00-00T00:00:00Z", precision) for precision in range(12)),
        *(time_json("+2022-00-00T00:00:00Z", precision) for precision in range(6)),
        time_json("-4000-00-00T00:00:00Z", 3),
        *(time_json(f"+2016-{day}T00:00:00Z", 11) for day in ("06-31", "02-30", "13-01")),
        time_json("+2015-02-29T00:00:00Z", 11),
        time_json("+2016-13-01T00:00:00Z", 10),
        *(time_json("+2016-01-01T00:00:00Z", precision) for precision in (15, -1)),
        time_json("2016", 9),
        '{"time": "+2016-01-01T00:00:00Z"}',
        '{"time": "+2016-01-01T00:00:00Z", "precision": "9"}',
        '{"time": "+2016-01-01T00:00:00Z", "precision": 9, "calendarmodel": null}',
    ],
)
def test_dates_without_words_are_shown_raw(value: str) -> None:
    raw = json.loads(value)["time"]
    assert shown("time", value, {}) == (raw, raw, raw)


@pytest.mark.parametrize(
    ("amount", "unit", "label", "short"),
    [
        ("+125440000", None, "125,440,000", "125.44M"),
        ("+83", PERCENT, "83%", "83%"),
        ("+12.50", KILOGRAM, "12.5 kg", "12.5 kg"),
        ("+274515000000", DOLLAR, "US$274,515,000,000", "US$274.52B"),
        ("-5.5", DOLLAR, "-US$5.50", "-US$5.50"),
        ("+90", DEGREE, "90°", "90°"),
        ("+1", POUND, "1 pound sterling", "1 pound sterling"),
        ("+2000000", POUND, "2,000,000 pounds sterling", "2M pounds sterling"),
        ("+2", KNOT, "2 nautical miles per hour", "2 nautical miles per hour"),
        ("+5", NAMELESS, f"5 Q{NAMELESS}", f"5 Q{NAMELESS}"),
        *(("-0", None, "0", "0"), ("+0.920", None, "0.92", "0.92")),
        *(("-2300000", None, "-2,300,000", "-2.3M"), ("+999999", None, "999,999", "999,999")),
        ("+999999999.9", None, "999,999,999.9", "1B"),
        ("+999999999999999", None, "999,999,999,999,999", "999,999,999,999,999"),
        ("+1000000000000000", None, "1,000,000,000,000,000", "1,000,000,000,000,000"),
    ],
)
def test_quantities(amount: str, unit: int | None, label: str, short: str) -> None:
    assert shown("quantity", quantity_json(amount, unit), UNITS) == (label, short, amount)


@pytest.mark.parametrize(
    ("datatype", "value", "raw"),
    [
        ("string", '"10 Downing Street "', "10 Downing Street "),
        ("monolingualtext", '{"language":"fr","text":"République française"}', "République française"),
        ("quantity", '{"amount":"many","unit":"1"}', "many"),
        ("quantity", '{"amount":"+5","unit":"kg"}', "+5"),
        ("quantity", '{"amount":"+٥","unit":"1"}', "+٥"),
        ("quantity", '{"amount":5,"unit":"1"}', '{"amount":5,"unit":"1"}'),
        ("quantity", "[]", "[]"),
        ("wikibase-lexeme", '{"entity-type":"lexeme","id":"L1"}', "L1"),
        ("globe-coordinate", '{"latitude":1.5}', '{"latitude":1.5}'),
        ("string", '{"broken', '{"broken'),
        ("a datatype to come", '"text"', "text"),
    ],
)
def test_texts_and_unknown_values_are_shown_as_they_are(datatype: str, value: str, raw: str) -> None:
    assert shown(datatype, value, {}) == (raw, raw, raw)


def test_plurals_of_units_and_ordinals() -> None:
    ordinals = ["1st", "2nd", "3rd", "4th", "11th", "12th", "13th", "21st", "102nd", "111th"]
    assert [ordinal(int(text[:-2])) for text in ordinals] == ordinals
    expected = {
        **{"euro": "euros", "inch": "inches", "square foot": "square feet", "century": "centuries"},
        **{"day": "days", "metre per second": "metres per second", "degree of arc": "degrees of arc"},
        **{"kilogram per cubic metre": "kilograms per cubic metre", "ton (short)": "tons (short)"},
        **{"degree Celsius": "degrees Celsius", "solar mass": "solar masses", "light-year": "light-years"},
        **{"watt-hour": "watt-hours", "light-year per day": "light-years per day", "woman": "women"},
        **{"school bus": "school buses", "class": "classes", "box": "boxes", "Danish krone": "Danish kroner"},
        **{"Bulgarian lev": "Bulgarian leva", "pound-force": "pounds-force", "square-foot": "square-feet"},
        **{"Man": "men", "German": "Germans", "Swiss franc": "Swiss francs", "cubic inch": "cubic inches"},
    }
    alike = ("Japanese yen", "years old", "hertz", "kg/m³", "Polish złoty", "people", "solar masses")
    expected |= {label: label for label in alike}
    assert {label: plural(label) for label in expected} == expected


decimals = st.decimals(allow_nan=False, allow_infinity=False)


@settings(max_examples=examples(150))
@given(decimals)
def test_a_written_number_is_the_number(number: Decimal) -> None:
    text = written_number(number)
    assert Decimal(text.replace(",", "")) == number
    assert re.fullmatch(r"-?\d{1,3}(,\d{3})*(\.\d*[1-9])?", text)


@settings(max_examples=examples(150))
@given(st.decimals(min_value=-(10**16), max_value=10**16, places=3))
def test_a_short_number_is_the_number_to_two_decimals(number: Decimal) -> None:
    text = short_number(number)
    match = re.fullmatch(r"(-?[\d.]+)([MBT])", text)
    if match is None:
        assert text == written_number(number)
        return
    scale = {"M": 10**6, "B": 10**9, "T": 10**12}[match[2]]
    assert abs(Decimal(match[1])) < 1000
    assert abs(Decimal(match[1]) * scale - number) <= Decimal(scale) / 200


dates = st.tuples(st.integers(-(10**11), 10**11), st.integers(0, 13), st.integers(0, 32))
fields = st.sampled_from(["time", "precision", "calendarmodel", "amount", "unit", "text", "id"])
json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(fields, inner),
    max_leaves=6,
)


@settings(max_examples=examples(200))
@given(st.sampled_from(["time", "quantity", "string", "monolingualtext", "math"]), json_values)
def test_no_value_crashes(datatype: str, value: object) -> None:
    assert all(isinstance(form, str) for form in shown(datatype, json.dumps(value), UNITS))


@settings(max_examples=examples(200))
@given(dates, st.integers(0, 14), st.booleans())
def test_every_date_has_words_or_its_raw_form(date: tuple[int, ...], precision: int, julian: bool) -> None:
    year, month, day = date
    raw = f"{year:+05d}-{month:02d}-{day:02d}T00:00:00Z"
    label = shown("time", time_json(raw, precision, "Q1985786" if julian else "Q1985727"), {}).label
    assert label == raw or label == " ".join(label.split())
    assert ("BC" in label) == (year < 0) or label == raw
    if 1000 <= year < 10_000 and precision == 9:
        assert label == str(year)
