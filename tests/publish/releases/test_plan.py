"""Which dates the next releases compare."""

import datetime
import itertools

from hypothesis import given
from hypothesis import strategies as st

from factdrift.publish.releases.candidates import later, newest_two, sequences

DATES = st.dates(datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)).map(datetime.date.isoformat)
EVERY = st.integers(1, 60)


def test_the_first_release_compares_the_newest_dumps() -> None:
    mondays = ["2026-10-05", "2026-10-12", "2026-10-19", "2026-11-02", "2026-11-16"]
    assert sequences(mondays, [], 28) == [["2026-10-19", "2026-11-16"]]
    assert sequences(mondays, [], 29) == [["2026-10-12", "2026-11-16"]]
    assert sequences(["2026-11-16"], [], 28) == []


def test_months_that_were_missed_are_made_up_for() -> None:
    mondays = ["2026-11-09", "2026-11-16", "2026-12-14", "2026-12-21", "2027-01-11"]
    assert sequences(mondays, ["2026-10-19", "2026-11-16"], 28) == [
        ["2026-10-19", "2026-11-16", "2026-12-14"],
        ["2026-10-19", "2026-11-16", "2026-12-14", "2027-01-11"],
    ]
    assert sequences(mondays, ["2026-10-19", "2027-01-11"], 28) == []


@given(st.lists(DATES, unique=True, max_size=12), st.integers(1, 12), EVERY)
def test_when_it_runs_does_not_matter(dates: list[str], first: int, every: int) -> None:
    """Runs after each new dump come to the same sequence as one run that finds all of them at once."""
    dates = sorted(dates)
    begin = ["2023-11-01", "2023-12-01"]
    at_once = [begin, *sequences(dates, begin, every)][-1]
    sequence = begin
    for known in range(first, len(dates) + 1):
        for longer in sequences(dates[:known], sequence, every):
            assert longer[:-1] == sequence
            sequence = longer
    sequence = [sequence, *sequences(dates, sequence, every)][-1]
    assert sequence == at_once
    assert all(new >= later(old, every) for old, new in itertools.pairwise(sequence[1:]))


@given(st.lists(DATES, unique=True, max_size=8), EVERY)
def test_the_newest_two_by_trying_all(dates: list[str], every: int) -> None:
    pairs = [(new, old) for new in dates for old in dates if new == max(dates) and later(old, every) <= new]
    assert newest_two(dates, every) == list(reversed(max(pairs, default=())))
