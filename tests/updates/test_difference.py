"""What stands only in the old dump, in both, only in the new one (spec section 3)."""

from __future__ import annotations

import itertools
import tempfile
from dataclasses import replace
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.worlds import UNKNOWN, Amount, Fact, World, dump, method

from factdrift.core.errors import InputError
from factdrift.core.tables import database
from factdrift.updates.blocks import Lookup, in_blocks
from factdrift.updates.difference import difference
from factdrift.updates.kept import packed, statement_ids, unpacked
from factdrift.updates.matching import Side, identities, match, repeated
from factdrift.wikidata.tables import TIME
from factdrift.wikidata.time import Time, parse_time

PLAIN = 1000
ANCHOR = Fact(1, 999, 5, start="2000-01-01")


def changes(cases, tmp_path, **switches):
    """Of each case, a pair of old and new facts: (old, new) statement of its triples, in their order.

    All cases are subjects of one world.
    """
    sides = [
        [replace(fact, s=subject) for subject, case in enumerate(cases, 100) for fact in case[side]]
        for side in (0, 1)
    ]
    World(*sides).updates(tmp_path, **switches)
    found = [[] for _ in cases]
    for row in World.differences(tmp_path):
        before, after = row["old_statement"], row["new_statement"]
        assert row["change"] == ("F+" if before is None else "F-" if after is None else "F0")
        found[row["subject"] - 100].append((before, after))
    return found


def test_which_values_are_equal_and_in_which_order_triples_are(tmp_path):
    def value(text, name, **more):
        return Fact(0, PLAIN, text, id=name, **more)

    old = [value(9, "c"), value(7, "b"), value(8, "a")]
    new = [value(11, "e"), value(8, "z"), value(10, "d"), old[0]]
    ten, apart = value(Amount("10"), "a"), [("a", None), (None, "a")]
    cases = [
        (old, new),
        ([ten], [value(Amount("10.0"), "a")]),
        ([ten], [value(Amount("10", "5"), "a")]),
        ([value("x", "a")], [value("x", "a", datatype="other")]),
    ]
    in_order = [("c", "c"), ("b", None), ("a", "z"), (None, "e"), (None, "d")]
    # Amounts are decimals in `paper`, and text in `reference`.
    assert changes(cases, tmp_path / "1") == [in_order, [("a", "a")], apart, apart]
    assert changes(cases, tmp_path / "2", variant="reference") == [in_order, apart, apart, apart]


def said(name, *times, **more):
    return Fact(0, PLAIN, 7, *times, id=name, **more)


REPEATED = {
    "by the id before all else":
        ([said("a", "2010"), said("b", "2020")], [said("A", "2020"), said("x", "2010")], "aA bx"),
    "then by equal times":
        ([said("a", "2010", quals=(10, 11)), said("b", "2020")],
         [said("x", "2020", quals=(10, 11)), said("y", "2010")], "ay bx"),
    "then by shared qualifiers":
        ([said("a"), said("b", quals=(10, 11))],
         [said("x", quals=(10, 11)), said("y", quals=(12,))], "ay bx"),
    "then by the order of ids": ([said("b"), said("a")], [said("z"), said("y")], "ay bz"),
    # In the order of their bytes all capitals would come before all small letters.
    "in any case of old ids": ([said("B"), said("a")], [said("y"), said("z")], "ay Bz"),
    "in any case of new ids": ([said("a"), said("b")], [said("Z"), said("y")], "ay bZ"),
    "an unknown start is not a missing one":
        ([said("a"), said("b", UNKNOWN)], [said("x", UNKNOWN), said("y")], "ay bx"),
    "nor is an unknown end":
        ([said("a"), said("b", None, UNKNOWN)], [said("x", None, UNKNOWN), said("y")], "ay bx"),
    # Both have the qualifier, neither a date.
    "an unknown start is not `novalue`":
        ([said("a", quals=(580,)), said("b", UNKNOWN)],
         [said("x", UNKNOWN), said("y", quals=(580,))], "ay bx"),
    "nor is an unknown end so":
        ([said("a", quals=(582,)), said("b", None, UNKNOWN)],
         [said("x", None, UNKNOWN), said("y", quals=(582,))], "ay bx"),
    "times as they are read":
        ([said("a", "2010"), said("b", "2020")],
         [said("x", "2020-01-01"), said("y", "2010-06-05/9")], "ay bx"),
    "a year and its first day": ([said("a", "2010")], [said("x", "2010-01-01"), said("y", "2010")], "ax"),
}  # fmt: skip


