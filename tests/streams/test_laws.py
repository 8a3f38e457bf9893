"""The laws of sequences, and how days are counted."""

import datetime
from pathlib import Path
from random import Random

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.sequences import chains, check_chains, check_composition, difference, differences, random_dumps
from support.worlds import World

from factdrift.streams.timelines import dates_within, day_number


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(2))
def test_the_laws_of_sequences_hold_in_random_worlds(tmp_path: Path, seed: int) -> None:
    dumps = random_dumps(Random(seed), 4, 40)
    pairs = differences(tmp_path, dumps)
    direct = difference(tmp_path, dumps, 0, len(dumps) - 1)
    check_composition([World.differences(pair) for pair in pairs], World.differences(direct))
    links = chains(pairs, tmp_path / "chains.parquet")
    check_chains(links, len(pairs))
    # What is found of the first intervals does not depend on later ones, but for what supersedes it.
    alone = chains(pairs[:-1], tmp_path / "alone.parquet")
    kept = set(alone[0]) - {"links", "superseded_by", "changes"}
    assert [{name: row[name] for name in kept} for row in alone] == [
        {name: row[name] for name in kept} for row in links if row["interval"] < len(pairs)
    ]


@given(st.dates())
def test_packed_days_count_like_dates(day: datetime.date) -> None:
    packed = day.year * 10_000 + day.month * 100 + day.day
    assert day_number(packed) == day.toordinal()
    # A day that no month has counts as one of its month.
    for none, same in ((20210231, 20210228), (19000229, 19000228), (20210000, 20210101)):
        assert day_number(none) == day_number(same)


def test_days_before_the_year_1_count_on_backwards() -> None:
    """There is no year 0, and 1 BC is a leap year."""
    new_year, march, leap_day, eve = 1_01_01, -1_00_00 + 3_01, -1_00_00 + 2_29, -1_00_00 + 12_31
    assert (day_number(new_year), day_number(eve)) == (1, 0)
    assert day_number(march) - day_number(leap_day) == 1


EARLY = -439685


@pytest.mark.parametrize(
    ("first", "last", "dates"),
    [
        (EARLY, EARLY + 1, []),
        (EARLY, 31231, ["0002-07-02", "0002-07", "0002"]),
        (10101, 10105, ["0001-01-03"]),
    ],
)
def test_days_before_the_year_1_are_not_asked_about(first: int, last: int, dates: list[str]) -> None:
    assert [date.text for date in dates_within((first, last))] == dates
