"""What stands only in the old dump, in both, only in the new one (spec section 3)."""

import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from support.examples import examples
from support.worlds import UNKNOWN, Amount, Fact, Moment, World, dump, method

from factdrift.core.errors import InputError
from factdrift.core.tables import database
from factdrift.updates.blocks import Lookup, in_blocks, packed, statement_ids
from factdrift.updates.difference import difference
from factdrift.updates.matching import Side, identities, match, repeated
from factdrift.wikidata.tables import TIME
from factdrift.wikidata.time import parse_time

PLAIN = 1000
ANCHOR = Fact(1, 999, 5, start="2000-01-01")


def value(identity: str, *times: Moment, o: Any = 7, **fields: Any) -> Fact:
    return Fact(0, PLAIN, o, *times, id=identity, **fields)


UNDATED = [value("a"), value("b")]
DATED = [value("a", "2010"), value("b", "2020")]

# Name -> values of the old dump, of the new one, the triples in their order; these elsewhere than in `paper`.
CASES: dict[str, tuple[Any, ...]] = {
    "the old dump's order, then what is added": (
        [value("c", o=9), value("b"), value("a", o=8)],
        [value("e", o=11), value("z", o=8), value("d", o=10), value("c", o=9)],
        "c=c b- a=z +e +d",
    ),
    "decimals, text in reference": (
        [value("a", o=Amount("10"))],
        [value("a", o=Amount("10.0"))],
        "a=a",
        {"reference": "a- +a"},
    ),
    "another unit": ([value("a", o=Amount("10"))], [value("a", o=Amount("10", "5"))], "a- +a"),
    "another datatype": ([value("a", o="x")], [value("a", o="x", datatype="other")], "a- +a"),
    # Of values that are repeated the same id counts first, then times, qualifiers, and the order of ids.
    "the same id": (DATED, [value("A", "2020"), value("x", "2010")], "a=A b=x"),
    # The new dump has the id twice, so that it shows nothing: times decide.
    "an id twice": (DATED, [value("a", "2020"), value("a", "2010"), value("x", "2020")], "a=a b=a +x"),
    "times before qualifiers": (
        [value("a", "2010", quals=(10, 11)), value("b", "2020")],
        [value("x", "2020", quals=(10, 11)), value("y", "2010")],
        "a=y b=x",
    ),
    "shared qualifiers": (
        [value("a"), value("b", quals=(10, 11))],
        [value("x", quals=(10, 11)), value("y", quals=(12,))],
        "a=y b=x",
    ),
    "old ids in capitals": ([value("B"), value("a")], [value("y"), value("z")], "B=z a=y"),
    "new ids in capitals": (UNDATED, [value("Z"), value("y")], "a=y b=Z"),
    "an unknown start": ([value("a"), value("b", UNKNOWN)], [value("x", UNKNOWN), value("y")], "a=y b=x"),
    # Both have the qualifier, neither a date.
    "no end, and an unknown one": (
        [value("a", quals=(582,)), value("b", end=UNKNOWN)],
        [value("x", end=UNKNOWN), value("y", quals=(582,))],
        "a=y b=x",
    ),
    # Times are equal as the comparisons read them.
    "fields below the precision": (DATED, [value("x", "2020-01-01"), value("y", "2010-06-05/9")], "a=y b=x"),
    "a year, and its first day": (
        DATED[:1],
        [value("x", "2010-01-01"), value("y", "2010")],
        "a=x +y",
        {"interval": "a=y +x"},
    ),
}


@pytest.mark.parametrize(
    ("name", "switches"),
    [("paper", {}), ("reference", {"variant": "reference"}), ("interval", {"dates": "interval"})],
)
def test_which_values_of_two_dumps_are_one_triple(name, switches, tmp_path):
    world = World([], [])
    for subject, case in enumerate(CASES.values(), 100):
        for facts, stated in ((world.old, case[0]), (world.new, case[1])):
            facts += [replace(fact, s=subject, id=f"Q{subject}${fact.id}") for fact in stated]
    world.updates(tmp_path, **switches)
    found: dict[int, list[str]] = {subject: [] for subject, _ in enumerate(CASES, 100)}
    signs = {"F0": "=", "F-": "-", "F+": "+"}
    for row in World.differences(tmp_path):
        before, after = (str(row[key] or "").partition("$")[2] for key in ("old_statement", "new_statement"))
        found[row["subject"]].append(before + signs[row["change"]] + after)
    elsewhere = {case: given[3] for case, given in CASES.items() if len(given) > 3}
    assert {case: " ".join(triples) for case, triples in zip(CASES, found.values(), strict=True)} == {
        case: elsewhere.get(case, {}).get(name, given[2]) for case, given in CASES.items()
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


@settings(max_examples=examples(100))
@given(STATEMENTS, STATEMENTS)
def test_values_that_stand_once_on_each_side_are_one_triple(before, after):
    old, here = a_side(before, [1] * 5)
    new, there = a_side(after, [2] * 5)
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


@settings(max_examples=examples(25))
@given(st.data(), st.integers(1, 60), st.integers(1, 12))
def test_rows_are_found_by_their_numbers(data, size, group):
    with tempfile.TemporaryDirectory() as name:
        path = Path(name) / "table.parquet"
        texts = [None if place % 5 == 3 else f"text {place}" for place in range(size)]
        places = [{"place": place} for place in range(size)]
        table = pa.table({"text": texts, "of": places, "other": range(size)})
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


def test_tables_that_are_out_of_order_or_of_another_version_are_named(tmp_path):
    def table(*rows: tuple[int, int]) -> Path:
        columns = dict(zip(("subject", "position"), np.array(rows, np.int32).T, strict=True))
        pq.write_table(pa.table(columns), tmp_path / "table.parquet")
        return tmp_path / "table.parquet"

    with pytest.raises(InputError, match=r"table\.parquet: not sorted by subject; make it again"):
        list(in_blocks(table((2, 1), (1, 1)), ["subject", "position"]))
    path = table((1, 0), (1, 1), (1, 2))
    with pytest.raises(InputError, match=r"table\.parquet: has no column 'dated'"):
        list(in_blocks(path, ["subject", "position", "dated"]))
    with pytest.raises(InputError, match=r"table\.parquet: has no row 3"):
        Lookup(path, ["subject"]).take(np.array([1, 3, -1]))
    World([ANCHOR], [ANCHOR]).updates(tmp_path)
    old, new = (dump(tmp_path, which) for which in ("old", "new"))
    kept = pq.read_table(old.kept)
    other = pa.array([1] * kept.num_rows, pa.uint64())
    pq.write_table(kept.set_column(kept.schema.get_field_index("identity"), "identity", other), old.kept)
    with pytest.raises(InputError, match="another version of DuckDB"):
        difference(old, new, method(), tmp_path / "again.parquet")
    date = parse_time("+2010-01-01T00:00:00Z", 9, "")._asdict()
    with pytest.raises(InputError, match="without 'last'"):
        packed(pa.chunked_array([pa.array([None, date | {"last": None}], TIME)]))


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
