"""Observed behaviour of the released code, and the paper's table (spec section 5), as vectors."""

from __future__ import annotations

import pytest
from support.worlds import UNKNOWN, Date, Fact, Property, World

DAY = {"-": None, "B": "2020-06-01", "I": "2022-06-01", "A": "2024-06-01"}
PLAIN, SINGLE = 1000, 2000
PROPERTIES = [Property(PLAIN), Property(SINGLE, single_value=True, separators=(580,)), Property(570)]
ANCHOR = Fact(1, 999, 5, start="2000-01-01")
"""Keeps the subject from having only removed triples."""


def label(tmp_path, old, new, about, **switches):
    world = World([ANCHOR, *old], [ANCHOR, *new], PROPERTIES)
    rows = [row for row in world.updates(tmp_path, **switches) if row["property"] == about[0]]
    return {row["key"]: row["label"] for row in rows if row["key"] in about[1:]}


CELLS = {
    "-": {"-": "unknown", "B": "ignore", "I": "obsolete", "A": "static"},
    "B": {"-": "static", "B": "ignore", "I": "obsolete", "A": "static"},
    "I": {"-": "new", "B": "unknown", "I": "ignore", "A": "static"},
    "A": {"-": "ignore", "B": "unknown", "I": "unknown", "A": "ignore"},
}


@pytest.mark.parametrize("start", CELLS)
@pytest.mark.parametrize("end", CELLS["-"])
@pytest.mark.parametrize("kind", ["F+", "F0"])
def test_reference_on_a_relation_without_constraint(tmp_path, start, end, kind):
    fact = Fact(1, PLAIN, 7, start=DAY[start], end=DAY[end])
    other = Fact(1, PLAIN, 8, start="2022-01-01")
    old = [fact] if kind == "F0" else []
    found = label(tmp_path, old, [fact, other], (PLAIN, "Q7"), variant="reference")
    assert found == {"Q7": CELLS[start][end]}


@pytest.mark.parametrize("start", CELLS)
@pytest.mark.parametrize("end", CELLS["-"])
def test_reference_with_a_point_in_time_inside_is_new_unless_start_is_after_end(tmp_path, start, end):
    fact = Fact(1, PLAIN, 7, start=DAY[start], end=DAY[end], pit=DAY["I"])
    after = "BIA".find(start) > "BIA".find(end) >= 0 if start != "-" else False
    found = label(tmp_path, [], [fact], (PLAIN, "Q7"), variant="reference")
    assert found == {"Q7": "unknown" if after else "new"}


@pytest.mark.parametrize("start", CELLS)
@pytest.mark.parametrize("end", CELLS["-"])
def test_reference_leaves_what_was_removed_unknown_unless_it_had_ended(tmp_path, start, end):
    fact = Fact(1, PLAIN, 7, start=DAY[start], end=DAY[end])
    found = label(tmp_path, [fact], [], (PLAIN, "Q7"), variant="reference")
    assert found == {"Q7": "ignore" if end == "B" else "unknown"}


@pytest.mark.parametrize(
    ("start", "end", "pit", "labels"),
    [
        (None, None, "I", ("obsolete", "new")),
        (None, "B", "I", ("obsolete", "new")),
        (None, "I", "I", ("obsolete", "new")),
        ("I", None, None, ("obsolete", "new")),
        ("I", "A", None, ("obsolete", "new")),
        ("I", "I", None, ("unknown", "unknown")),
    ],
)
def test_reference_on_a_single_value_relation(tmp_path, start, end, pit, labels):
    new = Fact(1, SINGLE, 8, *(DAY[day] if day else None for day in (start, end, pit)))
    found = label(tmp_path, [Fact(1, SINGLE, 7)], [new], (SINGLE, "Q7", "Q8"), variant="reference")
    assert found == {"Q7": labels[0], "Q8": labels[1]}


