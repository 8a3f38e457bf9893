"""Which entities are new (spec section 4)."""

from __future__ import annotations

import pyarrow.parquet as pq
import pytest
from support.worlds import Date, Fact, Property, World

PLAIN = 1000


def newborn(world, tmp_path, **switches):
    return {row["subject"] for row in world.updates(tmp_path, **switches) if row["subject_is_ph_new"]}


def test_a_date_after_t_old_that_is_not_deprecated(tmp_path):
    dates = {
        1: Fact(1, 571, Date("2022-01-01")),
        2: Fact(2, 571, Date("2021-01-04")),
        3: Fact(3, 571, Date("2022-01-01"), rank="deprecated"),
        4: Fact(4, 570, Date("2022-01-01")),
        5: Fact(5, 569, Date("2024-01-01")),
        6: Fact(6, 571, Date("2022-01-01"), snak="somevalue"),
        7: Fact(7, 580, Date("2021")),
        8: Fact(8, 6949, Date("2022-01-01"), quals=(447,)),
    }
    facts = [each for number, date in dates.items() for each in (date, Fact(number, PLAIN, 99))]
    assert newborn(World([], facts), tmp_path / "1") == {1, 5, 8}
    assert newborn(World([], facts), tmp_path / "2", dates="interval") == {1, 5, 8}


def test_nothing_of_it_may_stand_in_the_old_dump(tmp_path):
    new = [Fact(number, 571, Date("2022-01-01")) for number in (1, 2, 3)]
    old = [Fact(1, PLAIN, 9), Fact(2, PLAIN, 9, rank="deprecated")]
    assert newborn(World(old, new), tmp_path) == {2, 3}


def test_of_publication_dates_the_oldest_counts(tmp_path):
    facts = [
        Fact(1, 577, Date("2022-01-01")),
        Fact(1, 577, Date("2019-01-01")),
        Fact(2, 577, Date("2022-01-01")),
        Fact(2, 577, Date("2021-06-01")),
        Fact(3, 571, Date("2019-01-01")),
        Fact(3, 571, Date("2022-01-01")),
    ]
    assert newborn(World([], facts), tmp_path / "1") == {2, 3}
    assert newborn(World([], facts), tmp_path / "2", variant="reference") == {2}


def test_reference_asks_the_first_of_the_properties_that_has_a_date(tmp_path):
    facts = [
        Fact(1, 577, Date("2019-01-01")),
        Fact(1, 571, Date("2022-01-01")),
        Fact(2, 571, Date("2022-01-01")),
        Fact(2, 577, Date("2019-01-01")),
        Fact(3, 569, Date("2019-01-01"), snak="somevalue"),
        Fact(3, 571, Date("2022-01-01")),
    ]
    assert newborn(World([], facts), tmp_path / "1") == {1, 2, 3}
    assert newborn(World([], facts), tmp_path / "2", variant="reference") == {2, 3}


def test_what_had_no_article_yet_is_a_candidate_but_not_in_revised(tmp_path):
    fact = Fact(1, 571, Date("2022-01-01"))
    world = World([fact], [fact], no_article_old=frozenset({1}))
    assert newborn(world, tmp_path / "1") == {1}
    assert newborn(world, tmp_path / "2", variant="reference") == {1}
    assert newborn(world, tmp_path / "3", variant="revised") == set()
    late = World([], [fact], absent_old=frozenset({1}))
    assert newborn(late, tmp_path / "4", variant="revised") == {1}


def test_a_new_object_makes_an_added_triple_new(tmp_path):
    anchor = Fact(1, 999, 5, start="2000-01-01")
    born, planned = Fact(7, 571, Date("2022-01-01")), Fact(1, PLAIN, 7)
    world = World([anchor], [anchor, planned, born], [Property(PLAIN)])
    found = {row["property"]: (row["rule"], row["scenario"]) for row in world.updates(tmp_path / "1")}
    assert found == {
        571: ("new_subject", "AddEntity"),
        999: ("still_holds", None),
        PLAIN: ("new_object", "AddRelation"),
    }


@pytest.mark.parametrize("dates", ["first_day", "interval"])
def test_a_date_coarser_than_a_year_makes_nothing_new_in_revised(dates, tmp_path):
    # The 21st century is written +2100, a decade by any year of it.
    texts = {1: "2100/7", 2: "2022/8", 3: "3000/6", 4: "2022", 5: "2022-03"}
    facts = [Fact(subject, 571, Date(text)) for subject, text in texts.items()]
    facts += [Fact(subject, PLAIN, 99) for subject in texts]
    days = {"t_old": 20191231, "t_new": 20230227}
    world = World([], facts, absent_old=frozenset(texts))
    assert newborn(world, tmp_path / "1", variant="revised", dates=dates, **days) == {4, 5}
    assert newborn(world, tmp_path / "2", **days) == {1, 2, 3, 4, 5}


def test_the_earliest_date_says_when_and_by_which_property(tmp_path):
    """Of two dates of one day the first in the dump decides."""
    early, late = Date("2022-01-01"), Date("2022-03-01")
    dates = [
        (1, 571, late),
        (1, 569, early),
        (2, 569, early),
        (2, 571, early),
        (3, 571, early),
        (3, 569, early),
    ]
    World([], [Fact(*each) for each in dates]).updates(tmp_path)
    rows = pq.read_table(tmp_path / "new_entities.parquet").to_pylist()
    assert [tuple(row.values()) for row in rows] == [
        (1, 569, 20220101),
        (2, 569, 20220101),
        (3, 571, 20220101),
    ]


@pytest.mark.parametrize("dates", ["first_day", "interval"])
def test_a_reissue_of_a_work_of_the_seventies_is_not_new_in_revised(dates, tmp_path):
    published = {1: ("1970/8", "2022"), 2: ("2000/7", "2022-03-01"), 3: ("2022-03", "2030/8"), 4: ("2022",)}
    facts = [Fact(subject, 577, Date(text)) for subject, texts in published.items() for text in texts]
    # Of the other dates of creation each counts on its own.
    facts += [Fact(1, 571, Date("1970/8")), Fact(4, 571, Date("1970/8"))]
    facts += [Fact(subject, PLAIN, 99) for subject in published]
    world = World([], facts, absent_old=frozenset(published))
    assert newborn(world, tmp_path / "1", variant="revised", dates=dates) == {3, 4}
    assert newborn(world, tmp_path / "2", variant="paper", dates=dates) == {3, 4}


def test_a_decade_that_may_hold_the_date_makes_no_work_older(tmp_path):
    facts = [Fact(1, 577, Date("2020/8")), Fact(1, 577, Date("2022-03")), Fact(1, PLAIN, 99)]
    world = World([], facts, absent_old=frozenset({1}))
    assert newborn(world, tmp_path, variant="revised", dates="interval") == {1}
