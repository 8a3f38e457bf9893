"""Chains of small worlds that go through the real comparison, and the laws of sequences."""

from __future__ import annotations

import datetime
import re
import tempfile
from dataclasses import replace
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.sequences import (
    DATES,
    PLAIN,
    SINGLE,
    chains,
    check_chains,
    check_composition,
    difference,
    differences,
    random_dumps,
)
from support.worlds import Date, Fact, World, dump

from .conftest import updates_of


def told(subject: int, relation: int, text: str) -> list[Fact]:
    """`7 2010..2016, 8 2016..` as facts."""
    found = []
    for piece in filter(None, text.split(", ")):
        value, start, end = re.fullmatch(r"(\d+) ?(.*?)(?:\.\.(.*))?", piece).groups()
        found.append(Fact(subject, relation, int(value), start=start or None, end=end or None))
    return found


def anchored(subject: int, relation: int, *dumps: str | list[Fact]) -> list[list[Fact]]:
    """The facts of a subject in each dump, beside one that never changes, so that it is no new subject."""
    anchor = Fact(subject, 999, 5, start="2000-01-01")
    return [[anchor, *(told(subject, relation, each) if isinstance(each, str) else each)] for each in dumps]


def sequence() -> list[list[Fact]]:
    """Four dumps of subjects that are told about one by one."""
    one, two, three, four = (
        *("7 2010-01-01..", "7 2010-01-01..2016-03-01, 8 2016-03-01.."),
        *("8 2016-03-01..2018-05-01, 7 2018-05-01..", "7 2018-05-01..2020-07"),
    )
    successors = anchored(1, SINGLE, one, two, three, four)
    pause = anchored(2, SINGLE, one, two, "8 2016-03-01..", "8 2016-03-01..2020-05-01, 9 2020-05-01..")
    later = "7 2016-02-01.., 8 2018-02-01..", "7 2016-02-01..2020-02-01, 8 2018-02-01.."
    together = anchored(3, PLAIN, "", "7 2016-02-01..", *later)
    # The later dumps keep the coach, with the end, beside a preferred one; the filters drop it there.
    coach = Fact(4, SINGLE, 7, start="2010-01-01", id="Q4$a")
    between = Fact(4, SINGLE, 9, start="2016-03-10", end="2016-08-01", id="Q4$b")
    now = Fact(4, SINGLE, 8, start="2016-08-10", id="Q4$c", rank="preferred")
    gave_way = anchored(4, SINGLE, [coach], *[[replace(coach, end="2016-03-01"), between, now]] * 3)
    created = [[], *[[Fact(5, 571, Date("2016-10")), Fact(5, PLAIN, 7)]] * 3]
    several = anchored(6, PLAIN, "", *["18, 17 2016-05-20.., 19 2016-05.."] * 3)
    born = [[], *[[Fact(18, 571, Date("2016-11-01"))]] * 3]
    parts = (successors, pause, together, gave_way, created, several, born)
    return [[fact for part in parts for fact in part[place]] for place in range(4)]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("sequence")
    chains(differences(folder, sequence()), folder / "chains.parquet")
    return folder


@pytest.fixture(scope="module")
def links(folder):
    """(subject, property) -> its rows."""
    found: dict[tuple[int, int], list[dict[str, Any]]] = {}
    for row in pq.read_table(folder / "chains.parquet").to_pylist():
        found.setdefault((row["subject"], row["property"]), []).append(row)
    return found


def test_successors_and_a_return(links):
    rows = links[1, SINGLE]
    names = ("interval", "link", "links", "date", "dated_by", "reverts", "superseded_by")
    assert [tuple(row[name] for name in names) for row in rows] == [
        (1, 1, 3, "2016-03-01", "start", False, 2),
        (2, 2, 3, "2018-05-01", "start", True, 3),
        (3, 3, 3, "2020-07", "end", False, None),
    ]
    # The date is exact and the statement is new, so only when it was added is not known to the day.
    assert (rows[0]["lag_min"], rows[0]["lag_max"]) == (-424, 306)


def test_the_end_of_a_statement_that_gave_way_dates_its_end(links, folder):
    (update,) = links[4, SINGLE]
    dates = [(each["date"], each["dated_by"]) for each in update["changes"]]
    assert dates == [("2016-03-01", "end"), ("2016-08-10", "start")]
    timeline = [row for row in pq.read_table(folder / "timelines.parquet").to_pylist() if row["subject"] == 4]
    assert [(row["value"], row["certain_first"], row["certain_last"]) for row in timeline] == [
        (7, 20100101, 20160301),
        (9, 20160310, 20160801),
        (8, 20160810, 20210104),
    ]


def test_a_date_of_creation_keeps_its_precision(links):
    (row,) = links[5, PLAIN]
    found = (row["date"], row["first_day"], row["last_day"], row["lag_min"])
    assert found == ("2016-10", 20161001, 20161031, -668)


def test_an_interval_without_an_update_is_no_link(links):
    found = [(row["interval"], row["link"], row["superseded_by"]) for row in links[2, SINGLE]]
    assert found == [(1, 1, 2), (3, 2, None)]


