"""Days of the Julian and the Gregorian calendar."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from factdrift.wikidata.time import gregorian_to_julian, julian_to_gregorian


@given(st.integers(-6000, 6000).filter(bool), st.integers(1, 12), st.integers(1, 28))
def test_julian_and_gregorian_days_are_converted_back(year: int, month: int, day: int) -> None:
    assert gregorian_to_julian(*julian_to_gregorian(year, month, day)) == (year, month, day)
    assert julian_to_gregorian(*gregorian_to_julian(year, month, day)) == (year, month, day)


def test_days_of_both_calendars() -> None:
    assert gregorian_to_julian(1582, 10, 15) == (1582, 10, 5)
    assert gregorian_to_julian(1900, 3, 13) == (1900, 2, 29)
    assert gregorian_to_julian(1, 1, 1) == (1, 1, 3)
    assert gregorian_to_julian(-753, 4, 13) == (-753, 4, 21)
