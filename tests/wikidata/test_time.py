"""Days of the Julian and the Gregorian calendar, and those that a date of some precision covers."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from factdrift.wikidata.time import MONTH, covered, gregorian_to_julian, julian_to_gregorian, parse_time


@given(st.integers(-6000, 6000).filter(bool), st.integers(1, 12), st.integers(1, 28))
def test_julian_and_gregorian_days_are_converted_back(year, month, day):
    assert gregorian_to_julian(*julian_to_gregorian(year, month, day)) == (year, month, day)
    assert julian_to_gregorian(*gregorian_to_julian(year, month, day)) == (year, month, day)


def test_days_of_both_calendars():
    assert gregorian_to_julian(1582, 10, 15) == (1582, 10, 5)
    assert gregorian_to_julian(1900, 3, 13) == (1900, 2, 29)
    assert gregorian_to_julian(1, 1, 1) == (1, 1, 3)
    assert gregorian_to_julian(-753, 4, 13) == (-753, 4, 21)
    # February has 29 days in each fourth Julian year.
    time = parse_time("+1900-02-00T00:00:00Z", MONTH, "http://www.wikidata.org/entity/Q1985786")
    assert (time.first, time.last) == (19000213, 19000313)


@pytest.mark.parametrize(
    ("date", "precision", "first", "last"),
    [
        ((2021, 1, 4), 11, (2021, 1, 4), (2021, 1, 4)),
        ((2021, 5, 5), 9, (2021, 1, 1), (2021, 12, 31)),
        ((2021, 4, 0), 10, (2021, 4, 1), (2021, 4, 30)),
        *(((year, 2, 0), 10, (year, 2, 1), (year, 2, last)) for year, last in ((1900, 28), (2000, 29))),
        *(((year, 2, 0), 10, (year, 2, 1), (year, 2, last)) for year, last in ((2023, 28), (2024, 29))),
        # A month that no calendar has ends with a day after all of the months before it.
        ((2021, 13, 0), 10, (2021, 13, 1), (2021, 13, 31)),
        # There is no year 0: 1 BC was a leap year.
        ((-1, 2, 0), 10, (-1, 2, 1), (-1, 2, 29)),
        *(((year, 0, 0), 8, (1990, 1, 1), (1999, 12, 31)) for year in (1990, 1999)),
        ((-44, 0, 0), 8, (-49, 1, 1), (-40, 12, 31)),
        *(((year, 0, 0), 7, (1901, 1, 1), (2000, 12, 31)) for year in (1901, 2000)),
        *(((year, 0, 0), 7, (-100, 1, 1), (-1, 12, 31)) for year in (-100, -1)),
        ((1000, 0, 0), 6, (1, 1, 1), (1000, 12, 31)),
        ((1001, 0, 0), 6, (1001, 1, 1), (2000, 12, 31)),
    ],
)
def test_days_that_a_date_covers(date, precision, first, last):
    assert covered(*date, precision) == (first, last)
