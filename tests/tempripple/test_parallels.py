"""Which questions show whether the new or an old fact was used."""

from __future__ import annotations

from typing import Any

import pytest
from support.ripples import COUNTRY, HUMAN, kinds, ripple
from support.worlds import Fact, World

from factdrift.tempripple.parallels import mark_facts, mark_related

OLDEST, OLD, NEW = "third", "previous", "newest"
ROLES = {OLDEST: "old", OLD: "old", NEW: "new"}
FACTS = [
    {"fact_id": f"{s} {name}", "s": s, "p": "P6", "o": f"Q{name}", "o_label": name, "role": role}
    for s in ("Q1", "Q2")
    for name, role in ROLES.items()
]


def related(holder: str, path: str, answer: str, label: str = "", s: str = "Q1") -> dict[str, Any]:
    """A chain from a holder along properties, such as `P25 P103`, to an item or, as `1950-02-03`, a date."""
    return {
        "fact_id": f"{s} {holder}",
        "path": [{"p": name} for name in path.split()],
        "answer_id": answer,
        "answer_label": label or answer,
        "value_type": "item" if answer.startswith("Q") else "time",
    }


def marks(*rows: dict[str, Any]) -> list[bool | None]:
    mark_related(rows, FACTS)
    return [row["discriminates"] for row in rows]


def test_the_same_answer_from_both_roles_does_not_discriminate():
    """The old facts are not compared with each other."""
    rows = [related(OLDEST, "P103", "Q50"), related(OLD, "P103", "Q51"), related(NEW, "P103", "Q50")]
    assert marks(*rows) == [False, True, False]
    assert marks(*rows[1:]) == [True, True]


def test_without_a_parallel_nothing_is_claimed():
    rows = [related(OLD, "P103", "Q50"), related(OLDEST, "P103", "Q50"), related(NEW, "P19", "Q50")]
    assert marks(*rows, related(NEW, "P103", "Q50", s="Q2")) == [None] * 4


def test_chains_are_compared_along_all_of_their_properties():
    old = [related(OLD, "P25", "Q60"), related(OLD, "P25 P103", "Q50")]
    new = [related(NEW, "P25", "Q61"), related(NEW, "P25 P103", "Q50")]
    assert marks(*old, *new) == [True, False, True, False]


def test_labels_that_read_the_same_are_the_same_answer():
    rows = related(OLD, "P25", "Q60", "Anna Berg"), related(NEW, "P25", "Q61", "anna  berg")
    assert marks(*rows) == [False, False]


@pytest.mark.parametrize(
    ("new", "discriminates"), [("1950", False), ("1950-07-01", False), ("1951-02-03", True)]
)
def test_dates_are_compared_by_year(new, discriminates):
    rows = related(OLD, "P569", "1950-02-03", "3 February 1950"), related(NEW, "P569", new)
    assert marks(*rows) == [discriminates, discriminates]


def test_a_returning_holder_does_not_discriminate():
    facts = [
        {"s": "Q1", "p": "P6", "o": o, "o_label": o, "role": role}
        for o, role in (("Q10", "new"), ("Q11", "old"), ("Q10", "old"))
    ]
    mark_facts(facts)
    assert [fact["discriminates"] for fact in facts] == [False, True, False]


def test_items_carry_the_mark_and_a_cap_does_not_change_it(tmp_path):
    """Two holders with the same native language, different birthplaces, and a mother of the old one only."""
    world = World(
        new=[
            *kinds(Q1=(COUNTRY,)),
            Fact(1, 6, 10, "2010", "2025-03-14"),
            Fact(1, 6, 11, "2025-03-14"),
            *kinds(Q10=(HUMAN,)),
            *(Fact(10, p, o) for p, o in ((103, 50), (19, 51), (25, 52))),
            *kinds(Q11=(HUMAN,)),
            *(Fact(11, p, o) for p, o in ((103, 50), (19, 53))),
        ]
    )
    found = ripple(world, tmp_path / "a")
    ordinals = {fact["fact_id"]: fact["ordinal"] for fact in found.facts}
    marked = {
        item["item_id"]: (ordinals[item["fact_id"]], item["asked_p"], item["discriminates"])
        for item in found.items
    }
    assert sorted(marked.values(), key=str) == [
        (1, "P103", False),
        (1, "P19", True),
        (1, "P6", True),
        (2, "P103", False),
        (2, "P19", True),
        (2, "P25", None),
        (2, "P6", True),
    ]
    cut = ripple(world, tmp_path / "b", cap_per_fact=1).items
    assert len(cut) == 4
    assert all(item["discriminates"] is marked[item["item_id"]][2] for item in cut)


def test_tables_without_rows():
    assert marks() == []
    mark_facts([])
