"""When an object changed, how long after that Wikidata said so, and what supersedes what in a chain."""

from __future__ import annotations

import datetime
from typing import Any

from hypothesis import given
from hypothesis import strategies as st
from support.worlds import time_of

from factdrift.streams.chains import Link, Occurrence, dated, fates, lag, linked_rows
from factdrift.streams.timelines import Span, day_number

DAYS = [20150101, 20170101, 20190101, 20210104]


def span(text: str) -> Span:
    time = time_of(text)
    return Span(text, time["precision"], time["first"], time["last"])


def seen(label: str, interval: int = 2, change: str = "F+", **given_: Any) -> Occurrence:
    plain: dict[str, Any] = dict.fromkeys(Occurrence._fields)
    plain |= {"interval": interval, "kept": True, "change": change, "value": ("string", "a"), "label": label}
    spans = {name: span(text) for name, text in given_.items() if name not in ("old", "new")}
    plain |= {"functional": False, "old_statement": given_.get("old"), "new_statement": given_.get("new")}
    return Occurrence(**plain | spans)


def date(*triples: Occurrence) -> list[tuple[str | None, str] | None]:
    return [each and (each.date, each.by) for each in dated(triples, DAYS)]


def test_what_began_is_dated_by_its_own_dates_first():
    assert date(seen("new", start="2018-03-05", pit="2018")) == [("2018-03-05", "start")]
    assert date(seen("new", start="2012", pit="2018-05")) == [("2018-05", "point_in_time")]
    assert date(seen("new", value_date="2017-02-01", pit="2018")) == [("2017-02-01", "value")]
    assert date(seen("new", created="2018-06-05")) == [("2018-06-05", "created")]
    assert date(seen("new", created="2018-06-05", start="2018")) == [("2018", "start")]


def test_a_date_counts_that_may_lie_in_the_interval_and_is_as_fine_as_a_year():
    for start in ("2016", "2017-01-01", "2019-01-02", "2010s", "2018-01-01/8"):
        assert dated([seen("new", start=start)], DAYS) == [(None, 20170102, 20190101, "interval")]
    for start in ("2017", "2017-01-02", "2019-01-01", "2019", "2019-01"):
        assert date(seen("new", start=start)) == [(start, "start")]


def test_what_ended_is_dated_by_its_end_else_by_what_replaced_it():
    new = seen("new", start="2018-03-05")
    assert date(seen("obsolete", end="2018-03"), new)[0] == ("2018-03", "end")
    assert date(seen("obsolete", change="F-"), seen("new", start="2018-07"), new)[0] == (
        "2018-03-05",
        "replacement",
    )
    # A month before a day in it.
    month, day = seen("new", start="2018-03"), seen("new", start="2018-03-05")
    assert date(seen("obsolete", change="F-"), day, month)[0] == ("2018-03", "replacement")
    assert date(seen("obsolete", change="F-"), seen("new"))[0] == (None, "interval")
    assert date(seen("static", start="2018"), new)[0] is None


def test_an_end_given_with_a_statement_that_filters_drop_comes_before_other_dates():
    new = seen("new", start="2018-03-05")
    gone = seen("obsolete", change="F-", end="2018-07")
    assert date(gone._replace(dropped_end=span("2017-06-14")), new)[0] == ("2017-06-14", "end")
    # Wikidata was late: what replaced it began later, and nothing else says when it ended.
    assert date(gone._replace(dropped_end=span("2016-11")), new)[0] == ("2016-11", "end")
    for useless in ("2019-06-01", "2010s"):
        assert date(gone._replace(dropped_end=span(useless)), new)[0] == ("2018-07", "end")


def test_a_creation_is_no_finer_than_it_is_written():
    assert late(seen("new", created="2018-10")) == (
        days("2018-10-31", "2017-01-02"),
        days("2018-10-01", "2019-01-01"),
    )
    assert date(seen("new", created="2018")) == [("2018", "created")]


def days(first: str, last: str) -> int:
    begin, end = (datetime.date.fromisoformat(text) for text in (first, last))
    return (end - begin).days


def late(triple: Occurrence, *before: Occurrence) -> tuple[int, int] | None:
    (change,) = dated([triple], DAYS)
    return lag(triple, change, before, DAYS)


