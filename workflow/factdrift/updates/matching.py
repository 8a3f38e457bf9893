"""Which statement of the old dump is which of the new one: equal values of a group, matched one to one.

Values are compared by 64-bit hashes of (datatype, value), made when the filters run (`identity`), mixed with
subject and relation. Two values of one subject and relation are taken for the same by accident once in 2^64
pairs of them: some 10^-8 expected cases between two whole dumps.
"""

from __future__ import annotations

from pathlib import Path
from typing import NamedTuple

import duckdb
import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from factdrift.settings import InputError
from factdrift.updates.blocks import place
from factdrift.updates.method import Method
from factdrift.updates.readings import high, low

COLUMNS = ("subject", "property", "position", "revision", "identity")
"""What the matching reads of a statement, unless its value is repeated."""

REPEATED = ("statement", "start", "start_unknown", "end", "end_unknown", "pit", "qualifiers")
"""What it reads besides where a value stands several times on a side."""

Lines = NDArray[np.int64]
"""Numbers of rows of a block's table."""


class Side(NamedTuple):
    """One side of a block: the statements that can be matched, as arrays of equal length."""

    lines: Lines
    subjects: NDArray[np.int64]
    relations: NDArray[np.int64]
    positions: NDArray[np.int64]
    revisions: NDArray[np.int64]
    """0 where it is not known."""
    values: NDArray[np.uint64]

    def at(self, places: NDArray[np.integer] | NDArray[np.bool_]) -> Side:
        return Side(
            self.lines[places],
            self.subjects[places],
            self.relations[places],
            self.positions[places],
            self.revisions[places],
            self.values[places],
        )


class Matched(NamedTuple):
    """Rows `old[i]` and `new[i]` are one triple; `repeated_*` are still to be matched, within `groups_*`."""

    old: Lines
    new: Lines
    repeated_old: Lines
    groups_old: Lines
    repeated_new: Lines
    groups_new: Lines


def identities(db: duckdb.DuckDBPyConnection, table: pa.Table, method: Method) -> pa.ChunkedArray:
    """A hash of each row's datatype and value (uint64); null where one is missing, which equals nothing."""
    value = table["key"]
    if method.variant == "reference":
        # Exact equality of the datavalue is what the reference compares; entity values have no JSON.
        value = pc.coalesce(table["json"], value)
    db.register("valued", pa.table({"datatype": table["datatype"], "value": value}))
    hashes = db.sql(
        """SELECT CASE WHEN datatype IS NOT NULL AND value IS NOT NULL
            THEN hash(datatype, value) END AS identity FROM valued"""
    ).to_arrow_table()["identity"]
    db.unregister("valued")
    return hashes


def check_identities(db: duckdb.DuckDBPyConnection, table: pa.Table, method: Method, path: Path) -> None:
    """Raises InputError if the table was made by a version of DuckDB that hashes in another way."""
    row = table.filter(table["identity"].is_valid()).slice(0, 1)
    if row["identity"].to_pylist() != identities(db, row, method).to_pylist():
        raise InputError(
            f"{path}: made by another version of DuckDB or in another variant; remove it and run again"
        )


def side(table: pa.Table) -> Side:
    """A block's table as arrays, without what is dropped or equals nothing."""
    lines = np.flatnonzero(table["identity"].is_valid().to_numpy())
    subjects, relations, positions = (
        table[name].to_numpy()[lines].astype(np.int64) for name in ("subject", "property", "position")
    )
    revisions = pc.fill_null(table["revision"], 0).to_numpy()[lines]
    values = pc.fill_null(table["identity"], 0).to_numpy()[lines]
    return Side(lines, subjects, relations, positions, revisions, values)


def match(old: Side, new: Side, unchanged: bool = True) -> Matched:
    """Matches the values that stand once on each side, and finds those that stand more often.

    With `unchanged`, entities whose revision is the same in both dumps are matched by the position of their
    statements first. The greedy matching of `match_repeated` would do the same, for it puts equal statement
    ids before all else.
    """
    old_parts, new_parts = [], []
    if unchanged:
        by_place_old, by_place_new = _same_revision(old, new)
        old_parts.append(old.lines[by_place_old])
        new_parts.append(new.lines[by_place_new])
        old, new = (
            side.at(_others(len(side.lines), taken))
            for side, taken in ((old, by_place_old), (new, by_place_new))
        )
    order, starts = _by_identity(old, new)
    sizes = np.diff(starts, append=len(order))
    from_old = order < len(old.lines)
    olds = np.add.reduceat(from_old, starts, dtype=np.int64) if len(starts) else starts
    once = starts[(sizes == 2) & (olds == 1)]
    # Within a run what is old comes first.
    old_parts.append(old.lines[order[once]])
    new_parts.append(new.lines[order[once + 1] - len(old.lines)])
    several = np.repeat((sizes > 2) & (olds > 0) & (olds < sizes), sizes)
    groups = np.repeat(np.arange(len(starts)), sizes)
    repeated_old, repeated_new = several & from_old, several & ~from_old
    return Matched(
        np.concatenate(old_parts),
        np.concatenate(new_parts),
        old.lines[order[repeated_old]],
        groups[repeated_old],
        new.lines[order[repeated_new] - len(old.lines)],
        groups[repeated_new],
    )


