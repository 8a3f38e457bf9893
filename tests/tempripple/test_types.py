"""Types by P31 and up to five steps of P279."""

from __future__ import annotations

import re
import shutil
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from support.ripples import RELATIONS, source_of
from support.worlds import Fact, World

from factdrift.core.errors import InputError
from factdrift.core.paths import TEMPRIPPLE
from factdrift.tempripple.relations import read_relations
from factdrift.tempripple.sources import INSTANCE, SUBCLASS, Ids
from factdrift.tempripple.table_source import TableSource
from factdrift.tempripple.types import Types

ORGANISATION, HUMAN, CITY, COUNTRY = 43229, 5, 515, 6256
CHAIN = [101, 102, 103, 104, 105, 106]


def world() -> World:
    """Q1 is four, Q2 five and Q3 six steps below an organisation; Q9 has no type; Q8's classes go in
    circles."""
    steps = [Fact(below, 279, above) for below, above in pairwise([*CHAIN, ORGANISATION])]
    return World(
        new=[
            *steps,
            Fact(1, 31, CHAIN[2]),
            Fact(2, 31, CHAIN[1]),
            Fact(3, 31, CHAIN[0]),
            Fact(4, 31, HUMAN),
            Fact(4, 31, CITY),
            Fact(5, 31, CITY, rank="preferred"),
            Fact(5, 31, COUNTRY),
            Fact(6, 31, HUMAN, rank="deprecated"),
            Fact(7, 31, 0, snak="somevalue"),
            Fact(8, 31, 201),
            Fact(201, 279, 202),
            Fact(202, 279, 201),
            Fact(9, 17, 10),
        ],
        no_article=frozenset({11}),
        classes={11: (HUMAN,)},
    )


class Counting:
    """A source that counts the questions about classes."""

    def __init__(self, source: TableSource) -> None:
        self.source, self.asked = source, []

    def classes(self, items: Ids, relation: int):
        self.asked.append((relation, items.tolist()))
        return self.source.classes(items, relation)


def types_in(depth: int, directory: Path) -> dict[int, set[str]]:
    with source_of(world(), directory) as source:
        types = Types(source, RELATIONS.types, depth)
        types.fetch(range(1, 10))
        return {
            item: {entry.type for entry in RELATIONS.types if types.is_a(item, entry.type)}
            for item in range(1, 10)
        }


def test_depth_limit(tmp_path: Path) -> None:
    found = types_in(5, tmp_path)
    assert (found[1], found[2], found[3]) == ({"organisation"}, {"organisation"}, set())
    assert types_in(6, tmp_path)[3] == {"organisation"}
    assert types_in(0, tmp_path)[1] == set()


def test_best_rank_and_items_without_type(tmp_path: Path) -> None:
    found = types_in(5, tmp_path)
    assert found[4] == {"human", "settlement", "place"}
    assert found[5] == {"settlement", "place"}
    assert found[6] == found[7] == found[8] == found[9] == set()


def test_the_nearest_class_is_recorded(tmp_path: Path) -> None:
    with source_of(world(), tmp_path) as source:
        types = Types(source, RELATIONS.types, 5)
        types.fetch([1, 4, 9])
        match = types.of(1, ("human", "organisation"))
        assert match is not None
        assert (match.type, match.class_number, match.depth) == ("organisation", ORGANISATION, 4)
        both = types.of(4, ("settlement", "human"))
        assert both is not None
        assert both.type == "human"  # of two at the same depth the first of the table
        assert types.of(4, ("team",)) is None
        for item, found in ((1, ("organisation", f"Q{ORGANISATION}")), (9, ("any", None))):
            anything = types.of(item, ("any",))
            assert anything is not None
            assert (anything.type, anything.class_id) == found


def test_each_item_and_class_is_asked_about_once(tmp_path: Path) -> None:
    with source_of(world(), tmp_path) as source:
        counting = Counting(source)
        types = Types(counting, RELATIONS.types, 5)  # type: ignore[arg-type]
        types.fetch([1, 2])
        types.fetch([2, 3, 1])
        types.fetch([1])
    for kind in (INSTANCE, SUBCLASS):
        asked = [number for relation, numbers in counting.asked if relation == kind for number in numbers]
        assert len(asked) == len(set(asked))
    assert sum(relation == INSTANCE for relation, _ in counting.asked) == 2


def test_of_items_that_are_not_held_whole_the_listed_classes_count(tmp_path: Path) -> None:
    listed = World(new=[Fact(1, 17, 11)], no_article=frozenset({11}), classes={11: (HUMAN,)})
    with source_of(listed, tmp_path) as source:
        assert source.classes(np.array([11], np.int32), INSTANCE).to_pylist() == [{"id": 11, "class": HUMAN}]


def test_tables_of_the_method() -> None:
    assert (len(RELATIONS.mutable), len(RELATIONS.immutable)) == (16, 53)
    assert RELATIONS.immutable.keys() & RELATIONS.mutable.keys() == {17, 36}
    assert len(read_relations(immutable_set="seed_visible").immutable) == 16
    assert RELATIONS.immutable[498].subjects == ("currency",)
    assert RELATIONS.immutable[361].label == "part of"
    for mutable in RELATIONS.mutable.values():
        assert mutable.phrase.startswith("the {ord} ")
        assert mutable.phrase.count("{x}") == 1
    for immutable in RELATIONS.immutable.values():
        assert immutable.phrase.endswith(" {x}")
        assert immutable.wh in ("Who", "What")
        assert immutable.guard in "QSVDN"


@pytest.mark.parametrize(
    ("table", "old", "new", "message"),
    [
        ("mutable", "\thuman\tteam", "\thumans\tteam", "mutable.tsv, line 6: humans is not a type"),
        ("mutable", "P54\t", "54\t", "mutable.tsv, line 6: '54' is no property id such as P31"),
        ("mutable", "\nP6\t", "\nP35\t", "mutable.tsv, line 3: P35 has a row already"),
        ("mutable", "\tcountry\thuman", "\tcountry", "mutable.tsv, line 2: 4 fields instead of 5"),
        ("immutable", "several\tS\tyes", "several\tX\tyes", "line 4: guard is 'X', seed is 'yes'; write one"),
        ("immutable", "several\tS\tyes", "several\tS\tYes", "line 4: guard is 'S', seed is 'Yes'; write"),
        ("immutable", "\nP22\t", "\nP25\t", "immutable.tsv, line 3: P25 has a row already"),
        ("mutable", "\nP35\t", "\nP25\t", "mutable.tsv, line 2: P25 has no noun phrase with an ordinal in"),
        ("immutable", "\nP25\t", "\nP9925\t", "immutable.tsv, line 2: P9925 has no noun phrase in"),
        ("types", "\tQ5\t", "\tP5\t", "types.tsv, line 2: 'P5' is no id such as Q5"),
        ("types", "type\tclass", "type\tclasses", "types.tsv, line 1: the header must be type class label"),
    ],
)
def test_a_fault_in_a_table_is_named(tmp_path: Path, table: str, old: str, new: str, message: str) -> None:
    shutil.copytree(TEMPRIPPLE, tmp_path, dirs_exist_ok=True)
    path = tmp_path / f"{table}.tsv"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(message)):
        read_relations(tmp_path)