def test_values_that_hold_together_do_not_supersede_each_other(links):
    rows = links[3, PLAIN]
    assert [row["superseded_by"] for row in rows] == [3, None, None]
    dated_by = [[each["dated_by"] for each in row["changes"]] for row in rows]
    assert dated_by == [["start"], [None, "start"], ["end", None]]


def test_an_update_is_dated_by_the_first_of_its_dated_new_objects(links):
    """What is new without a date of its own may be of any day of the interval, also of an earlier one."""
    (row,) = links[6, PLAIN]
    assert [each["dated_by"] for each in row["changes"]] == ["interval", "start", "start"]
    assert (row["date"], row["dated_by"], row["first_day"]) == ("2016-05", "start", 20160501)


def appeared(statement: str, triples: list[list[dict[str, Any]]], interval: int) -> int | None:
    """The interval in which a statement of the new dump was added, followed back through all differences."""
    for place in range(interval, 0, -1):
        (row,) = (row for row in triples[place - 1] if row["new_statement"] == statement)
        if row["change"] == "F+":
            return place
        statement = row["old_statement"]
    return None


def day(text: str) -> datetime.date:
    return datetime.date.fromisoformat(text)


def of(packed: int) -> datetime.date:
    return datetime.date(packed // 10_000, packed // 100 % 100, packed % 100)


def expected(row: dict[str, Any], beside: list[dict[str, Any]], triples: Any, interval: int) -> Any:
    """`dated_by`, days and lags of one object by the definitions of docs/streams.md, from the raw columns."""
    begin, end = day(DATES[interval - 1]), day(DATES[interval])
    side = "old" if row["change"] == "F-" else "new"

    def inside(time: dict[str, Any] | None) -> bool:
        return bool(time) and time["precision"] >= 9 and of(time["first"]) <= end and of(time["last"]) > begin

    def told(by: str, first: datetime.date, last: datetime.date, since: int | None) -> Any:
        lags = (None, None)
        if since is not None:
            after = day(DATES[since - 1]) + datetime.timedelta(days=1)
            lags = ((after - last).days, (day(DATES[since]) - first).days)
        return by, first, last, *lags

    if row["label"] == "static":
        return (None,) * 5
    if row["label"] == "new":
        for by, column in (("start", "start"), ("point_in_time", "pit")):
            if inside(time := row[f"{side}_{column}"]):
                since = appeared(row["new_statement"], triples, interval)
                return told(by, of(time["first"]), of(time["last"]), since)
    elif ((time := row["dropped_end"]) and of(time["first"]) <= end) or inside(time := row[f"{side}_end"]):
        same = row["old_end"] and row["old_end"]["first"] == time["first"]
        same = same and row["old_end"]["last"] == time["last"]
        return told("end", of(time["first"]), of(time["last"]), None if same else interval)
    elif began := sorted(
        found[1:3]
        for found in (expected(each, [], triples, interval) for each in beside if each["label"] == "new")
        if found[0] != "interval"
    ):
        return told("replacement", *began[0], interval if row["change"] == "F-" else None)
    return told("interval", begin + datetime.timedelta(days=1), end, None)


def check_dates(rows: list[dict[str, Any]], pairs: list[Path]) -> None:
    """Dates and lags of all objects are those that the definitions give."""
    triples, updates = [World.differences(pair) for pair in pairs], updates_of(pairs)
    stated = [
        {
            (row["statement"], row["key"]): row
            for row in pq.read_table(dump(pair, "new").filtered).to_pylist()
            if row["rank"] != "deprecated"
        }
        for pair in pairs
    ]
    for row in rows:
        update = updates[row["interval"], row["subject"], row["property"]]
        for each in update:
            same = stated[row["interval"] - 1].get((each["old_statement"], each["key"]))
            each["dropped_end"] = same and same["end"] if each["change"] == "F-" else None
        for each, said in zip(update, row["changes"], strict=True):
            wanted = expected(each, update, triples, row["interval"])
            days = [said[name] and of(said[name]) for name in ("first_day", "last_day")]
            assert (said["dated_by"], *days, said["lag_min"], said["lag_max"]) == wanted


@pytest.mark.slow
@settings(max_examples=examples(12), phases=[Phase.explicit, Phase.generate])
@given(st.integers(0, 2**32))
def test_the_laws_hold_in_random_worlds(seed):
    dumps = random_dumps(Random(seed), 4)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = differences(folder, dumps)
        direct = difference(folder, dumps, 0, len(dumps) - 1)
        check_composition([World.differences(pair) for pair in pairs], World.differences(direct))
        rows = chains(pairs, folder / "chains.parquet")
        check_chains(rows, len(pairs))
        check_dates(rows, pairs)
        groups = {(row["interval"], row["subject"], row["property"]) for row in rows}
        assert groups == updates_of(pairs).keys()
        # What is found of the first intervals does not depend on later ones, but for what supersedes it.
        alone = chains(pairs[:-1], folder / "alone.parquet")
        kept = (
            "interval",
            "subject",
            "property",
            "link",
            "date",
            "dated_by",
            "lag_min",
            "lag_max",
            "reverts",
        )
        assert [[row[name] for name in kept] for row in alone] == [
            [row[name] for name in kept] for row in rows if row["interval"] < len(pairs)
        ]