def _others(number: int, taken: NDArray[np.integer]) -> NDArray[np.bool_]:
    left = np.ones(number, bool)
    left[taken] = False
    return left


def _same_revision(old: Side, new: Side) -> tuple[Lines, Lines]:
    """Places in `old` and `new` of what stands at the same position in the same revision of its subject."""
    if not (len(old.lines) and len(new.lines)):
        return np.empty(0, np.int64), np.empty(0, np.int64)
    there = place(new.subjects, new.positions)
    here = place(old.subjects, old.positions)
    # Where nothing changes over long stretches, the search is for neighbouring numbers, and fast.
    at = np.minimum(np.searchsorted(there, here), len(there) - 1)
    same = (there[at] == here) & (old.revisions == new.revisions[at]) & (old.revisions > 0)
    same &= (old.values == new.values[at]) & (old.relations == new.relations[at])
    found = np.flatnonzero(same)
    return found, at[found]


def _by_identity(old: Side, new: Side) -> tuple[Lines, Lines]:
    """An order of the rows of both sides, old ones first, that brings equal ones together; where runs start.

    Equal rows stand in the order of their places.
    """
    subjects = np.concatenate([old.subjects, new.subjects])
    relations = np.concatenate([old.relations, new.relations])
    values = np.concatenate([old.values, new.values])
    cells = ((subjects << 32) + relations).astype(np.uint64)
    keys = values ^ (cells * np.uint64(0x9E3779B97F4A7C15))
    keys ^= keys >> np.uint64(32)
    # Sorting numbers is several times as fast as sorting their places: the place replaces the lowest bits.
    bits = np.uint64(max(len(keys), 1).bit_length())
    low_bits = (np.uint64(1) << bits) - np.uint64(1)
    packed = (keys & ~low_bits) | np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    order = (packed & low_bits).astype(np.int64)
    alike = (packed[1:] ^ packed[:-1]) <= low_bits
    same = (values[order[1:]] == values[order[:-1]]) & (cells[order[1:]] == cells[order[:-1]])
    if not np.array_equal(alike, same):
        # Different rows that look alike, once in some thousand blocks: all is compared.
        order = np.lexsort((values, cells))
        same = (values[order[1:]] == values[order[:-1]]) & (cells[order[1:]] == cells[order[:-1]])
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(order), 1), bool), ~same]))
    return order, starts


def match_repeated(
    db: duckdb.DuckDBPyConnection, matched: Matched, old: pa.Table, new: pa.Table, method: Method
) -> tuple[Lines, Lines]:
    """One-to-one matches where a value stands several times on a side: greedy over all pairs, best first.

    The same statement id first, then most equal times, then most qualifiers in common, then the ids.
    """
    empty = np.empty(0, np.int64)
    if not len(matched.repeated_old):
        return empty, empty
    for name, lines, groups, table in (
        ("old_repeated", matched.repeated_old, matched.groups_old, old),
        ("new_repeated", matched.repeated_new, matched.groups_new, new),
    ):
        rows = table.select(list(REPEATED)).take(pa.array(lines))
        rows = rows.append_column("line", pa.array(lines)).append_column("grp", pa.array(groups))
        db.register("rows", rows)
        db.execute(
            f"""CREATE OR REPLACE TEMP TABLE {name} AS
            SELECT *, upper(statement) AS id, count(*) OVER (PARTITION BY grp, upper(statement)) AS times
            FROM rows"""
        )
        db.unregister("rows")
    # An id that stands once on each side decides at once; what is left has many fewer pairs.
    db.execute(
        """CREATE OR REPLACE TEMP TABLE same_id AS SELECT o.line AS old_line, n.line AS new_line
        FROM old_repeated o JOIN new_repeated n USING (grp, id) WHERE o.times = 1 AND n.times = 1"""
    )
    equal = " + ".join(
        f"""(({_day(f'o."{name}"', method)}) IS NOT DISTINCT FROM ({_day(f'n."{name}"', method)})
            AND {unknown})::INTEGER"""
        for name, unknown in (
            ("start", "o.start_unknown = n.start_unknown"),
            ("end", "o.end_unknown = n.end_unknown"),
            ("pit", "true"),
        )
    )
    candidates = db.execute(
        f"""SELECT o.line, n.line FROM old_repeated o JOIN new_repeated n USING (grp)
        WHERE o.line NOT IN (SELECT old_line FROM same_id) AND n.line NOT IN (SELECT new_line FROM same_id)
        ORDER BY o.id = n.id DESC, {equal} DESC, len(list_intersect(o.qualifiers, n.qualifiers)) DESC,
            o.id, n.id, o.line, n.line"""
    )
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    while rows := candidates.fetchmany(10_000):
        for old_line, new_line in rows:
            if old_line not in pairs and new_line not in taken:
                pairs[old_line] = new_line
                taken.add(new_line)
    first = db.execute("SELECT old_line, new_line FROM same_id").fetchnumpy()
    return (
        np.concatenate([first["old_line"], np.fromiter(pairs.keys(), np.int64)]),
        np.concatenate([first["new_line"], np.fromiter(pairs.values(), np.int64)]),
    )


def _day(time: str, method: Method) -> str:
    """A date as what the comparisons see of it, so that matching and rules agree on what is equal."""
    return f"CASE WHEN {time} IS NOT NULL THEN [{low(time, method)}, {high(time, method)}] END"
