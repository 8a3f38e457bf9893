"""What of the filters (spec section 2) random worlds do not show; for the rest see test_against_oracle."""

import json
from collections import Counter

import pytest
from support.rows import rows
from support.worlds import Date, Fact, Property, World, dump, time_of

from factdrift.updates.filters import report

PLAIN, MEASURED = 1000, 2001
CONSTRAINTS = [Property(PLAIN), Property(MEASURED, True, (585,))]


RAW = [{"a": [2]}, [1, "x"], 5.5, None, {"value": "x"}]
NAMED = [{"text": "x", "b": 1}, {"id": "M5"}, {"time": "about 1900"}]


def test_values_that_only_json_could_show_are_dropped(tmp_path):
    values = [(value, json.dumps(value)) for value in [*RAW, *NAMED]]
    facts = [Fact(1, PLAIN, value, datatype="new-kind", key=text, id=text) for value, text in values]
    filtered = {row["statement"]: row["dropped_by"] for row in World([], facts).filtered(tmp_path, "new")}
    assert filtered == dict.fromkeys(map(json.dumps, RAW), "datatype") | dict.fromkeys(map(json.dumps, NAMED))


@pytest.mark.parametrize("dates", ["first_day", "interval"])
def test_of_several_dates_one_is_chosen_and_what_each_filter_dropped_is_counted(dates, tmp_path):
    # Of intervals that begin alike the one that ends later is the latest; of several dates too.
    month = Fact(2, MEASURED, 7, pit="2022-01", rank="preferred", id="month")
    facts = [month, Fact(2, MEASURED, 8, pit="2022", id="year")]
    several = [("2010", "2010-01"), ("2010-01", "2010")]
    facts += [Fact(3, PLAIN, 600, start=each, end=each, id=f"several {each}") for each in several]
    facts += [Fact(4, 570, Date("2020"), snak="novalue"), Fact(4, PLAIN, 8, rank="deprecated")]
    world = World(facts[2:3], facts, CONSTRAINTS)
    filtered = {row["statement"]: row for row in world.filtered(tmp_path, "new", dates=dates)}
    latest = "month" if dates == "first_day" else "year"
    assert [name for name in ("month", "year") if filtered[name]["dropped_by"] is None] == [latest]
    for each in several:
        row = filtered[f"several {each}"]
        assert row["starts"] == row["ends"] == [time_of(date) for date in each]
        if dates == "interval":
            assert (row["start"], row["end"]) == (time_of("2010-01"), time_of("2010"))
    report([dump(tmp_path, "old").filtered], [dump(tmp_path, "new").filtered], tmp_path / "report.parquet")
    counts = Counter((row["property"], row["dropped_by"] or "kept") for row in filtered.values())
    assert {(PLAIN, "rank"), (570, "snak")} <= counts.keys()
    reported = [tuple(row.values()) for row in rows(tmp_path / "report.parquet")]
    assert reported == [("old", PLAIN, "kept", 1), *(("new", *key, counts[key]) for key in sorted(counts))]


def test_a_dump_without_any_item(tmp_path):
    world = World(new=[Fact(1, PLAIN, 7)], absent_old=frozenset({1, 7}))
    assert [row["dropped_by"] for row in world.filtered(tmp_path, "new")] == [None]


def test_a_class_without_words_is_no_page(tmp_path):
    words = {"page_class_words": []}
    [row] = World(new=[Fact(1, PLAIN, 7)]).filtered(tmp_path, "new", variant="reference", method=words)
    assert row["dropped_by"] is None
