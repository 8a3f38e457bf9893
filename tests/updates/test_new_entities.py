"""Which entities are new (spec section 4)."""

from dataclasses import replace
from typing import Any

import pyarrow.parquet as pq
import pytest
from support.worlds import Date, Fact, Property, World

PLAIN = 1000
METHODS: dict[str, dict[str, Any]] = {
    "paper": {},
    "paper, interval": {"dates": "interval"},
    "reference": {"variant": "reference"},
    "revised, first day": {"variant": "revised", "dates": "first_day"},
    "revised": {"variant": "revised"},
}
ALL = {*METHODS}
PAPER, REVISED = {"paper", "paper, interval"}, {"revised", "revised, first day"}


def dates(relation: int, *texts: str, **fields: Any) -> list[Fact]:
    return [Fact(0, relation, Date(text), **fields) for text in texts]


# Name -> what the new dump says of an item, and where it is new.
CASES: dict[str, tuple[list[Fact], set[str]]] = {
    "after T_old": (dates(571, "2022-01-01"), ALL),
    "after T_new": (dates(569, "2024-01-01"), ALL),
    "a restrictive qualifier": (dates(6949, "2022-01-01", quals=(447,)), ALL),
    "T_old": (dates(571, "2021-01-04"), set()),
    "the year of T_old": (dates(580, "2021"), set()),
    "deprecated": (dates(571, "2022-01-01", rank="deprecated"), set()),
    "unknown": (dates(571, "2022-01-01", snak="somevalue"), set()),
    "no date of creation": (dates(570, "2022-01-01"), set()),
    "an old publication": (dates(577, "2022-01-01", "2019-01-01"), set()),
    "new publications": (dates(577, "2022-01-01", "2021-06-01"), ALL),
    "an old date first": (dates(571, "2019-01-01", "2022-01-01"), PAPER | REVISED),
    "an old publication first": (dates(577, "2019-01-01") + dates(571, "2022-01-01"), PAPER | REVISED),
    "an old publication last": (dates(571, "2022-01-01") + dates(577, "2019-01-01"), ALL),
    "an unknown date first": (dates(569, "2019-01-01", snak="somevalue") + dates(571, "2022-01-01"), ALL),
    "a century": (dates(571, "2200/7"), ALL - REVISED),
    "a decade": (dates(571, "2030/8"), ALL - REVISED),
    # A work of the seventies that is issued again is not new; other dates of creation count on their own.
    "published in a decade": (dates(577, "1970/8", "2022") + dates(571, "1970/8"), set()),
    "published in a century": (dates(577, "2000/7", "2022-03-01"), set()),
    "to be published": (dates(577, "2022-03", "2030/8"), ALL),
    "begun in a decade": (dates(577, "2022") + dates(571, "1970/8"), ALL),
    "a decade that may hold the date": (dates(577, "2020/8", "2022-03"), {"revised"}),
    "a decade that ends on the date": (dates(577, "2020/8", "2029-12-31"), {"revised"}),
    "with a fact in both dumps": ([*dates(571, "2022-01-01"), Fact(0, PLAIN, 9)], set()),
    "with a fact in the old dump": (dates(571, "2022-01-01"), set()),
    "filtered in the old dump": (dates(571, "2022-01-01"), PAPER | {"reference"}),
    "without an article in the old dump": (dates(571, "2022-01-01"), PAPER | {"reference"}),
}
OLD = {
    "with a fact in both dumps": Fact(0, PLAIN, 9),
    "with a fact in the old dump": Fact(0, PLAIN, 9),
    "filtered in the old dump": Fact(0, PLAIN, 9, rank="deprecated"),
    "without an article in the old dump": dates(571, "2022-01-01")[0],
}
# Of two dates of one day the first in the dump decides.
EARLIEST = {
    "late, early": ((571, "2022-03-01"), (569, "2022-01-01"), 569),
    "571, 569": ((571, "2022-01-01"), (569, "2022-01-01"), 571),
}
NUMBERS = {name: number for number, name in enumerate([*CASES, *EARLIEST], 100)}


@pytest.mark.parametrize("method", METHODS)
def test_new_items_and_objects(method, tmp_path):
    anchor = Fact(1, 999, 5, start="2000-01-01")
    old = [anchor, *(replace(fact, s=NUMBERS[name]) for name, fact in OLD.items())]
    new = [anchor, Fact(1, PLAIN, NUMBERS["after T_old"])]
    for name, (facts, _) in CASES.items():
        new += [replace(fact, s=NUMBERS[name]) for fact in facts]
    for name, (*dated, _) in EARLIEST.items():
        new += [Fact(NUMBERS[name], relation, Date(text)) for relation, text in dated]
    absent = frozenset(NUMBERS[name] for name in NUMBERS.keys() - OLD.keys())
    bare = frozenset({NUMBERS["without an article in the old dump"]})
    world = World(old, new, [Property(PLAIN)], absent_old=absent, no_article_old=bare)
    planned = [row for row in world.updates(tmp_path, **METHODS[method]) if row["subject"] == 1]
    assert ("new_object", "AddRelation") in [(row["rule"], row["scenario"]) for row in planned]
    rows = pq.read_table(tmp_path / "new_entities.parquet").to_pylist()
    found = {row["id"]: (row["property"], row["created"]) for row in rows}
    due = {name for name, (_, where) in CASES.items() if method in where}
    assert {name for name in CASES if NUMBERS[name] in found} == due
    if method != "reference":
        for name, (*_, relation) in EARLIEST.items():
            assert found[NUMBERS[name]] == (relation, 20220101)
