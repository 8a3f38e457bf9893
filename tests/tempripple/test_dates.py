"""Dates as the days that they may mean, and the two roads that lead to them: Wikidata's JSON and its RDF."""

import datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.worlds import GREGORIAN, JULIAN

from factdrift.core.tables import database
from factdrift.tempripple.claims import NEVER, Date, Span, arrow_day, covered, day_number
from factdrift.tempripple.table_source import DATE_MACROS
from factdrift.wikidata.time import parse_time


def day(text: str) -> int:
    return datetime.date.fromisoformat(text).toordinal()


@pytest.mark.parametrize(
    ("packed", "precision", "first", "last"),
    [
        (20240229, 11, "2024-02-29", "2024-02-29"),
        (20240201, 10, "2024-02-01", "2024-02-29"),
        (20150101, 9, "2015-01-01", "2015-12-31"),
        (20150101, 8, "2006-01-01", "2024-12-31"),
        (20150101, 7, "1916-01-01", "2114-12-31"),
        (20150101, 6, "1016-01-01", "3014-12-31"),
    ],
)
def test_days_of_a_date(packed, precision, first, last):
    assert covered(Date(packed, precision)) == Span(day(first), day(last))


def test_what_no_date_or_no_arrow_array_holds():
    """Dates coarser than a millennium, the year 0, days before the year 1, and never."""
    assert covered(Date(20150101, 5)) is None
    assert arrow_day(NEVER) is None
    assert arrow_day(-5) == arrow_day(1)
    before, after = covered(Date(-1 * 10_000 + 101, 9)), covered(Date(1 * 10_000 + 101, 9))
    assert before is not None
    assert after is not None
    assert before.hi + 1 == after.lo == 1
    assert before.hi - before.lo == 365  # 1 BC, astronomically the year 0, is a leap year


@given(st.dates())
def test_day_numbers_are_those_of_the_calendar(date):
    number = day_number(date.year, date.month, date.day)
    assert number == date.toordinal()
    assert arrow_day(number) == (date - datetime.date(1970, 1, 1)).days


STAMPS = [
    ("+2015-00-00T00:00:00Z", 9, GREGORIAN, 20150101),
    ("+2015-05-17T00:00:00Z", 9, GREGORIAN, 20150101),
    ("+2015-05-17T00:00:00Z", 10, GREGORIAN, 20150501),
    ("+2015-00-00T00:00:00Z", 11, GREGORIAN, 20150101),
    ("+2015-13-40T00:00:00Z", 11, GREGORIAN, 20151231),
    ("+2015-02-30T00:00:00Z", 11, GREGORIAN, 20150228),
    ("+2000-02-30T00:00:00Z", 11, GREGORIAN, 20000229),
    ("+1900-02-30T00:00:00Z", 11, GREGORIAN, 19000228),
    ("-0001-02-30T00:00:00Z", 11, GREGORIAN, -10000 + 229),
    ("-0002-02-30T00:00:00Z", 11, GREGORIAN, -20000 + 228),
    ("+2015-05-17T00:00:00Z", 14, GREGORIAN, 20150517),
    ("+1582-10-04T00:00:00Z", 11, JULIAN, 15821014),
    ("+1582-10-00T00:00:00Z", 10, JULIAN, 15821001),
    ("+1582-10-04T00:00:00Z", 9, JULIAN, 15820101),
    ("-0044-03-15T00:00:00Z", 11, JULIAN, -44 * 10_000 + 313),
    ("+0000-00-00T00:00:00Z", 9, GREGORIAN, None),
]


def test_json_dates_as_the_rdf_export_has_them():
    """The packed days that the table source takes from time values of the JSON."""
    with database() as db:
        db.execute(DATE_MACROS)
        db.execute(
            "CREATE TABLE t (time STRUCT(year BIGINT, month TINYINT, day TINYINT, precision TINYINT, "
            "julian BOOLEAN, written BIGINT, first BIGINT, last BIGINT))"
        )
        db.executemany("INSERT INTO t SELECT ?", [[parse_time(*stamp)._asdict()] for *stamp, _ in STAMPS])
        found = db.sql("SELECT rdf_day(time) FROM t").fetchall()
    assert [(*stamp, day) for (*stamp, _), (day,) in zip(STAMPS, found, strict=True)] == STAMPS
