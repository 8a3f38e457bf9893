"""What of the filters (spec section 2) random worlds do not show; for the rest see test_against_oracle."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from support.worlds import Date, Fact, Property, World, dump, time_of

from factdrift.updates.filters import FILTERS, report

PLAIN, MEASURED = 1000, 2001
CONSTRAINTS = [Property(PLAIN), Property(MEASURED, True, (585,))]


def dropped(world, tmp_path, **switches):
    """Statement id -> filter, in the new dump."""
    return {row["statement"]: row["dropped_by"] for row in world.filtered(tmp_path, "new", **switches)}


TYPES = {11: (12,), 12: (13,), 13: (61719275,), 14: (11,)}
"""11 is three classes below the one in question, so that it is the fourth step; 14 is one step farther."""


def test_restrictive_qualifiers(tmp_path):
    types = {
        4001: (61719275,),
        4002: (11,),
        4003: (14,),  # one step too far
        4004: (61719275, 61719274),
        4005: (105388954, 61719274),
        4006: (),
        4007: (61719274,),
        580: (61719275,),
    }
    facts = [Fact(1, PLAIN, 7, id=str(each), quals=(each,)) for each in [*types, 4008, 447]]
    facts += [Fact(1, PLAIN, 7, id="two", quals=(4006, 4001))]
    world = World(
        [], facts, [Property(each, classes=known) for each, known in types.items()], superclasses=TYPES
    )
    found = dropped(world, tmp_path)
    restrictive = {key for key, value in found.items() if value == "restrictive_qualifier"}
    assert restrictive == {"4001", "4002", "4005", "447", "two"}


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


def test_keep_latest(tmp_path):
    rows = [
        Fact(subject, MEASURED, number, pit=pit, rank=rank, id=f"{name}: {statement}")
        for subject, (name, (facts, _)) in enumerate(KEPT.items(), 100)
        for number, (statement, pit, rank) in enumerate(facts, 7)
    ]
    found = dropped(World([], rows, CONSTRAINTS), tmp_path)
    kept = {name for name, reason in found.items() if reason is None}
    assert kept == {f"{name}: {statement}" for name, (_, ids) in KEPT.items() for statement in ids}


def test_of_intervals_that_begin_alike_the_one_that_ends_later_is_the_latest(tmp_path):
    facts = [Fact(1, MEASURED, 7, pit="2022-01", rank=P, id="a"), Fact(1, MEASURED, 8, pit="2022", id="b")]
    world = World([], facts, CONSTRAINTS)
    assert dropped(world, tmp_path / "1", dates="interval") == {"a": "keep_latest", "b": None}
    assert dropped(world, tmp_path / "2") == {"a": None, "b": "keep_latest"}


@pytest.mark.parametrize("dates", [("2010", "2010-01"), ("2010-01", "2010")])
def test_of_several_dates_that_begin_on_one_day_the_last_day_decides(dates, tmp_path):
    World(new=[Fact(1, PLAIN, 600, start=dates, end=dates)]).updates(tmp_path, variant="revised")
    (row,) = pq.read_table(dump(tmp_path, "new").filtered).to_pylist()
    assert (row["start"], row["end"]) == (time_of("2010-01"), time_of("2010"))
    assert row["starts"] == row["ends"] == [time_of(date) for date in dates]


def test_the_report_counts_every_statement_once(tmp_path):
    facts = [
        Fact(1, PLAIN, 7),
        Fact(1, PLAIN, 8, rank="deprecated"),
        Fact(1, 570, Date("2020"), snak="novalue"),
    ]
    dropped(World(facts[:1], facts), tmp_path)
    paths = [tmp_path / which / "filtered.parquet" for which in ("old", "new")]
    report(paths[:1], paths[1:], tmp_path / "report.parquet")
    rows = [tuple(row.values()) for row in pq.read_table(tmp_path / "report.parquet").to_pylist()]
    assert rows == [
        ("old", PLAIN, "kept", 1),
        ("new", 570, "snak", 1),
        ("new", PLAIN, "kept", 1),
        ("new", PLAIN, "rank", 1),
    ]
    assert {row[2] for row in rows} - {"kept"} <= set(FILTERS)
