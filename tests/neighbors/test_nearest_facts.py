"""The walk from similar entities to facts, on tables small enough to follow by hand."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tables import written

from factdrift.core.tables import database
from factdrift.neighbors.facts import NEIGHBORS, gather
from factdrift.neighbors.jobs import Holding, Search
from factdrift.neighbors.vectors import DOCUMENTS, count_documents, make_space, read_documents

from .conftest import FILTERED, LABELS, UPDATES, Row, day, statement, update

P31, P6, P17 = 31, 6, 17
CITY, COUNTRY = 515, 6256


def city(subject: int, *mayors: Row, country: int = COUNTRY) -> list[Row]:
    return [statement(subject, P31, CITY), statement(subject, P17, country), *mayors]


OF_FACTS = {"variant": "paper", "dates": "first_day", "old_date": date(2021, 1, 4)}
WALK = {"candidates": 500, "facts": 10}
UPDATED = [update(1, P6, "obsolete", 101), update(1, P6, "new", 102)]


def run(
    folder: Path,
    old: list[Row],
    updates: list[Row] = UPDATED,
    new: Sequence[Row] = (),
    buckets: int = 1,
    unlabelled: Collection[int] = (),
    **options: Any,
) -> list[Row]:
    """The nearest facts, written as neighbors.parquet."""

    def table(name: str, schema: pa.Schema, rows: Iterable[Row]) -> Path:
        return written(folder / f"{name}.parquet", schema, rows)

    mentioned = {row["subject"] for row in old} | {row["object"] for row in old if row["object"]}
    named = ({"id": number, "label": f"Q{number}"} for number in mentioned - set(unlabelled))
    walk = WALK | {name: options.pop(name) for name in WALK if name in options}
    of_facts = OF_FACTS | options
    updated, of_new = [table("updates", UPDATES, updates)], [table("new", FILTERED, new)]
    parts = [
        table(f"old{k}", FILTERED, (row for row in old if row["subject"] % buckets == k))
        for k in reversed(range(buckets))
    ]
    space, output = folder / "space", folder / "neighbors.parquet"
    with database() as db:
        bare = of_facts["variant"] == "reference"
        make_space(db, updated, parts, of_new, bare, space, documents=2 if buckets > 1 else DOCUMENTS)
    holding = [folder / f"holding{k}.parquet" for k in range(buckets)]
    entities = [table("entities", LABELS, named)]
    for part, held in zip(parts, holding, strict=True):
        Holding(updates=updated, old=part, entities=entities, output=held, **of_facts).run()
    Search(updates=updated, space=space, holding=holding, output=output, **walk).run()
    found = pq.read_table(output)
    assert found.schema.equals(NEIGHBORS)
    rows: list[Row] = found.to_pylist()
    return rows


def test_walks_by_similarity_and_skips_itself_and_changed(tmp_path):
    old = [
        *city(1, statement(1, P6, 101)),
        *city(2, statement(2, P6, 201), country=7),
        *city(3, statement(3, P6, 301)),
        *city(4),
        # The new mayor is a subject too, and as similar as can be.
        *city(102, statement(102, P6, 901)),
    ]
    found = run(tmp_path, old)
    assert [(row["rank_no"], row["neighbor"], row["object"]) for row in found] == [(1, 3, 301), (2, 2, 201)]
    assert {(row["subject"], row["property"], row["relation"]) for row in found} == {(1, P6, P6)}
    assert found[0]["similarity"] > found[1]["similarity"]


TIMES = [
    # Held at T_old in `paper`, in `reference`, and as an interval.
    ({"end": day("2021-01-03")}, False, False, False),
    ({"end": day("2021-01-04")}, True, True, True),
    ({"start": day("2021-01-05")}, False, False, False),
    ({"start": day("2021-01-04")}, True, True, True),
    ({"end_unknown": True}, False, False, False),
    ({"start_unknown": True, "pit": day("2022-01-01")}, True, True, True),
    ({"pit": day("2022-01-01")}, False, True, False),
    # The year 2021 alone: its first day in `paper`, as written in `reference`, uncertain as an interval.
    ({"end": day("2021-05-05", 9)}, False, True, True),
    ({"end": day("2021-01-01", 9)}, False, False, True),
    ({"start": day("2021-05-05", 9)}, True, False, True),
]


@pytest.mark.parametrize(
    ("variant", "dates"), [("paper", "first_day"), ("reference", "first_day"), ("revised", "interval")]
)
def test_holds_at_the_old_date(tmp_path, variant, dates):
    old = city(1, statement(1, P6, 101))
    for subject, (times, *_) in enumerate(TIMES, 2):
        old += city(subject, statement(subject, P6, 201, **times))
    found = run(tmp_path, old, variant=variant, dates=dates)
    place = 1 + ("paper", "reference", "revised").index(variant)
    assert {row["neighbor"] for row in found} == {n for n, case in enumerate(TIMES, 2) if case[place]}


def test_which_facts_are_taken(tmp_path):
    given = tmp_path / "labels.tsv"
    given.write_text("id\tlabel\nP6\thead\nQ7\tNew ____\nQ801\tMayor ____\nQ901\tMayor\n")
    facts = [
        # Neither the new nor the obsolete object.
        *(statement(1, P6, 101), statement(101, P6, 300), statement(102, P6, 300)),
        statement(2, P6, 201, dropped_by="object"),
        # Without a label; a property always has one.
        *(statement(3, P6, 301), statement(4, P6, 401), statement(6, P6, -17)),
        statement(5, P6, None, key="X", json='"X"'),
        # Supplied labels; that of a subject must not hold the blank of a cloze test.
        *(statement(7, P6, 701), statement(8, P6, 801), statement(9, P6, 901)),
        # The preferred one, then that with the smallest id in any case.
        statement(11, P6, 201, statement="Q2-A"),
        statement(11, P6, 202, statement="q2-c", rank="preferred"),
        statement(11, P6, 203, statement="Q2-B", rank="preferred"),
        *(statement(12, P6, 302, statement="Q3-B"), statement(12, P6, 303, statement="q3-a", position=9)),
    ]
    subjects = sorted({fact["subject"] for fact in facts})
    old = [row for each in subjects for row in city(each, *(f for f in facts if f["subject"] == each))]
    unlabelled = {301, 4, -17, 7, 801, 901}
    found = run(tmp_path, old, unlabelled=unlabelled, labels=[given])
    taken = {row["neighbor"]: row["json"] or row["object"] for row in found}
    assert taken == {5: '"X"', 6: -17, 8: 801, 9: 901, 11: 203, 12: 303}


def test_a_subject_is_read_from_the_old_dump_if_it_is_there(tmp_path):
    old = [*city(2, statement(2, P6, 201)), *city(3, statement(3, P6, 301), country=7)]
    new = [*city(9, statement(9, P6, 901), country=7), *city(2), *city(3)]
    found = run(tmp_path, old, [update(9, P6, "new", 901)], new)
    assert [row["neighbor"] for row in found] == [3, 2]
    found = run(tmp_path, city(1) + old, new=city(1, country=7))
    assert [row["neighbor"] for row in found] == [2, 3]


def test_nothing_updated_and_no_neighbor(tmp_path):
    old = city(1, statement(1, P6, 101))
    assert run(tmp_path, old, [update(1, P6, "new", 102, dropped_by="all_static")]) == []
    assert run(tmp_path, old) == []
    assert run(tmp_path, []) == []


def test_documents_hold_what_later_filters_drop(tmp_path):
    rows = [
        statement(1, P31, CITY, dropped_by="object"),
        statement(1, P31, CITY, dropped_by="preferred"),
        statement(1, P17, 8, dropped_by="rank"),
        statement(1, P17, None),
        statement(2, P31, CITY, dropped_by="subject"),
        statement(3, P17, None, dropped_by="datatype"),
        statement(4, P17, None),
    ]
    path = written(tmp_path / "old.parquet", FILTERED, rows)
    with database() as db:
        counts = count_documents(db, [path], bare_relations=False, documents=2)
        subjects, rows, codes = read_documents(db, [path], False, counts.subjects)
        _, *bare = read_documents(db, [path], True, counts.subjects)
        with_bare = count_documents(db, [path], bare_relations=True, documents=1)
    assert subjects.tolist() == [1, 4]
    first = sorted(codes[rows == 0].tolist())
    assert len(first) == 5  # itself, the class twice, the pair twice
    assert len(set(first)) == 3
    assert codes[rows == 1].tolist() == [2**31 + 4]
    assert len(bare[1]) == len(codes) + 2
    assert 2**31 - P31 in bare[1].tolist()  # no item has it: the item Q31 has 2**31 + 31
    for found, counted in (((rows, codes), counts), (bare, with_bare)):
        having = Counter(code for _, code in {*zip(*(each.tolist() for each in found), strict=True)})
        assert dict(zip(counted.vocabulary.tolist(), counted.having.tolist(), strict=True)) == having


def test_stops_after_facts_and_candidates_and_depends_neither_on_buckets_nor_on_parts(tmp_path):
    subjects = range(1, 7)
    old = [row for subject in subjects for row in city(subject, statement(subject, P6, 100 + subject))]
    assert [row["neighbor"] for row in run(tmp_path, old, facts=3)] == [2, 3, 4]
    # The subject itself is among the candidates.
    assert [row["neighbor"] for row in run(tmp_path, old, candidates=3)] == [2, 3]
    updates = [update(subject, P6, "new", 200 + subject) for subject in subjects]
    assert len(run(tmp_path, old, updates)) == 30
    whole = (tmp_path / "neighbors.parquet").read_bytes()
    given = {"updates": [tmp_path / "updates.parquet"], "space": tmp_path / "space"} | WALK
    paths = [tmp_path / f"{part}.parquet" for part in range(9)]
    for part, path in enumerate(paths):
        Search(holding=[tmp_path / "holding0.parquet"], part=f"{part}-of-9", output=path, **given).run()
    assert gather(paths, tmp_path / "gathered.parquet") == 30
    assert (tmp_path / "gathered.parquet").read_bytes() == whole
    run(tmp_path, old, updates, buckets=3)
    assert (tmp_path / "neighbors.parquet").read_bytes() == whole