def test_an_announced_fact_appeared_where_its_statement_was_added():
    announced = seen("new", 3, "F0", start="2020-06-01", old="c", new="d")
    added = seen("static", 1, "F+", new="b")
    rewritten = seen("static", 2, "F0", old="b", new="c")
    assert late(announced, added, rewritten) == (
        days("2020-06-01", "2015-01-02"),
        days("2020-06-01", "2017-01-01"),
    )
    # The first dump had it, or an interval said nothing of it and its id is the same.
    assert late(announced, rewritten) is None
    kept = seen("static", 1, "F+", new="c")
    assert late(announced, kept) == late(announced, added, rewritten)


@given(st.dates())
def test_packed_days_count_like_dates(day):
    packed = day.year * 10_000 + day.month * 100 + day.day
    assert day_number(packed) == day.toordinal()
    # A day that no month has counts as one of its month.
    for none, same in ((20210231, 20210228), (19000229, 19000228), (20210000, 20210101)):
        assert day_number(none) == day_number(same)


def test_days_before_the_year_1_count_on_backwards():
    """There is no year 0, and 1 BC is a leap year."""
    new_year, march, leap_day, eve = 1_01_01, -1_00_00 + 3_01, -1_00_00 + 2_29, -1_00_00 + 12_31
    assert (day_number(new_year), day_number(eve)) == (1, 0)
    assert day_number(march) - day_number(leap_day) == 1
    ended = seen("obsolete", change="F-")._replace(dropped_end=Span("-0044-03-15", 11, -439685, -439685))
    shortest, longest = late(ended)
    assert longest - shortest == days("2017-01-02", "2019-01-01")
    assert shortest == days("0001-01-01", "2017-01-02") + 44 * 365 + 11 - 74 + 1


VALUES = [("wikibase-item", f"Q{number}") for number in range(1, 5)]


def test_an_update_is_superseded_when_nothing_that_it_says_is_left():
    def by(*updates: str) -> list[int | None]:
        """Of updates such as `a+ b-`: new and obsolete objects."""
        rows = [(interval, word) for interval, words in enumerate(updates, start=1) for word in words.split()]
        told = [(i, True, "F+", "x", word[0], {"+": "new", "-": "obsolete"}[word[1]]) for i, word in rows]
        group = iter([(1, 2, *each, False, None, "s", *[None] * 7) for each in told])
        return [row["superseded_by"] for row in linked_rows(1, 2, group, DAYS, {})]

    assert by("a+ b+", "b-", "a-") == [3, None, None]
    assert by("a+ b+", "b-", "b+") == [None, 3, None]
    assert by("a+ b-", "a-", "b+") == [2, None, None]


labels = st.dictionaries(
    st.sampled_from(VALUES), st.sampled_from(["new", "obsolete", "static"]), min_size=1, max_size=4
)
chains = st.lists(st.builds(Link, labels, st.booleans()), min_size=1, max_size=7)


def word_by_word(chain: list[Link], place: int, value: tuple[str, str]) -> tuple[bool, int | None]:
    """The definitions of docs/streams.md: every link is looked at for every object."""

    def verdict(each: Link) -> str | None:
        if value in each.labels:
            return "ended" if each.labels[value] == "obsolete" else "holds"
        others = [other for other, label in each.labels.items() if label == "new" and other != value]
        return "ended" if each.functional and others else None

    label = chain[place].labels[value]
    earlier = [verdict(each) for each in chain[:place] if verdict(each)]
    reverts = label == "new" and bool(earlier) and earlier[-1] == "ended"
    opposite = {"new": "ended", "obsolete": "holds", "static": "none"}[label]
    later = [
        number for number, each in enumerate(chain[place + 1 :], start=place + 2) if verdict(each) == opposite
    ]
    return reverts, later[0] if later else None


@given(chains)
def test_fates_are_those_of_the_definitions(chain):
    # A value that no earlier link mentions cannot have ended, which the definitions leave open.
    found = fates(chain)
    for place, each in enumerate(chain):
        assert found[place].keys() == each.labels.keys()
        for value in each.labels:
            reverts, by = word_by_word(chain, place, value)
            mentioned = any(value in earlier.labels for earlier in chain[:place])
            assert found[place][value] == (reverts and mentioned, by)
