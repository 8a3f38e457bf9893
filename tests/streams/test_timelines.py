"""What a timeline proves about a date, and the questions that follow."""

from __future__ import annotations

import datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.worlds import time_of

from factdrift.streams.asof import Chain, questions, statements
from factdrift.streams.changes import Dated, Span
from factdrift.streams.timelines import EVER, NEVER_ENDS, Held, Told, dates_within, held, verdict

DAYS = [20150101, 20170101, 20190101, 20210104]


def span(text: str | None) -> Span | None:
    if text is None:
        return None
    time = time_of(text)
    return Span(text, time["precision"], time["first"], time["last"])


def told(start: str | None = None, end: str | None = None, **given_: Any) -> Told:
    plain = {"start_unknown": False, "end_unknown": False, "measured": False, "first_dump": 1, "last_dump": 2}
    return Told(7, span(start), span(end), **plain | {"removed": False, "ended": None} | given_)


def test_a_statement_holds_between_its_dates_for_certain_and_around_them_perhaps():
    assert held(told("2015-03", "2018"), DAYS) == Held(7, (20150331, 20180101), (20150301, 20181231))


def test_without_an_end_it_holds_up_to_the_last_dump_that_has_it():
    assert held(told("2015-03-02"), DAYS) == Held(7, (20150302, 20190101), (20150302, NEVER_ENDS))
    assert held(told("2015-03-02", removed=True), DAYS) == held(told("2015-03-02"), DAYS)


def test_without_a_start_it_holds_from_the_first_dump_that_has_it():
    assert held(told(end="2018-05-01"), DAYS) == Held(7, (20170101, 20180501), (EVER, 20180501))


def test_an_update_that_ends_it_tells_when():
    ended = Dated("2018-03", 20180301, 20180331, "replacement")
    assert held(told("2016", removed=True, ended=ended), DAYS) == Held(
        7, (20161231, 20180301), (20160101, 20180331)
    )
    # Nobody says that a fact ended that the next dump still has.
    assert held(told("2016", ended=ended), DAYS).possible[1] == NEVER_ENDS


def test_what_is_not_said_proves_nothing():
    assert held(told("2016", end_unknown=True), DAYS) == Held(7, None, (20160101, 20190101))
    assert held(told(measured=True), DAYS) == Held(7, None, (EVER, NEVER_ENDS))
    assert held(told("2019", "2019"), DAYS).certain is None


def test_what_held_on_one_day_held_on_it_for_certain():
    assert held(told("2018-05-01", "2018-05-01"), DAYS) == Held(7, (20180501,) * 2, (20180501,) * 2)


def test_verdicts():
    timeline = [
        Held(7, (20160101, 20171231), (20150101, 20181231)),
        Held(7, (20200101, 20201231), (20200101, NEVER_ENDS)),
    ]
    for first, last, expected in [
        (20160101, 20171231, "correct"),
        (20170630, 20170630, "correct"),
        (20150601, 20150601, "unclear"),
        (20170101, 20181231, "unclear"),
        (20190101, 20191231, "wrong"),
        (20200101, 20201231, "correct"),
        (20210101, 20210101, "unclear"),
        (20140101, 20141231, "wrong"),
    ]:
        assert verdict(timeline, 7, first, last) == expected
    assert verdict(timeline, 8, 20160101, 20160101) == "wrong"


spans = st.tuples(st.dates(datetime.date(1900, 1, 1), datetime.date(2030, 1, 1)), st.integers(0, 2000))


def number(day: datetime.date) -> int:
    return day.year * 10_000 + day.month * 100 + day.day


@given(spans)
def test_dates_lie_in_the_interval_and_there_is_one_of_each_precision_that_fits(given_):
    begin, length = given_
    end = begin + datetime.timedelta(days=length)
    found = {each.precision: each for each in dates_within((number(begin), number(end)))}
    assert all(number(begin) <= each.first <= each.last <= number(end) for each in found.values())
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