@pytest.mark.parametrize("dates", ["first_day", "interval"])
def test_repeated_values_are_matched_one_to_one(dates, tmp_path):
    wanted = {name: case[-1] for name, case in REPEATED.items()}
    if dates == "interval":
        wanted["a year and its first day"] = "ay"
    found = changes(REPEATED.values(), tmp_path, dates=dates)
    pairs = [{before + after for before, after in each if before and after} for each in found]
    assert dict(zip(REPEATED, pairs, strict=True)) == {
        name: set(each.split()) for name, each in wanted.items()
    }


STATEMENTS = st.lists(st.tuples(st.integers(1, 4), st.integers(1, 2), st.integers(0, 3)), max_size=14)


def a_side(statements, revisions):
    """Statements (subject, relation, value), as one side of a block; 0 is a value that equals nothing."""
    rows = sorted(statements, key=lambda row: row[0])
    subjects, relations, values = (np.array([row[n] for row in rows], np.int32) for n in range(3))
    hashes = values.astype(np.uint64)
    again = repeated(subjects, relations, hashes)
    edits = np.array([revisions[row[0]] for row in rows], np.int64)
    return rows, Side(subjects, relations, np.arange(len(rows), dtype=np.int32), edits, hashes, again)


@settings(max_examples=examples(300))
@given(STATEMENTS, STATEMENTS)
def test_values_that_stand_once_on_each_side_are_one_triple(before, after):
    old, here = a_side(before, [1] * 5)
    new, there = a_side(after, [2] * 5)
    assert here.repeated.tolist() == [old.count(row) > 1 and row[2] > 0 for row in old]
    matched = match(here, there)
    once = {row for row in old if old.count(row) == new.count(row) == 1 and row[2]}
    found = [(old[a], new[b]) for a, b in zip(matched.old, matched.new, strict=True)]
    assert sorted(found) == [(row, row) for row in sorted(once)]
    for rows, lines, groups in (
        (old, matched.repeated_old, matched.groups_old),
        (new, matched.repeated_new, matched.groups_new),
    ):
        left = [line for line, row in enumerate(rows) if row in set(old) & set(new) - once and row[2]]
        assert sorted(lines) == left
        assert len({(rows[a], b) for a, b in zip(lines, groups, strict=True)}) == len(set(groups))


@given(STATEMENTS)
def test_in_the_same_revision_what_stands_at_the_same_place_is_the_same(statements):
    rows, side = a_side(statements, [0, 7, 7, 0, 0])
    known = [line for line, row in enumerate(rows) if row[2] and (row[0] < 3 or rows.count(row) == 1)]
    matched = match(side, side)
    assert sorted(matched.old) == known
    assert matched.old.tolist() == matched.new.tolist()


def numbered(tmp_path, name, subjects):
    """A table of (subject, position) with this many rows of each subject."""
    rows = [{"subject": subject, "position": place} for subject, n in subjects for place in range(n)]
    schema = pa.schema([("subject", pa.int32()), ("position", pa.int32())])
    path = tmp_path / f"{name}.parquet"
    pq.write_table(pa.Table.from_pylist(rows, schema), path, row_group_size=7)
    return path


@pytest.mark.parametrize("rows", [1, 5, 100])
def test_blocks_hold_whole_subjects(tmp_path, rows):
    path = numbered(tmp_path, "old", [(1, 3), (2, 20), (5, 1), (9, 2)])
    blocks = [block["subject"].to_pylist() for block in in_blocks(path, ["subject", "position"], rows)]
    assert list(itertools.chain(*blocks)) == pq.read_table(path)["subject"].to_pylist()
    assert len({subject for block in blocks for subject in block}) == sum(len(set(each)) for each in blocks)


