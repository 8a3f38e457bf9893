"""Which entities are new (spec section 4)."""

from __future__ import annotations

from dataclasses import replace

import pyarrow.parquet as pq
import pytest
from support.worlds import Date, Fact, Property, World

PLAIN = 1000
RUNS = {
    "p": {},
    "i": {"dates": "interval"},
    "r": {"variant": "reference"},
    "f": {"variant": "revised", "dates": "first_day"},
    "v": {"variant": "revised", "dates": "interval"},
}


def dated(property, *texts, **more):
    return [Fact(0, property, Date(text), **more) for text in texts]


CASES = {
    "after T_old": ([], dated(571, "2022-01-01"), "pirfv"),
    "the day T_old": ([], dated(571, "2021-01-04"), ""),
    "a year that began before it": ([], dated(580, "2021"), ""),
    "deprecated": ([], dated(571, "2022-01-01", rank="deprecated"), ""),
    "unknown": ([], dated(571, "2022-01-01", snak="somevalue"), ""),
    "a death": ([], dated(570, "2022-01-01"), ""),
    "after the new dump": ([], dated(569, "2024-01-01"), "pirfv"),
    "limited by a qualifier": ([], dated(6949, "2022-01-01", quals=(447,)), "pirfv"),
    "something was in the old dump": ([Fact(0, PLAIN, 9)], dated(571, "2022-01-01"), ""),
    "only what a filter drops": ([Fact(0, PLAIN, 9, rank="deprecated")], dated(571, "2022-01-01"), "pir"),
    "no article in the old dump": (dated(571, "2022-01-01"), dated(571, "2022-01-01"), "pir"),
    "of publications the oldest counts": ([], dated(577, "2022-01-01", "2019-01-01"), ""),
    "the oldest is new": ([], dated(577, "2022-01-01", "2021-06-01"), "pirfv"),
    "of other dates any": ([], dated(571, "2019-01-01", "2022-01-01"), "pifv"),
    # `reference` asks the first of the properties that has a date.
    "published before": ([], dated(577, "2019-01-01") + dated(571, "2022-01-01"), "pifv"),
    "published before, said last": ([], dated(571, "2022-01-01") + dated(577, "2019-01-01"), "pirfv"),
    "born some day": ([], dated(569, "2019-01-01", snak="somevalue") + dated(571, "2022-01-01"), "pirfv"),
    # A publication in the seventies shows a reissue, though the decade alone would make nothing new.
    "a reissue": ([], dated(577, "1970/8", "2022") + dated(571, "1970/8"), ""),
    "a reissue after a century": ([], dated(577, "2000/7", "2022-03-01"), ""),
    "a later decade": ([], dated(577, "2022-03", "2030/8"), "pirfv"),
    "begun in the seventies": ([], dated(577, "2022") + dated(571, "1970/8"), "pirfv"),
    "a decade that may hold the date": ([], dated(577, "2020/8", "2022-03"), "v"),
    "two days": ([], dated(571, "2022-03-01") + dated(569, "2022-01-01"), "pifvr"),
    "one day": ([], dated(569, "2022-01-01") + dated(571, "2022-01-01"), "pifvr"),
    "one day, turned": ([], dated(571, "2022-01-01") + dated(569, "2022-01-01"), "pifvr"),
}
"""Facts of the old and of the new dump, and the runs in which the entity is new."""


def newborn(world, tmp_path, **switches):
    """Id -> the property and the day that make it new."""
    world.updates(tmp_path, **switches)
    rows = pq.read_table(tmp_path / "new_entities.parquet").to_pylist()
    return {row["id"]: (row["property"], row["created"]) for row in rows}


@pytest.mark.parametrize("run", RUNS)
def test_new_entities(run, tmp_path):
    numbers = {name: number for number, name in enumerate(CASES, 100)}
    old, new = (
        [replace(fact, s=numbers[name]) for name, case in CASES.items() for fact in case[side]]
        for side in (0, 1)
    )
    absent = frozenset(numbers[name] for name, case in CASES.items() if not case[0])
    bare = frozenset({numbers["no article in the old dump"]})
    found = newborn(World(old, new, absent_old=absent, no_article_old=bare), tmp_path, **RUNS[run])
    assert {name for name in CASES if numbers[name] in found} == {
        name for name, case in CASES.items() if run in case[-1]
    }
    if run == "p":
        # The earliest date decides; of two dates of one day the first in the dump.
        decided = [found[numbers[name]] for name in ("two days", "one day", "one day, turned")]
        assert decided == [(569, 20220101), (569, 20220101), (571, 20220101)]


@pytest.mark.parametrize("run", ["p", "f", "v"])
def test_a_date_coarser_than_a_year_makes_nothing_new_in_revised(run, tmp_path):
    # The 21st century is written +2100, a decade by any year of it.
    texts = {1: "2100/7", 2: "2022/8", 3: "3000/6", 4: "2022", 5: "2022-03"}
    facts = [Fact(subject, 571, Date(text)) for subject, text in texts.items()]
    world = World([], facts, absent_old=frozenset(texts))
    found = newborn(world, tmp_path, t_old=20191231, **RUNS[run])
    assert set(found) == ({1, 2, 3, 4, 5} if run == "p" else {4, 5})


def test_a_new_object_makes_an_added_triple_new(tmp_path):
    anchor = Fact(1, 999, 5, start="2000-01-01")
    born, planned = Fact(7, 571, Date("2022-01-01")), Fact(1, PLAIN, 7)
    world = World([anchor], [anchor, planned, born], [Property(PLAIN)])
    found = {row["property"]: (row["rule"], row["scenario"]) for row in world.updates(tmp_path)}
    assert found == {
        571: ("new_subject", "AddEntity"),
        999: ("still_holds", None),
        PLAIN: ("new_object", "AddRelation"),
    }
