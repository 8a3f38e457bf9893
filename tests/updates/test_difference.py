"""What stands only in the old dump, in both, only in the new one; merged entities (spec section 3)."""

from __future__ import annotations

import itertools
import tempfile
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.worlds import UNKNOWN, Amount, Fact, Property, World, dump, method

from factdrift.core.errors import InputError
from factdrift.core.tables import database
from factdrift.updates.blocks import Lookup, in_blocks, in_step
from factdrift.updates.difference import difference
from factdrift.updates.kept import packed, statement_ids, unpacked
from factdrift.updates.matching import Side, identities, match, repeated
from factdrift.wikidata.tables import TIME
from factdrift.wikidata.time import Time, parse_time

PLAIN, SINGLE = 1000, 2000
ANCHOR = Fact(1, 999, 5, start="2000-01-01")


def changes(world, tmp_path, **switches):
    """(change, old statement, new statement) of the triples, in the order of the table."""
    world.updates(tmp_path, **switches)
    return [
        (row["change"], row["old_statement"], row["new_statement"])
        for row in world.differences(tmp_path)
        if row["property"] == PLAIN
    ]


def test_the_old_dumps_order_then_what_is_added(tmp_path):
    old = [Fact(1, PLAIN, 9, id="c"), Fact(1, PLAIN, 7, id="b"), Fact(1, PLAIN, 8, id="a")]
    new = [Fact(1, PLAIN, 11, id="e"), Fact(1, PLAIN, 8, id="z"), Fact(1, PLAIN, 10, id="d"), old[0]]
    assert changes(World(old, new), tmp_path) == [
        ("F0", "c", "c"),
        ("F-", "b", None),
        ("F0", "a", "z"),
        ("F+", None, "e"),
        ("F+", None, "d"),
    ]


def test_amounts_are_decimals_in_paper_and_text_in_reference(tmp_path):
    world = World([Fact(1, PLAIN, Amount("10"), id="a")], [Fact(1, PLAIN, Amount("10.0"), id="a")])
    assert changes(world, tmp_path / "1") == [("F0", "a", "a")]
    removed_and_added = [("F-", "a", None), ("F+", None, "a")]
    assert changes(world, tmp_path / "2", variant="reference") == removed_and_added
    other = World([Fact(1, PLAIN, Amount("10", "5"), id="a")], world.old)
    assert changes(other, tmp_path / "3") == removed_and_added


def test_another_datatype_is_another_value(tmp_path):
    world = World([Fact(1, PLAIN, "x", id="a")], [Fact(1, PLAIN, "x", id="a", datatype="other")])
    assert changes(world, tmp_path) == [("F-", "a", None), ("F+", None, "a")]


def pairs(tmp_path, old, new, **switches):
    found = changes(World(old, new), tmp_path, **switches)
    return {(a, b) for change, a, b in found if change == "F0"}


def test_repeated_values_are_matched_by_their_id_before_all_else(tmp_path):
    old = [Fact(1, PLAIN, 7, "2010", id="a"), Fact(1, PLAIN, 7, "2020", id="b")]
    new = [Fact(1, PLAIN, 7, "2020", id="A"), Fact(1, PLAIN, 7, "2010", id="x")]
    assert pairs(tmp_path, old, new) == {("a", "A"), ("b", "x")}


def test_then_by_equal_times_then_by_shared_qualifiers_then_by_id(tmp_path):
    old = [Fact(1, PLAIN, 7, "2010", id="a", quals=(10, 11)), Fact(1, PLAIN, 7, "2020", id="b")]
    new = [Fact(1, PLAIN, 7, "2020", id="x", quals=(10, 11)), Fact(1, PLAIN, 7, "2010", id="y")]
    assert pairs(tmp_path / "times", old, new) == {("a", "y"), ("b", "x")}
    old = [Fact(1, PLAIN, 7, id="a"), Fact(1, PLAIN, 7, id="b", quals=(10, 11))]
    new = [Fact(1, PLAIN, 7, id="x", quals=(10, 11)), Fact(1, PLAIN, 7, id="y", quals=(12,))]
    assert pairs(tmp_path / "qualifiers", old, new) == {("a", "y"), ("b", "x")}
    old = [Fact(1, PLAIN, 7, id="b"), Fact(1, PLAIN, 7, id="a")]
    new = [Fact(1, PLAIN, 7, id="z"), Fact(1, PLAIN, 7, id="y")]
    assert pairs(tmp_path / "ids", old, new) == {("a", "y"), ("b", "z")}


def test_the_order_of_ids_does_not_depend_on_their_case(tmp_path):
    """In the order of their bytes all capitals would come before all small letters."""
    for place, (before, after, wanted) in enumerate(
        [
            (("B", "a"), ("y", "z"), {("a", "y"), ("B", "z")}),
            (("a", "b"), ("Z", "y"), {("a", "y"), ("b", "Z")}),
        ]
    ):
        old, new = ([Fact(1, PLAIN, 7, id=name) for name in names] for names in (before, after))
        assert pairs(tmp_path / str(place), old, new) == wanted


def test_an_unknown_start_or_end_is_not_a_missing_one(tmp_path):
    for place, times in enumerate(((UNKNOWN, None), (None, UNKNOWN))):
        old = [Fact(1, PLAIN, 7, id="a"), Fact(1, PLAIN, 7, *times, id="b")]
        new = [Fact(1, PLAIN, 7, *times, id="x"), Fact(1, PLAIN, 7, id="y")]
        assert pairs(tmp_path / str(place), old, new) == {("a", "y"), ("b", "x")}