@settings(max_examples=examples(60))
@given(st.data(), st.integers(1, 60), st.integers(1, 12))
def test_rows_are_found_by_their_numbers(data, size, group):
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "table.parquet"
        texts = [None if place % 5 == 3 else f"text {place}" for place in range(size)]
        table = pa.table(
            {"text": texts, "of": [{"place": place} for place in range(size)], "other": range(size)}
        )
        pq.write_table(table, path, row_group_size=group)
        lookup = Lookup(path, ["of", "text"])
        first = 0
        while first < size:
            end = data.draw(st.integers(first + 1, size))
            rows = data.draw(st.lists(st.one_of(st.just(-1), st.integers(first, end - 1))))
            found = lookup.take(np.array(rows, np.int64))
            assert found.column_names == ["of", "text"]
            assert found["text"].to_pylist() == [None if row < 0 else texts[row] for row in rows]
            assert found["of"].to_pylist() == [None if row < 0 else {"place": row} for row in rows]
            first = end


def test_tables_out_of_order_or_of_another_kind_are_told(tmp_path):
    for rows in ([(2, 1), (1, 1)], [(1, 1), (1, 1)]):
        path = numbered(tmp_path, "wrong", rows)
        with pytest.raises(InputError, match=r"wrong\.parquet: not sorted by subject and position"):
            list(in_blocks(path, ["subject", "position"]))
    path = numbered(tmp_path, "table", [(1, 3)])
    for read, message in (
        (lambda: list(in_blocks(path, ["subject", "position", "dated"])), "has no column 'dated'"),
        (lambda: Lookup(path, ["key"]), "has no column 'key'"),
        (lambda: Lookup(path, ["subject"]).take(np.array([1, 3, -1])), "has no row 3"),
    ):
        with pytest.raises(InputError, match=rf"table\.parquet: {message}"):
            read()


def test_hashes_of_another_version_are_told(tmp_path):
    World([ANCHOR], [ANCHOR]).updates(tmp_path)
    old, new = (dump(tmp_path, which) for which in ("old", "new"))
    table, kept = pq.read_table(old.filtered), pq.read_table(old.kept)
    with database() as db:
        assert kept["identity"].to_pylist() == identities(db, table, method()).to_pylist()
    other = pa.array([1] * kept.num_rows, pa.uint64())
    pq.write_table(kept.set_column(kept.schema.get_field_index("identity"), "identity", other), old.kept)
    with pytest.raises(InputError, match="another version of DuckDB"):
        difference(old, new, method(), tmp_path / "again.parquet")


def test_a_missing_datatype_equals_nothing():
    with database() as db:
        columns = {"datatype": ["string", None, "string"], "key": ["x", "x", None], "json": ["1", "1", None]}
        table = pa.table(columns)
        assert [each > 0 for each in identities(db, table, method()).to_pylist()] == [True, False, False]


def hashed(text):
    """The hash of an id as docs/tables/kept.md says it."""
    found = 0
    for start in range(0, len(text), 8):
        word = int.from_bytes(text[start : start + 8].upper().ljust(8).encode(), "little")
        found = (found ^ word) * 0x9E3779B97F4A7C15 % 2**64
        found ^= found >> 32
    return found


def test_ids_are_hashed_upper_cased_whatever_stands_beside_them():
    ids = ["Q1$8a", "q1$8A", "Q1$8b", "Q12345$0123456789abcdef", "12345678"]
    wanted = [hashed(each) for each in ids]
    assert statement_ids(pa.chunked_array([ids])).tolist() == wanted
    assert [statement_ids(pa.chunked_array([[each]]))[0] for each in ids] == wanted
    assert len(set(wanted)) == 4
    assert not len(statement_ids(pa.chunked_array([[]], pa.string())))


WIDE, SMALL = st.integers(-(2**50), 2**50), st.integers(0, 127)
DATES = st.builds(Time, st.integers(-(2**40), 2**40), *[SMALL] * 3, st.booleans(), *[WIDE] * 3)


@given(st.lists(st.none() | DATES))
def test_dates_come_back_as_they_were_packed(dates):
    rows = [None if date is None else date._asdict() for date in dates]
    times = pa.chunked_array([pa.array(rows, TIME)])
    assert unpacked(pa.chunked_array([packed(times)])).equals(times)
    part = packed(times).slice(1)
    assert unpacked(pa.chunked_array([part])).to_pylist() == rows[1:]


def test_a_date_without_a_field_is_told():
    date = parse_time("+2010-01-01T00:00:00Z", 9, "")._asdict()
    with pytest.raises(InputError, match="without 'last'"):
        packed(pa.chunked_array([pa.array([None, date | {"last": None}], TIME)]))
