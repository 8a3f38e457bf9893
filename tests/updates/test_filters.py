"""What of the filters (spec section 2) random worlds do not show; for the rest see test_against_oracle."""

from __future__ import annotations

import json
from collections import Counter

import pytest
from support.rows import rows
from support.worlds import Date, Fact, Property, World, dump, time_of

from factdrift.updates.filters import report

PLAIN, MEASURED = 1000, 2001
CONSTRAINTS = [Property(PLAIN), Property(MEASURED, True, (585,))]


# Qualifier -> its classes. 11 is three classes below the one in question: the fourth step.
CLASSES = {
    4001: (61719275,),
    4002: (11,),
    4003: (14,),  # one step too far
    4004: (61719275, 61719274),
    4005: (105388954, 61719274),
    4006: (),
    580: (61719275,),
}
SUPERCLASSES = {11: (12,), 12: (13,), 13: (61719275,), 14: (11,)}
QUALIFIED = [*((each,) for each in CLASSES), (4008,), (447,), (4006, 4001)]
RESTRICTIVE = [(4001,), (4002,), (4005,), (447,), (4006, 4001)]


N, P = "normal", "preferred"


KEPT = {
    "all dated": ([("a", "2020", N), ("b", "2022", N), ("c", "2024", N)], {"b"}),
    "all dated: rank does not count": ([("a", "2020", P), ("b", "2022", N)], {"b"}),
    "the dump's own day is not after it": ([("a", "2022", N), ("b", "2023-02-27", N)], {"b"}),
    "all after the dump": ([("a", "2024", N), ("b", "2025", P)], set()),
    "some lack it, one preferred": ([("a", "2020", N), ("b", None, P), ("c", "2022", N)], {"b"}),
    "some lack it: the preferred one has no cap": ([("a", "2024", P), ("b", None, N)], {"a"}),
    "several preferred": ([("a", "2020", P), ("b", None, P), ("c", "2022", N)], {"c"}),
    "none preferred": ([("a", "2020", N), ("b", None, N), ("c", "2024", N)], {"a"}),
    "some lack it, the others are after the dump": ([("a", "2024", N), ("b", None, N)], set()),
    "tie: preferred": ([("b", "2022", N), ("a", "2022", N), ("c", "2022", P)], {"c"}),
    "tie: smallest id": ([("b", "2022", N), ("a", "2022", N)], {"a"}),
    "none dated": ([("a", None, N), ("b", None, N)], {"a", "b"}),
}


RAW = [{"a": [2]}, [1, "x"], 5.5, None, {"value": "x"}]
NAMED = [{"text": "x", "b": 1}, {"id": "M5"}, {"time": "about 1900"}]


def test_values_that_only_json_could_show_are_dropped(tmp_path):
    facts = [
        Fact(1, PLAIN, value, datatype="new-kind", key=json.dumps(value), id=json.dumps(value))
        for value in [*RAW, *NAMED]
    ]
    filtered = {row["statement"]: row["dropped_by"] for row in World([], facts).filtered(tmp_path, "new")}
    assert filtered == dict.fromkeys(map(json.dumps, RAW), "datatype") | dict.fromkeys(map(json.dumps, NAMED))


@pytest.mark.parametrize("dates", ["first_day", "interval"])
def test_filters(dates, tmp_path):
    facts = [Fact(1, PLAIN, 7, id=f"restrictive {quals}", quals=quals) for quals in QUALIFIED]
    # Of intervals that begin alike the one that ends later is the latest; of several dates too.
    facts += [
        Fact(2, MEASURED, 7, pit="2022-01", rank=P, id="month"),
        Fact(2, MEASURED, 8, pit="2022", id="year"),
    ]
    several = [("2010", "2010-01"), ("2010-01", "2010")]
    facts += [Fact(3, PLAIN, 600, start=each, end=each, id=f"several {each}") for each in several]
    facts += [Fact(4, 570, Date("2020"), snak="novalue"), Fact(4, PLAIN, 8, rank="deprecated")]
    facts += [
        Fact(subject, MEASURED, number, pit=pit, rank=rank, id=f"{name}: {statement}")
        for subject, (name, (group, _)) in enumerate(KEPT.items(), 100)
        for number, (statement, pit, rank) in enumerate(group, 7)
    ]
    properties = [Property(each, classes=known) for each, known in CLASSES.items()]
    world = World(facts[2:3], facts, CONSTRAINTS + properties, superclasses=SUPERCLASSES)
    filtered = {row["statement"]: row for row in world.filtered(tmp_path, "new", dates=dates)}
    dropped = {name for name, row in filtered.items() if row["dropped_by"] == "restrictive_qualifier"}
    assert dropped == {f"restrictive {quals}" for quals in RESTRICTIVE}
    latest = "month" if dates == "first_day" else "year"
    assert [name for name in ("month", "year") if filtered[name]["dropped_by"] is None] == [latest]
    for each in several:
        row = filtered[f"several {each}"]
        assert row["starts"] == row["ends"] == [time_of(date) for date in each]
        if dates == "interval":
            assert (row["start"], row["end"]) == (time_of("2010-01"), time_of("2010"))
    if dates == "first_day":
        kept = {name for name, row in filtered.items() if row["dropped_by"] is None}
        assert {name for name in kept if ": " in name} == {
            f"{name}: {statement}" for name, (_, ids) in KEPT.items() for statement in ids
        }
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
