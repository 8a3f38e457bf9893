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
    "alike, but one may be later": ([("a", "2022-01", P), ("b", "2022", N)], {"a"}),
}


@pytest.mark.parametrize("dates", ["first_day", "interval"])
def test_keep_latest(dates, tmp_path):
    rows = [
        Fact(subject, MEASURED, number, pit=pit, rank=rank, id=f"{name}: {statement}")
        for subject, (name, (facts, _)) in enumerate(KEPT.items(), 100)
        for number, (statement, pit, rank) in enumerate(facts, 7)
    ]
    found = dropped(World([], rows, CONSTRAINTS), tmp_path, dates=dates)
    wanted = {name: ids for name, (_, ids) in KEPT.items()}
    if dates == "interval":
        wanted["alike, but one may be later"] = {"b"}
    kept = {name for name, reason in found.items() if reason is None}
    assert kept == {f"{name}: {statement}" for name, ids in wanted.items() for statement in ids}


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
