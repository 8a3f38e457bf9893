"""Related facts against an oracle that walks every path by itself, on random worlds."""

import tempfile
from pathlib import Path

from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.ripples import COUNTRY, HUMAN, kinds, ripple
from support.worlds import Fact, World

PEOPLE = range(10, 17)
LANDS = range(20, 23)
SUBJECTS = {22: "human", 25: "human", 103: "human", 36: "country", 37: "country", 138: "any"}
"""Relations, and of which type their subjects must be."""

LABELS = {item: f"name {item}" for item in range(1, 30)} | {14: "Name 1 the great", 15: "the great"}


@st.composite
def worlds(draw):
    """A change of the head of Q1, and facts about anything, unqualified, sometimes two of a kind."""
    heads = [Fact(1, 6, 10, "2010", "2025-02"), Fact(1, 6, 11, "2025-02")]
    items = [*PEOPLE, *LANDS]
    pairs = st.tuples(st.sampled_from(items), st.sampled_from(sorted(SUBJECTS)), st.sampled_from([1, *items]))
    # Two are each other's value, so that a path could come back.
    chosen = sorted({*draw(st.lists(pairs, max_size=30)), (11, 22, 12), (12, 22, 11)})
    facts = [Fact(*pair, id=f"Q{pair[0]}${place:03d}") for place, pair in enumerate(chosen)]
    types = kinds(
        **{f"Q{item}": (HUMAN,) for item in PEOPLE}, **{f"Q{item}": (COUNTRY,) for item in (1, *LANDS)}
    )
    return [*heads, *facts, *types]


def leaks(answer: int, x: int) -> bool:
    """Whether the words of the answer stand in a row in the name of x."""
    part, text = (f" {LABELS[item].lower()} " for item in (answer, x))
    return part in text


def walked(facts: list[Fact]) -> set[tuple[int, ...]]:
    """Every path as holder, relation, value, relation, value ..."""
    found = set()

    def walk(path: tuple[int, ...], nodes: tuple[int, ...]) -> None:
        if len(nodes) == 5:
            return
        x = nodes[-1]
        kind = "human" if x in PEOPLE else "country"
        for relation, wanted in SUBJECTS.items():
            values = {fact.o for fact in facts if (fact.s, fact.p) == (x, relation)}
            if wanted in (kind, "any") and len(values) == 1:
                (value,) = values
                if value not in nodes and not leaks(value, x) and not leaks(value, 1):
                    found.add((*path, relation, value))
                    walk((*path, relation, value), (*nodes, value))

    for holder in (10, 11):
        walk((holder,), (1, holder))
    return found


@given(worlds())
@settings(max_examples=examples(25))
def test_every_path_and_no_other(facts):
    with tempfile.TemporaryDirectory() as folder:
        result = ripple(World(new=facts, labels=LABELS), Path(folder))
    objects = {fact["fact_id"]: int(fact["o"][1:]) for fact in result.facts}
    found = [
        (
            objects[row["fact_id"]],
            *(int(part[1:]) for step in row["path"] for part in (step["p"], step["value"])),
        )
        for row in result.related
    ]
    assert len(found) == len(set(found))
    assert set(found) == walked(facts)
    assert all(row["hop"] == len(row["path"]) for row in result.related)
