"""The laws of sequences, and what a timeline proves about a date."""

from __future__ import annotations

import datetime
import tempfile
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from random import Random
from typing import Any

import pyarrow.parquet as pq
import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.sequences import (
    AT,
    DATES,
    SINGLE,
    chains,
    check_chains,
    check_composition,
    difference,
    differences,
    packed,
    random_dumps,
)
from support.worlds import UNKNOWN, Fact, World, dates_of, dump

from factdrift.streams.timelines import (
    EVER,
    NEVER_ENDS,
    Span,
    StatementInDump,
    Tenure,
    dates_within,
    follow,
    read_tenure,
    tenure,
    verdict,
)

from .test_changes import DAYS, span


def stated(start: str = "", end: str = "", **given_: Any) -> StatementInDump:
    plain: dict[str, Any] = {"dump": 2, "statement": "a", "value": 7, "standing": "current"}
    plain |= {"starts": tuple(map(span, start.split())), "ends": tuple(map(span, end.split()))}
    return StatementInDump(
        **plain | {"start_unknown": False, "end_unknown": False, "measured": False, **given_}
    )


def holds(*rows: StatementInDump, obsolete: Any = None) -> list[Tenure]:
    return [tenure(told, DAYS) for told in follow(rows, DAYS, obsolete or {})]


def since(first: int, row: StatementInDump, last: int = 2) -> list[StatementInDump]:
    """The same in each dump from `first` to `last`."""
    return [row._replace(dump=dump) for dump in range(first, last + 1)]


def test_several_terms_of_one_statement_leave_the_time_between_them_open():
    assert holds(stated("2010-01-01 2015-01-01", "2012-01-01 2018-01-01")) == [
        Tenure(7, (20150101, 20180101), (20100101, 20180101))
    ]
    assert holds(stated("2010-01-01", "2014-01-01 2012-01-01"))[0].certain == (20100101, 20120101)
    again = holds(stated("2010-01-01 2015-01-01", "2012-01-01"))
    assert again == [Tenure(7, None, (20100101, NEVER_ENDS))]


def test_what_is_true_in_part_or_said_to_be_false_proves_nothing():
    partly = stated("2016-01-01", "2018-01-01", standing="in_part")
    assert holds(partly) == [Tenure(7, None, (20160101, 20180101), True)]
    false = partly._replace(standing="deprecated")
    assert holds(false) == []
    assert holds(partly._replace(dump=1, standing="current"), false) == holds(partly)


def test_two_statements_of_one_value_and_two_values_of_one_statement_are_followed_apart():
    def kept(*rows: StatementInDump) -> list[tuple[str | None, int | None, int]]:
        return [(told.last.statement, told.first_current, told.last.dump) for told in follow(rows, DAYS, {})]

    one = stated("2016")
    assert kept(one, one._replace(statement="b")) == [("a", 2, 2), ("b", 2, 2)]
    assert kept(*since(0, one, 1), stated("2016", value=9)) == [("a", 0, 1), ("a", 2, 2)]


spans = st.tuples(st.dates(datetime.date(1900, 1, 1), datetime.date(2030, 1, 1)), st.integers(0, 2000))


@given(spans)
def test_dates_lie_in_the_interval_and_there_is_one_of_each_precision_that_fits(given_):
    begin, length = given_
    end = begin + datetime.timedelta(days=length)
    first, last = packed(begin.isoformat()), packed(end.isoformat())
    found = {each.precision: each for each in dates_within((first, last))}
    assert all(first <= each.first <= each.last <= last for each in found.values())
    whole_years = [
        year
        for year in range(begin.year, end.year + 1)
        if begin <= datetime.date(year, 1, 1) and datetime.date(year, 12, 31) <= end
    ]
    assert "day" in found
    assert ("year" in found) == bool(whole_years)
    # A month lies in an interval of 62 days or more, and in none of 27.
    assert "month" in found or length < 61
    assert "month" not in found or length >= 27


def test_days_before_the_year_1_are_left_out():
    def found(first: int, last: int) -> list[str]:
        return [each.text for each in dates_within((first, last))]

    assert found(-439685, -439684) == []
    assert found(-439685, 3_12_31) == ["0002-07-02", "0002-07", "0002"]
    assert found(1_01_01, 1_01_05) == ["0001-01-03"]


