"""Observed behaviour of the released code, and the paper's table (spec section 5), as vectors.

Each vector is one subject; all those of one variant are in one world, which goes through the stage once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import pytest
from support.rows import rows
from support.worlds import UNKNOWN, Amount, Date, Fact, Property, World

DAY = {"-": None, "B": "2020-06-01", "I": "2022-06-01", "A": "2024-06-01"}
PLAIN, SINGLE, DEATH = 1000, 2000, 570
PROPERTIES = [Property(PLAIN), Property(SINGLE, single_value=True, separators=(580,)), Property(DEATH)]


@dataclass
class Vector:
    """Facts of subject 1, which becomes a subject of its own, and the labels that its triples must get."""

    name: str
    old: list[Fact]
    new: list[Fact]
    labels: dict[Any, str]
    variant: str = "paper"
    dates: str = "variant"
    rules: dict[Any, str] | None = None

    @property
    def relation(self) -> int:
        return (self.old + self.new)[0].p


CELLS = {
    "-": {"-": "unknown", "B": "ignore", "I": "obsolete", "A": "static"},
    "B": {"-": "static", "B": "ignore", "I": "obsolete", "A": "static"},
    "I": {"-": "new", "B": "unknown", "I": "ignore", "A": "static"},
    "A": {"-": "ignore", "B": "unknown", "I": "unknown", "A": "ignore"},
}
"""By start, then by end; the same in both variants where nothing else is said of the fact."""


def cells() -> Iterator[tuple[str, str, str, str | None, str | None]]:
    for start, row in CELLS.items():
        for end, label in row.items():
            yield start, end, label, DAY[start], DAY[end]


def reference_on_a_relation_without_constraint() -> Iterator[Vector]:
    for start, end, label, first, last in cells():
        fact, other = Fact(1, PLAIN, 7, first, last), Fact(1, PLAIN, 8, "2022-01-01")
        for change, old in (("F+", []), ("F0", [fact])):
            yield Vector(f"{change} {start}{end}", old, [fact, other], {"Q7": label}, "reference")
        removed = "ignore" if end == "B" else "unknown"
        yield Vector(f"F- {start}{end}", [fact], [], {"Q7": removed}, "reference")


def reference_with_a_point_in_time_inside_is_new_unless_start_is_after_end() -> Iterator[Vector]:
    for start, end, _, first, last in cells():
        after = first is not None and last is not None and first > last
        measured = Fact(1, PLAIN, 7, first, last, DAY["I"])
        label = "unknown" if after else "new"
        yield Vector(f"pit I, {start}{end}", [], [measured], {"Q7": label}, "reference")


def reference_on_a_single_value_relation() -> Iterator[Vector]:
    for start, end, pit, removed, added in (
        ("-", "-", "I", "obsolete", "new"),
        ("-", "B", "I", "obsolete", "new"),
        ("-", "I", "I", "obsolete", "new"),
        ("I", "-", "-", "obsolete", "new"),
        ("I", "A", "-", "obsolete", "new"),
        ("I", "I", "-", "unknown", "unknown"),
    ):
        new = Fact(1, SINGLE, 8, DAY[start], DAY[end], DAY[pit])
        labels = {"Q7": removed, "Q8": added}
        yield Vector(f"replaced {start}{end}, pit {pit}", [Fact(1, SINGLE, 7)], [new], labels, "reference")
    for start, day in DAY.items():
        added_alone = Fact(1, SINGLE, 7, day)
        yield Vector(f"added single {start}", [], [added_alone], {"Q7": "unknown"}, "reference")


def dates_of_death() -> Iterator[Vector]:
    for variant in ("paper", "reference"):
        for day, label in (("2022-01-01", "new"), ("2021-01-04", "unknown"), ("2021", "unknown")):
            yield Vector(f"death {day}", [], [Fact(1, DEATH, Date(day))], {None: label}, variant)


def paper_on_what_stands_in_both_dumps() -> Iterator[Vector]:
    for start, end, label, first, last in cells():
        for kind, relation in (("plain", PLAIN), ("single", SINGLE)):
            fact = Fact(1, relation, 7, first, last)
            yield Vector(f"F0 {kind} {start}{end}", [fact], [fact], {"Q7": label})


def paper_by_itself() -> Iterator[Vector]:
    for start, label in (("-", "unknown"), ("B", "unknown"), ("I", "unknown"), ("A", "ignore")):
        ended = Fact(1, PLAIN, 7, DAY[start], UNKNOWN)
        yield Vector(f"unknown end, start {start}", [ended], [ended], {"Q7": label})
    measured = Fact(1, PLAIN, 7, pit="2019-01-01")
    vague = Fact(1, PLAIN, 8, start=UNKNOWN, pit="2019-01-01")
    yield Vector("pit opens", [measured, vague], [measured, vague], {"Q7": "static", "Q8": "unknown"})
    yield Vector(
        "second pass",
        [Fact(1, SINGLE, 7, start="2010-01-01")],
        [Fact(1, SINGLE, 8, start="2022-01-01")],
        {"Q7": "obsolete", "Q8": "new"},
        rules={"Q7": "replaced", "Q8": "replaced_from"},
    )
    ended = Fact(1, SINGLE, 7, "2010-01-01", "2022-01-01")
    yield Vector(
        "second pass on what a rule found obsolete",
        [ended],
        [Fact(1, SINGLE, 8, start="2022-01-01")],
        {"Q7": "obsolete", "Q8": "new"},
        rules={"Q7": "ended_inside", "Q8": "replaced_from"},
    )


def precision() -> Iterator[Vector]:
    for dates, label in (("first_day", "static"), ("interval", "unknown")):
        yield Vector(f"year, {dates}", [], [Fact(1, PLAIN, 7, start="2021")], {"Q7": label}, dates=dates)


def revised() -> Iterator[Vector]:
    fact = Fact(1, PLAIN, 7, DAY["I"], DAY["A"])
    yield Vector("began inside", [], [fact], {"Q7": "new"}, "revised", rules={"Q7": "began_inside"})
    # Of measurements only the last one on each side of T_old counts; a month is not earlier than a day in it.
    labels = {
        "outdated": "ignore",
        "superseded": "obsolete",
        "measured_inside": "new",
        "undecided": "unknown",
    }
    for series in (
        "2018 outdated, 2020-12-10 superseded, 2022-03-31 outdated, 2022-12-22 measured_inside",
        "2020-12 superseded, 2020-12-10 superseded, 2022-12 measured_inside, 2022-12-22 measured_inside",
        "2018 superseded, 2021-01-04 undecided, 2022-12-22 measured_inside",
    ):
        days, names = zip(*(each.split() for each in series.split(", ")), strict=True)
        facts = [Fact(1, PLAIN, Amount(str(place)), pit=day) for place, day in enumerate(days)]
        rules = {f"{float(place)} 1": name for place, name in enumerate(names)}
        fates = {key: labels[name] for key, name in rules.items()}
        old = [fact for fact, day in zip(facts, days, strict=True) if day < "2022"]
        yield Vector(series, old, facts, fates, "revised", rules=rules)


SETS: list[Callable[[], Iterator[Vector]]] = [
    reference_on_a_relation_without_constraint,
    reference_with_a_point_in_time_inside_is_new_unless_start_is_after_end,
    reference_on_a_single_value_relation,
    dates_of_death,
    paper_on_what_stands_in_both_dumps,
    paper_by_itself,
    precision,
    revised,
]
VECTORS = [vector for each in SETS for vector in each()]


@pytest.mark.parametrize(("variant", "dates"), sorted({(each.variant, each.dates) for each in VECTORS}))
def test_vectors(variant, dates, tmp_path):
    chosen = (each for each in VECTORS if (each.variant, each.dates) == (variant, dates))
    vectors = dict(enumerate(chosen, start=100))
    old, new = [], []
    for number, vector in vectors.items():
        anchor = Fact(number, 999, 5, start="2000-01-01")  # so that something of the subject stays
        old += [anchor, *(replace(fact, s=number) for fact in vector.old)]
        new += [anchor, *(replace(fact, s=number) for fact in vector.new)]
    world = World(old, new, PROPERTIES)
    triples = world.updates(tmp_path, variant=variant, dates=dates)
    untouched = {row["property"]: row for row in rows(tmp_path / "untouched.parquet")}
    listed = {(row["subject"], row["property"]) for row in triples}
    triples += [
        {**row, **untouched[row["property"]]}
        for row in world.differences(tmp_path)
        if (row["subject"], row["property"]) not in listed
    ]
    for number, vector in vectors.items():
        found = {
            # A date is the only value of its group.
            None if row["property"] == DEATH else row["key"]: (row["label"], row["rule"])
            for row in triples
            if (row["subject"], row["property"]) == (number, vector.relation)
        }
        assert {key: found[key][0] for key in vector.labels} == vector.labels, vector.name
        if vector.rules:
            assert {key: rule for key, (_, rule) in found.items()} == vector.rules, vector.name
