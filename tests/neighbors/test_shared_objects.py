"""Facts of other subjects with an object of an update, against a plain search of all statements."""

from __future__ import annotations

import tempfile
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow.parquet as pq
from hypothesis import given, settings
from hypothesis import strategies as st
from support.tables import written

from factdrift.neighbors.facts import NEIGHBORS
from factdrift.neighbors.jobs import SharedObjects

from .conftest import LABELS, Row, day, in_space, statement, update

OLD, NEW = date(2021, 1, 4), date(2023, 2, 27)
ENDED, ENDING = day("2015-06-01"), day("2022-06-01")
"""Before T_old, and between the dumps."""


def replaced(subject: int, obsolete: int | None, new: int | None, **more: Any) -> list[Row]:
    more = {"is_replace": True} | more
    return [update(subject, 6, "obsolete", obsolete, **more), update(subject, 6, "new", new, **more)]


def run(
    folder: Path, updates: list[Row], old: list[Row], new: list[Row], **options: Any
) -> tuple[list[Row], list[Row]]:
    unlabelled = options.pop("unlabelled", set())
    named = ({"id": each, "label": f"Q{each}"} for each in {row["subject"] for row in old} - unlabelled)
    outputs = folder / "obsolete.parquet", folder / "new_objects.parquet"
    job = SharedObjects(
        **in_space(folder, updates, old, new),
        entities=[written(folder / "labels.parquet", LABELS, named)],
        variant="paper",
        dates="first_day",
        old_date=OLD,
        new_date=NEW,
        output=outputs[0],
        out_new=outputs[1],
        **{"candidates": 500, "facts": 10, "seed": 0} | options,
    )
    counts = job.run()
    obsolete, new = (pq.read_table(path) for path in outputs)
    assert obsolete.schema.equals(NEIGHBORS)
    assert new.schema.equals(NEIGHBORS)
    assert counts == f"{len(obsolete)} facts with an obsolete object, {len(new)} with a new one"
    return obsolete.to_pylist(), new.to_pylist()


def facts(rows: list[Row]) -> list[tuple[int, int, int]]:
    """(updated subject, neighbour, object), in their order."""
    return [(row["subject"], row["neighbor"], row["object"]) for row in rows]


def test_who_shares_the_old_and_the_new_object(tmp_path):
    old = [
        *(statement(1, 6, 101), statement(2, 6, 101), statement(3, 6, 102)),
        statement(6, 6, 101, dropped_by="rank"),
        statement(102, 6, 101),  # is the new object
        statement(8, 6, 101),  # has no label
        *(statement(9, 6, 101), statement(9, 6, 102)),
    ]
    # Literals and other updates have none.
    others = [*replaced(11, None, 102), *replaced(12, 101, 102, is_replace=False)]
    others += replaced(13, 101, 102, dropped_by="leak")
    obsolete, new = run(tmp_path, replaced(1, 101, 102) + others, old, old, unlabelled={8})
    assert facts(obsolete) == [(1, 2, 101)]
    assert facts(new) == [(1, 3, 102)]
    assert (obsolete[0]["relation"], obsolete[0]["statement"]) == (6, "Q2-6-101")


def test_of_many_some_are_drawn(tmp_path):
    old = [statement(subject, 6, 101) for subject in range(1, 40)]
    few, _ = run(tmp_path, replaced(1, 101, 102), old, old, candidates=8)
    assert 7 <= len(few) <= 8
    assert few[:3] == run(tmp_path, replaced(1, 101, 102), old[::-1], old, candidates=8, facts=3)[0]
    assert few != run(tmp_path, replaced(1, 101, 102), old, old, candidates=8, seed=1)[0]
    # What still holds is among them.
    (row,), _ = run(tmp_path, replaced(1, 101, 102), old, [statement(9, 6, 101)], candidates=1)
    assert row["neighbor"] == 9


subjects, objects = st.integers(1, 7), st.integers(101, 103)
lines = st.lists(
    st.tuples(
        subjects, st.sampled_from((6, 17)), objects, st.sampled_from((None, ENDED, ENDING)), st.booleans()
    ),
    max_size=25,
    unique_by=lambda line: line[:3],
)


@settings(max_examples=8)
@given(lines, st.lists(st.tuples(subjects, objects, objects), max_size=3, unique_by=lambda each: each[0]))
def test_as_a_plain_search_finds_them(lines, updates):
    changes = [each for each in updates if each[1] != each[2]]
    old = [statement(s, p, o, end=end) for s, p, o, end, _ in lines]
    new = [statement(s, p, o, end=end) for s, p, o, end, kept in lines if kept]
    with tempfile.TemporaryDirectory() as folder:
        rows = [row for each in changes for row in replaced(*each)]
        tables = run(Path(folder), rows, old, new, facts=100)
    holding = {(s, p, o) for s, p, o, end, _ in lines if end != ENDED}
    for role, found in enumerate(tables):
        wanted = {
            (subject, s, o)
            for subject, *pair in changes
            for s, p, o in holding
            if p == 6 and o == pair[role] and s != subject and (s, 6, pair[1 - role]) not in holding
        }
        assert set(facts(found)) == wanted
        assert len(found) == len(wanted)
        lasting = {(s, o) for s, p, o, end, kept in lines if p == 6 and kept and end is None}
        for subject in {row["subject"] for row in found}:
            mine = [row for row in found if row["subject"] == subject]
            key = [
                ((row["neighbor"], row["object"]) not in lasting, -row["similarity"], row["neighbor"])
                for row in mine
            ]
            assert key == sorted(key)
            assert [row["rank_no"] for row in mine] == [*range(1, len(mine) + 1)]


def test_of_several_statements_the_preferred_one_then_the_smallest_counts(tmp_path):
    ids = [(2, "normal", "a"), (2, "preferred", "c"), (2, "preferred", "B")]
    ids += [(3, "normal", "Z"), (3, "normal", "y")]
    old = [
        statement(subject, 6, 101, rank=rank, statement=f"Q{subject}${name}", position=place)
        for place, (subject, rank, name) in enumerate(ids)
    ]
    obsolete, _ = run(tmp_path, replaced(1, 101, 102), old, old)
    assert [row["statement"] for row in obsolete] == ["Q2$B", "Q3$y"]