class Plain:
    """What docs/streams.md says of one subject and relation, statement by statement, from all dumps as they
    are written by hand; each value has at most one statement in a dump."""

    def __init__(self, dumps: list[list[Fact]], group: tuple[int, int], obsolete: Any) -> None:
        self.functional, self.obsolete = group[1] in (SINGLE, AT), obsolete
        self.dumps = [[fact for fact in dump_ if (fact.s, fact.p) == group] for dump_ in dumps]
        self.values = {fact.o for dump_ in self.dumps for fact in dump_}

    def histories(self, value: int) -> list[list[tuple[int, Fact]]]:
        """The dumps with a statement of a value, cut where it was away or began again."""
        found: list[list[tuple[int, Fact]]] = []
        for place, dump_ in enumerate(self.dumps):
            for fact in (fact for fact in dump_ if fact.o == value):
                before = found[-1][-1] if found else None
                same = before is not None and before[0] == place - 1
                if same and before and before[1].id != fact.id and before[1].end not in (None, UNKNOWN):
                    same = None in (before[1].start, fact.start) or before[1].start == fact.start
                if not same:
                    found.append([])
                found[-1].append((place, fact))
        histories = []
        for history in found:
            while history and history[0][1].rank == "deprecated":
                history = history[1:]
            histories += [history] if history else []
        return histories

    def is_current(self, place: int, fact: Fact) -> bool:
        preferred = any(each.rank == "preferred" for each in self.dumps[place])
        aside = self.functional and preferred and fact.rank == "normal"
        return fact.rank != "deprecated" and not aside

    def is_aside(self, place: int, fact: Fact) -> bool:
        return fact.rank != "deprecated" and not self.is_current(place, fact)

    def gave_way(self, history: list[tuple[int, Fact]]) -> tuple[int, int] | None:
        """The days on which what has no end ended by what took its place."""
        place, fact = history[-1]
        first_possible = min((each["first"] for each in dates_of(fact.start)), default=EVER)
        found = self.obsolete.get((place + 1, fact.o)) if place + 1 < len(self.dumps) else None
        if self.is_aside(place, fact):
            while (
                len(history) > 1 and history[-2][1].rank != "deprecated" and not self.is_current(*history[-2])
            ):
                history = history[:-1]
            at = history[-1][0]
            others = [each for each in self.dumps[at] if self.is_current(at, each)]
            starts = [dates_of(each.start) for each in others]
            day = packed(DATES[at])
            if all(starts):
                days = [each for dates in starts for each in dates]
                found = min(day, *(each["first"] for each in days)), min(day, max(x["last"] for x in days))
            else:
                found = day, day
        return found if found and found[1] >= first_possible else None

    def days(self, history: list[tuple[int, Fact]]) -> tuple[tuple[int, int] | None, tuple[int, int]]:
        """The days on which a statement held for certain and possibly."""
        place, fact = history[-1]
        if fact.pit and not fact.start:
            return None, (EVER, NEVER_ENDS)
        starts, ends = dates_of(fact.start), dates_of(fact.end)
        current = [packed(DATES[at]) for at, each in history if self.is_current(at, each)]
        begin = starts[0]["last"] if starts else min(current, default=NEVER_ENDS)
        first, last, end = starts[0]["first"] if starts else EVER, NEVER_ENDS, max(current, default=EVER)
        if fact.end == UNKNOWN:
            last, end = packed(DATES[place]), EVER
        elif ends:
            last, end = ends[0]["last"], ends[0]["first"]
            if starts and starts[0]["first"] > last:
                last = NEVER_ENDS
        elif gone := self.gave_way(history):
            last, end = gone[1], min(end, gone[0])
        end = min(end, packed(DATES[place]))
        return ((begin, end) if begin <= end and fact.rank != "deprecated" else None), (first, last)

    def says(self, value: int, first: int, last: int) -> str:
        told = [self.days(history) for history in self.histories(value)]
        if any(certain and certain[0] <= first and last <= certain[1] for certain, _ in told):
            return "correct"
        return "unclear" if any(begin <= last and first <= end for _, (begin, end) in told) else "wrong"


DAYS_ASKED = [
    packed(date) + step for date in ("2014-06-01", *DATES, "2018-03-10") for step in (-10_000, 0, 600)
]


def doubtful_dumps(dice: Random, subjects: int) -> list[list[Fact]]:
    """Dumps of random worlds with statements that are said to be false, or to have ended some day."""
    return [
        [
            replace(
                fact,
                rank="deprecated" if dice.random() < 0.1 else fact.rank,
                end=UNKNOWN if dice.random() < 0.1 else fact.end,
            )
            for fact in dump_
        ]
        for dump_ in random_dumps(dice, 4, subjects)
    ]