def row(interval: int, change: str, old: str | None, new: str | None, **given_: Any) -> dict[str, Any]:
    sides = {f"{side}_{name}": None for side in ("old", "new") for name in ("start", "end")}
    flags = {
        f"{side}_{name}": False
        for side in ("old", "new")
        for name in ("start_unknown", "end_unknown", "measured")
    }
    plain = {"interval": interval, "object": 7, "change": change, "old_statement": old, "new_statement": new}
    return plain | {"ended": None} | sides | flags | given_


def test_statements_are_followed_from_dump_to_dump():
    end = {"text": "2020", "precision": 9, "first": 20200101, "last": 20201231}
    found = statements(
        iter(
            [
                row(1, "F+", None, "a"),
                row(1, "F0", "b", "c"),
                row(2, "F0", "a", "d"),
                row(2, "F-", "c", None),
                row(3, "F0", "d", "d", new_end=end),
            ]
        )
    )
    assert [(each.first_dump, each.last_dump, each.removed, each.end) for each in found] == [
        (0, 1, True, None),
        (1, 3, False, Span(**end)),
    ]


def chain(*timeline: Held, labels: dict[int, str] | None = None) -> Chain:
    named = labels or {1: "Ann", 2: "Bob", 3: "Cid"}
    return Chain("Q9-P6", "The mayor of Town is ____", named, timeline)


ANN = Held(1, (20110101, 20141231), (20110101, 20150101))
BOB = Held(2, (20150101, 20181231), (20150101, 20181231))
CID = Held(3, (20190101, 20210104), (20190101, NEVER_ENDS))
POOL = [(3, "Cid"), (4, "Dan"), (5, "Ann"), (6, "Eve")]


def asked(*timeline: Held, **changes: Any) -> list[dict[str, Any]]:
    return list(questions(chain(*timeline, **changes), POOL, DAYS, 0))


def test_questions_at_three_precisions():
    found = asked(ANN, BOB, CID)
    assert [(each["question"], each["answer_label"], each["holds"]) for each in found] == [
        ("As of December 31, 2012, the mayor of Town is ____", "Ann", "then"),
        ("As of December 2012, the mayor of Town is ____", "Ann", "then"),
        ("As of 2012, the mayor of Town is ____", "Ann", "then"),
        ("As of December 31, 2016, the mayor of Town is ____", "Bob", "before"),
        ("As of December 2016, the mayor of Town is ____", "Bob", "before"),
        ("As of 2016, the mayor of Town is ____", "Bob", "before"),
        ("As of January 3, 2020, the mayor of Town is ____", "Cid", "now"),
        ("As of January 2020, the mayor of Town is ____", "Cid", "now"),
        ("As of 2020, the mayor of Town is ____", "Cid", "now"),
    ]
    assert {each["context"] for each in found} == {"As of January 4, 2021, the mayor of Town is Cid"}
    for each in found:
        told_ = dict(zip(each["options"], each["option_verdicts"], strict=True))
        assert told_.pop(each["answer_label"]) == "correct"
        assert each["options"][each["answer_index"]] == each["answer_label"]
        # An object of another chain with the name of one of this chain is no option.
        assert sorted(told_.values()) == ["never", "wrong", "wrong"]
        assert len(set(each["options"])) == 4
    assert len({each["item_id"] for each in found}) == len(found)


def test_a_date_on_which_another_may_have_held_is_not_asked_about():
    doubtful = Held(2, (20150101, 20181231), (EVER, 20181231))
    assert {each["answer_label"] for each in asked(ANN, doubtful, CID)} == {"Bob", "Cid"}
    nameless = Held(8, None, (20100101, 20181231))
    assert {each["answer_label"] for each in asked(ANN, BOB, CID, nameless)} == {"Cid"}


def test_too_few_options_make_an_open_question():
    found = list(questions(chain(BOB, CID), [], DAYS, 0))
    assert {each["open_only"] for each in found} == {True}
    assert {each["pool_size"] for each in found} == {1}


@pytest.mark.parametrize("timeline", [(), (Held(1, None, (EVER, NEVER_ENDS)),)])
def test_a_timeline_that_proves_nothing_gives_no_question(timeline):
    assert asked(*timeline) == []
