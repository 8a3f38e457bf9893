"""Several starts, ends or points in time of one statement: which one counts depends on how dates are read."""

import pyarrow.parquet as pq
import pytest
from support.worlds import Fact, World, dump, time_of

RELATION = 1000


@pytest.mark.parametrize("ends", [("2021", "2021-03-01"), ("2021-03-01", "2021")])
@pytest.mark.parametrize("variant", ["paper", "reference", "revised"])
def test_an_end_on_a_day_counts_and_not_the_first_day_of_its_year(variant, ends, tmp_path):
    # "2021" alone would count as 2021-01-01, before T_old (2021-01-04), and the fact would be ignored.
    world = World(
        old=[Fact(1, RELATION, 600, start="2010"), Fact(1, RELATION, 601)],
        new=[Fact(1, RELATION, 600, start="2010", end=ends), Fact(1, RELATION, 602, start="2021-03-02")],
    )
    labels = {row["object"]: row["label"] for row in world.updates(tmp_path, variant=variant)}
    assert labels[600] == "obsolete"


@pytest.mark.parametrize(
    ("switches", "start", "end"),
    [
        ({"variant": "paper"}, "2021-05-01/9", "2022/8"),
        ({"variant": "paper", "dates": "interval"}, "2022/8", "2021-03-01"),
        ({"variant": "reference"}, "2021-03-01", "2022/8"),
        ({"variant": "revised"}, "2022/8", "2021-03-01"),
    ],
)
def test_each_reading_of_dates_chooses_for_itself(switches, start, end, tmp_path):
    # 2021-05-01/9 is the year 2021, 2022/8 the 2020s: their first days, and the days as written, differ.
    dates = ("2021-05-01/9", "2021-03-01", "2022/8")
    World(new=[Fact(1, RELATION, 600, start=dates, end=dates, pit=dates)]).updates(tmp_path, **switches)
    (row,) = pq.read_table(dump(tmp_path, "new").filtered).to_pylist()
    assert (row["start"], row["end"], row["pit"]) == (time_of(start), time_of(end), time_of(end))
    assert row["starts"] == row["ends"] == row["pits"] == [time_of(date) for date in dates]


@pytest.mark.parametrize("dates", [("2010", "2010-01"), ("2010-01", "2010")])
def test_of_dates_that_begin_on_one_day_the_last_day_decides(dates, tmp_path):
    World(new=[Fact(1, RELATION, 600, start=dates, end=dates)]).updates(tmp_path, variant="revised")
    (row,) = pq.read_table(dump(tmp_path, "new").filtered).to_pylist()
    assert (row["start"], row["end"]) == (time_of("2010-01"), time_of("2010"))