@pytest.mark.parametrize("start", CELLS)
def test_reference_knows_nothing_of_an_added_single_value(tmp_path, start):
    found = label(tmp_path, [], [Fact(1, SINGLE, 7, start=DAY[start])], (SINGLE, "Q7"), variant="reference")
    assert found == {"Q7": "unknown"}


@pytest.mark.parametrize("variant", ["paper", "reference"])
@pytest.mark.parametrize(
    ("day", "expected"), [("2022-01-01", "new"), ("2021-01-04", "unknown"), ("2021", "unknown")]
)
def test_dates_of_death(tmp_path, variant, day, expected):
    world = World([ANCHOR], [ANCHOR, Fact(1, 570, Date(day))], PROPERTIES)
    (row,) = [row for row in world.updates(tmp_path, variant=variant) if row["property"] == 570]
    assert row["label"] == expected


PAPER = {
    "-": {"-": "unknown", "B": "ignore", "I": "obsolete", "A": "static"},
    "B": {"-": "static", "B": "ignore", "I": "obsolete", "A": "static"},
    "I": {"-": "new", "B": "unknown", "I": "ignore", "A": "static"},
    "A": {"-": "ignore", "B": "unknown", "I": "unknown", "A": "ignore"},
}


@pytest.mark.parametrize("start", PAPER)
@pytest.mark.parametrize("end", PAPER["-"])
@pytest.mark.parametrize("relation", [PLAIN, SINGLE])
def test_paper_labels_what_stands_in_both_dumps(tmp_path, start, end, relation):
    fact = Fact(1, relation, 7, start=DAY[start], end=DAY[end])
    assert label(tmp_path, [fact], [fact], (relation, "Q7")) == {"Q7": PAPER[start][end]}


def test_revised_takes_what_began_inside_with_a_planned_end_for_new(tmp_path):
    fact = Fact(1, PLAIN, 7, start=DAY["I"], end=DAY["A"])
    assert label(tmp_path, [], [fact], (PLAIN, "Q7"), variant="revised") == {"Q7": "new"}


@pytest.mark.parametrize(
    ("start", "expected"), [(None, "unknown"), ("B", "unknown"), ("I", "unknown"), ("A", "ignore")]
)
def test_an_end_of_unknown_date_decides_nothing(tmp_path, start, expected):
    fact = Fact(1, PLAIN, 7, start=DAY[start or "-"], end=UNKNOWN)
    assert label(tmp_path, [], [fact], (PLAIN, "Q7")) == {"Q7": expected}


def test_a_point_in_time_opens_the_interval_unless_the_start_is_said_to_be_unknown(tmp_path):
    measured = Fact(1, PLAIN, 7, pit="2019-01-01")
    vague = Fact(1, PLAIN, 8, start=UNKNOWN, pit="2019-01-01")
    found = label(tmp_path, [measured, vague], [measured, vague], (PLAIN, "Q7", "Q8"))
    assert found == {"Q7": "static", "Q8": "unknown"}


def test_second_pass_makes_the_replaced_value_obsolete(tmp_path):
    old, new = Fact(1, SINGLE, 7, start="2010-01-01"), Fact(1, SINGLE, 8, start="2022-01-01")
    world = World([ANCHOR, old], [ANCHOR, new], PROPERTIES)
    rows = [row for row in world.updates(tmp_path) if row["property"] == SINGLE]
    assert [(row["key"], row["label"], row["rule"]) for row in rows] == [
        ("Q7", "obsolete", "replaced"),
        ("Q8", "new", "replaced_from"),
    ]
    assert {row["scenario"] for row in rows} == {"ReplaceObject"}
    assert all(row["is_replace"] and row["relation_is_temp_func"] for row in rows)


def test_year_precision_reads_as_its_first_day_and_as_an_interval(tmp_path):
    fact = Fact(1, PLAIN, 7, start="2021")
    assert label(tmp_path, [], [fact], (PLAIN, "Q7")) == {"Q7": "static"}
    assert label(tmp_path, [], [fact], (PLAIN, "Q7"), dates="interval") == {"Q7": "unknown"}