def test_an_end_that_is_said_not_to_be_is_not_an_unknown_one(tmp_path):
    """Both have the qualifier, neither a date."""
    for place, (name, number) in enumerate((("start", 580), ("end", 582))):
        none, unknown = {"quals": (number,)}, {name: UNKNOWN}
        old = [Fact(1, PLAIN, 7, id="a", **none), Fact(1, PLAIN, 7, id="b", **unknown)]
        new = [Fact(1, PLAIN, 7, id="x", **unknown), Fact(1, PLAIN, 7, id="y", **none)]
        assert pairs(tmp_path / str(place), old, new) == {("a", "y"), ("b", "x")}


def test_times_are_equal_as_the_comparisons_read_them(tmp_path):
    old = [Fact(1, PLAIN, 7, "2010", id="a"), Fact(1, PLAIN, 7, "2020", id="b")]
    new = [Fact(1, PLAIN, 7, "2020-01-01", id="x"), Fact(1, PLAIN, 7, "2010-06-05/9", id="y")]
    assert pairs(tmp_path / "1", old, new) == {("a", "y"), ("b", "x")}
    new = [Fact(1, PLAIN, 7, "2010-01-01", id="x"), Fact(1, PLAIN, 7, "2010", id="y")]
    assert pairs(tmp_path / "2", old[:1], new, dates="interval") == {("a", "y")}
    assert pairs(tmp_path / "3", old[:1], new) == {("a", "x")}


MERGED = World(
    [ANCHOR, Fact(1, SINGLE, 7, "2010"), Fact(1, PLAIN, 7, "2010", "2022-01-01")],
    [ANCHOR, Fact(1, SINGLE, 8, "2022-01-01")],
    [Property(PLAIN), Property(SINGLE, True)],
    absent_new=frozenset({7}),
)


def test_an_object_that_is_no_longer_in_the_dump_is_no_change_of_the_world(tmp_path):
    def rules(**switches):
        rows = MERGED.updates(tmp_path / str(len(switches)), **switches)
        return {
            (row["property"], row["key"]): (row["rule"], row["label"])
            for row in rows
            if row["property"] != 999
        }

    assert rules() == {
        (PLAIN, "Q7"): ("ended_inside", "obsolete"),
        (SINGLE, "Q7"): ("replaced", "obsolete"),
        (SINGLE, "Q8"): ("replaced_from", "new"),
    }
    gone = ("merged_or_deleted", "unknown")
    found = {(PLAIN, "Q7"): gone, (SINGLE, "Q7"): gone, (SINGLE, "Q8"): ("replaced_from", "new")}
    assert rules(merges="detect") == found
    assert rules(variant="revised", dates="first_day") == found
    assert rules(variant="revised", dates="first_day", merges="off")[SINGLE, "Q7"] == ("replaced", "obsolete")


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


@pytest.mark.parametrize("rows", [1, 2, 5, 100])
def test_blocks_hold_whole_subjects_of_both_tables(tmp_path, rows):
    old = numbered(tmp_path, "old", [(1, 3), (2, 20), (5, 1), (9, 2)])
    new = numbered(tmp_path, "new", [(2, 1), (3, 30), (4, 1), (9, 5), (10, 1)])
    columns = ["subject", "position"]
    blocks = [[side["subject"].to_pylist() for side in block] for block in in_step(old, new, columns, rows)]
    for place, path in enumerate((old, new)):
        rows_of_side = [subject for block in blocks for subject in block[place]]
        assert rows_of_side == pq.read_table(path)["subject"].to_pylist()
    for before, after in itertools.pairwise(blocks):
        assert max(map(max, filter(None, before))) < min(map(min, filter(None, after)))
    alone = [block["subject"].to_pylist() for block in in_blocks(old, columns, rows)]
    assert list(itertools.chain(*alone)) == pq.read_table(old)["subject"].to_pylist()
    assert len({subject for block in alone for subject in set(block)}) == sum(len(set(b)) for b in alone)


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


def test_a_table_out_of_order_is_told(tmp_path):
    for rows in ([(2, 1), (1, 1)], [(1, 1), (1, 1)]):
        path = numbered(tmp_path, "wrong", rows)
        with pytest.raises(InputError, match=r"wrong\.parquet: not sorted by subject and position"):
            list(in_blocks(path, ["subject", "position"]))


def test_tables_that_do_not_belong_together_are_told(tmp_path):
    path = numbered(tmp_path, "table", [(1, 3)])
    with pytest.raises(InputError, match=r"table\.parquet: has no column 'dated'"):
        list(in_blocks(path, ["subject", "position", "dated"]))
    with pytest.raises(InputError, match=r"table\.parquet: has no column 'key'"):
        Lookup(path, ["key"])
    with pytest.raises(InputError, match=r"table\.parquet: has no row 3"):
        Lookup(path, ["subject"]).take(np.array([1, 3, -1]))


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


@given(
    st.lists(
        st.none()
        | st.builds(
            Time,
            st.integers(-(2**40), 2**40),
            *[st.integers(0, 127)] * 3,
            st.booleans(),
            *[st.integers(-(2**50), 2**50)] * 3,
        )
    )
)
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
