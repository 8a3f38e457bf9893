"""Types by P31 and up to five steps of P279."""

import re
import shutil
from itertools import pairwise

import pytest
from support.ripples import RELATIONS, source_of
from support.worlds import Fact, World

from factdrift.core.errors import InputError
from factdrift.core.paths import TEMPRIPPLE
from factdrift.tempripple.relations import read_relations
from factdrift.tempripple.search import Types

ORGANISATION, HUMAN, CITY, COUNTRY = 43229, 5, 515, 6256
CHAIN = [101, 102, 103, 104, 105, 106]


WORLD = World(
    new=[
        *(Fact(below, 279, above) for below, above in pairwise([*CHAIN, ORGANISATION])),
        # Four, five and six steps below an organisation.
        *(Fact(item, 31, CHAIN[3 - item]) for item in (1, 2, 3)),
        *(Fact(4, 31, HUMAN), Fact(4, 31, CITY)),
        *(Fact(5, 31, CITY, rank="preferred"), Fact(5, 31, COUNTRY)),
        Fact(6, 31, HUMAN, rank="deprecated"),
        Fact(7, 31, 0, snak="somevalue"),
        # Classes that go in circles, and an item without a class.
        *(Fact(8, 31, 201), Fact(201, 279, 202), Fact(202, 279, 201)),
        Fact(9, 17, 11),
    ],
    no_article=frozenset({11}),
    classes={11: (HUMAN,)},
)


def test_types(tmp_path):
    found = {}
    with source_of(WORLD, tmp_path) as source:
        for depth in (0, 6, 5):
            types = Types(source, RELATIONS.types, depth)
            types.fetch(range(1, 12))
            found[depth] = {
                item: {entry.type for entry in RELATIONS.types if types.is_a(item, entry.type)}
                for item in range(1, 12)
            }
    assert (found[5][1], found[5][2], found[5][3]) == ({"organisation"}, {"organisation"}, set())
    assert (found[6][3], found[0][1]) == ({"organisation"}, set())
    assert found[5][4] == {"human", "settlement", "place"}
    assert found[5][5] == {"settlement", "place"}
    assert not any(found[5][item] for item in (6, 7, 8, 9))
    # An item that the snapshot does not hold whole has the classes that its row lists.
    assert found[5][11] == {"human"}
    match = types.of(1, ("human", "organisation"))
    assert match is not None
    assert (match.type, match.class_number, match.depth) == ("organisation", ORGANISATION, 4)
    both, anything = types.of(4, ("settlement", "human")), types.of(9, ("any",))
    assert both is not None
    assert both.type == "human"  # of two at the same depth the first of the table
    assert types.of(4, ("team",)) is None
    assert anything is not None
    assert (anything.type, anything.class_id) == ("any", None)


def test_tables_of_the_method():
    assert (len(RELATIONS.mutable), len(RELATIONS.immutable)) == (16, 53)
    assert RELATIONS.immutable.keys() & RELATIONS.mutable.keys() == {17, 36}
    assert len(read_relations(immutable_set="seed_visible").immutable) == 16
    assert RELATIONS.immutable[498].subjects == ("currency",)
    assert RELATIONS.immutable[361].label == "part of"
    for mutable in RELATIONS.mutable.values():
        assert mutable.phrase.startswith("the {ord} ")
    for immutable in RELATIONS.immutable.values():
        assert immutable.phrase.endswith(" {x}")


@pytest.mark.parametrize(
    ("table", "old", "new", "message"),
    [
        ("mutable", "\thuman\tteam", "\thumans\tteam", "mutable.tsv, line 6: humans is not a type"),
        ("mutable", "P54\t", "54\t", "mutable.tsv, line 6: '54' is no property id such as P31"),
        ("mutable", "\nP6\t", "\nP35\t", "mutable.tsv, line 3: P35 has a row already"),
        ("immutable", "several\tS\tyes", "several\tX\tyes", "line 4: guard is 'X', seed is 'yes'; write one"),
        ("mutable", "\nP35\t", "\nP25\t", "mutable.tsv, line 2: P25 has no noun phrase with an ordinal in"),
        ("immutable", "\nP25\t", "\nP9925\t", "immutable.tsv, line 2: P9925 has no noun phrase in"),
        ("types", "\tQ5\t", "\tP5\t", "types.tsv, line 2: 'P5' is no id such as Q5"),
        ("types", "type\tclass", "type\tclasses", "types.tsv, line 1: the header must be type class label"),
    ],
)
def test_a_fault_in_a_table_is_named(tmp_path, table, old, new, message):
    shutil.copytree(TEMPRIPPLE, tmp_path, dirs_exist_ok=True)
    path = tmp_path / f"{table}.tsv"
    text = path.read_text(encoding="utf-8")
    assert old in text
    path.write_text(text.replace(old, new), encoding="utf-8")
    with pytest.raises(InputError, match=re.escape(message)):
        read_relations(tmp_path)