def check(timeline: list[Tenure], told: Plain) -> None:
    assert {each.value for each in timeline} <= told.values
    for value in told.values:
        for span_ in [*zip(DAYS_ASKED, DAYS_ASKED, strict=True), *pairwise(sorted(DAYS_ASKED))]:
            assert verdict(timeline, value, *span_) == told.says(value, *span_), (value, span_)


@settings(max_examples=examples(200), phases=[Phase.explicit, Phase.generate])
@given(st.integers(0, 2**32))
def test_timelines_are_those_of_all_statements_one_by_one(seed):
    dice = Random(seed)
    dumps = doubtful_dumps(dice, 4)
    for group in {(fact.s, fact.p) for dump_ in dumps for fact in dump_}:
        obsolete = {
            (interval, value): (dice.choice(DAYS_ASKED), dice.choice(DAYS_ASKED) + 10_000)
            for interval in (1, 2, 3)
            for value in range(600, 604)
            if dice.random() < 0.5
        }
        told = Plain(dumps, group, obsolete)
        rows = []
        for place, dump_ in enumerate(told.dumps):
            for fact in dump_:
                standing = "deprecated" if fact.rank == "deprecated" else "aside"
                spans_ = (
                    tuple(
                        Span("", each["precision"], each["first"], each["last"]) for each in dates_of(moment)
                    )
                    for moment in (fact.start, fact.end)
                )
                flags = fact.start == UNKNOWN, fact.end == UNKNOWN, bool(fact.pit and not fact.start)
                standing = "current" if told.is_current(place, fact) else standing
                rows.append(StatementInDump(place, fact.id, fact.o, standing, *spans_, *flags))
        check([tenure(each, DAYS) for each in follow(rows, DAYS, obsolete)], told)


def updates_of(pairs: list[Path]) -> dict[tuple[int, int, int], list[dict[str, Any]]]:
    """(interval, subject, property) -> the triples of the update, in the order of the dumps."""
    found: dict[tuple[int, int, int], list[dict[str, Any]]] = {}
    for interval, pair in enumerate(pairs, start=1):
        for row in pq.read_table(pair / "updates.parquet").to_pylist():
            if row["dropped_by"] is None:
                found.setdefault((interval, row["subject"], row["property"]), []).append(row)
    for update in found.values():
        update.sort(
            key=lambda row: (row["old_position"] is None, row["old_position"] or 0, row["new_position"] or 0)
        )
    return found


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
@settings(max_examples=3, phases=[Phase.explicit, Phase.generate])
@given(st.integers(0, 2**32))
def test_the_laws_of_sequences_hold_in_random_worlds_and_tables_give_the_timelines_of_the_dumps(seed):
    dumps = doubtful_dumps(Random(seed), 40)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        pairs = differences(folder, dumps)
        direct = difference(folder, dumps, 0, len(dumps) - 1)
        check_composition([World.differences(pair) for pair in pairs], World.differences(direct))
        links = chains(pairs, folder / "chains.parquet")
        found = pq.read_table(folder / "timelines.parquet").to_pylist()
        check_chains(links, len(pairs))
        check_dates(links, pairs)
        groups = {(row["interval"], row["subject"], row["property"]) for row in links}
        assert groups == updates_of(pairs).keys()
        # What is found of the first intervals does not depend on later ones, but for what supersedes it.
        alone = chains(pairs[:-1], folder / "alone.parquet")
        kept = set(alone[0]) - {"links", "superseded_by", "changes"}
        assert [{name: row[name] for name in kept} for row in alone] == [
            {name: row[name] for name in kept} for row in links if row["interval"] < len(pairs)
        ]
        ended = ended_by_updates(links, pairs)
    # Which of several dated values is kept is a filter's matter; none of them proves anything but its day.
    chained = {(row["subject"], row["property"]) for row in links if row["property"] != AT}
    assert len(chained) > 10
    for group in chained:
        timeline = [read_tenure(row) for row in found if (row["subject"], row["property"]) == group]
        check(timeline, Plain(dumps, group, ended.get(group, {})))


def ended_by_updates(links: list[dict[str, Any]], pairs: list[Path]) -> dict[tuple[int, int], Any]:
    """(subject, property) -> (interval, value) -> the days on which an obsolete object changed."""
    found: dict[tuple[int, int], Any] = {}
    updates = updates_of(pairs)
    for link in links:
        interval, *group = link["interval"], link["subject"], link["property"]
        for row, change in zip(updates[interval, *group], link["changes"], strict=True):
            if row["label"] == "obsolete":
                when = change["first_day"], change["last_day"]
                found.setdefault(tuple(group), {})[interval, row["object"]] = when
    return found
