"""Matches the statements of two dumps: equal values of a group (subject, relation), one to one.

Values are compared by 64-bit hashes of (datatype, value), made when the filters run (`identity`), and so are
the ids of statements whose value occurs several times. Two values of one group, or two ids of one value,
collide once in 2^64 pairs: some 10^-8 expected cases between two whole dumps.
"""

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from factdrift.core.errors import InputError
from factdrift.core.tables import fetched
from factdrift.updates.blocks import Lines, Lookup, cell
from factdrift.updates.dumps import Dump
from factdrift.updates.method import UpdateSettings
from factdrift.updates.readings import high, low

COLUMNS = ("subject", "property", "position", "revision", "identity", "repeated")
"""Columns of KEPT that the matching reads of every statement."""

REPEATED = ("statement", "start", "start_unknown", "end", "end_unknown", "pit", "qualifiers")
"""Columns that it reads of statements whose value is repeated on a side and whose ids do not decide."""

Read = Callable[[int, Lines], pa.Table]


class Side(NamedTuple):
    """One side of a block of n statements, sorted by subject and position; each array is [n]."""

    subjects: NDArray[np.int32]
    relations: NDArray[np.int32]
    positions: NDArray[np.int32]
    revisions: NDArray[np.int64]
    """0 if unknown."""
    values: NDArray[np.uint64]
    """Hashes of the values; 0 for a value that equals no other."""
    repeated: NDArray[np.bool_]
    """The value occurs several times in its group."""


class Matched(NamedTuple):
    """Row numbers: `old[i]` and `new[i]` are one triple; `repeated_*` are unmatched, in groups `groups_*`."""

    old: Lines
    new: Lines
    repeated_old: Lines
    groups_old: Lines
    repeated_new: Lines
    groups_new: Lines


def identities(db: Connection, table: pa.Table, method: UpdateSettings) -> pa.ChunkedArray:
    """A hash of each row's datatype and value; 0 if one of them is missing. [n], uint64."""
    value = table["key"]
    if method.variant == "reference":
        # `reference` compares datavalues exactly; entity values have no JSON.
        value = pc.coalesce(table["json"], value)
    db.register("valued", pa.table({"datatype": table["datatype"], "value": value}))
    hashes = db.sql(
        """SELECT CASE WHEN datatype IS NOT NULL AND value IS NOT NULL
            THEN greatest(hash(datatype, value), 1) ELSE 0 END::UBIGINT AS identity FROM valued"""
    ).to_arrow_table()["identity"]
    db.unregister("valued")
    return hashes


def check_identities(db: Connection, dump: Dump, line: int, method: UpdateSettings) -> None:
    """Raises InputError if the hash of row `line` in the kept table differs from one computed now."""
    row = Lookup(dump.kept, ["row", "identity"]).take(np.array([line]))
    value = Lookup(dump.filtered, ["datatype", "key", "json"]).take(row["row"].to_numpy().astype(np.int64))
    if row["identity"].to_pylist() != identities(db, value, method).to_pylist():
        raise InputError(
            f"{dump.kept}: made by another version of DuckDB or in another variant; remove it and run again"
        )


def repeated(
    subjects: NDArray[np.int32], relations: NDArray[np.int32], values: NDArray[np.uint64]
) -> NDArray[np.bool_]:
    """[n] True for statements whose value occurs several times in their group; subjects must be whole."""
    order, starts = _by_identity(subjects, relations, values)
    sizes = np.diff(starts, append=len(order))
    is_repeated: NDArray[np.bool_] = values != 0
    is_repeated[order[np.repeat(sizes == 1, sizes)]] = False
    return is_repeated


def side(table: pa.Table) -> Side:
    """The columns of a block as arrays."""
    return Side(*(table[name].to_numpy() for name in COLUMNS))


def match(old: Side, new: Side, unchanged: bool = True) -> Matched:
    """Matches values that occur once on each side, and finds those that occur more often.

    With `unchanged`, statements at the same position of an entity whose revision is the same in both dumps
    are matched immediately; the greedy matching of `match_repeated` would give the same pairs, because it
    puts equal statement ids first. Statements at the same place from the start or the end of an entity are
    only compared; all others are sorted.
    """
    old_left, new_left, here, there = _aligned(old, new, unchanged)
    old_rest, new_rest = np.flatnonzero(old_left), np.flatnonzero(new_left)
    columns = ((old.subjects, new.subjects), (old.relations, new.relations), (old.values, new.values))
    left = (np.concatenate([mine[old_rest], other[new_rest]]) for mine, other in columns)
    order, starts = _by_identity(*left)
    rows = np.concatenate([old_rest, new_rest])[order]
    from_old = order < len(old_rest)
    # Within a run of equal values the old rows come first.
    sizes = np.diff(starts, append=len(order))
    olds = np.add.reduceat(from_old, starts, dtype=np.int64) if len(starts) else starts
    once = starts[(sizes == 2) & (olds == 1)]
    several = np.repeat((sizes > 2) & (olds > 0) & (olds < sizes), sizes)
    groups = np.repeat(np.arange(len(starts)), sizes)
    repeated_old, repeated_new = several & from_old, several & ~from_old
    pairs = np.concatenate([*here, rows[once]]), np.concatenate([*there, rows[once + 1]])
    again_old, again_new = ((rows[mask], groups[mask]) for mask in (repeated_old, repeated_new))
    return Matched(*pairs, *again_old, *again_new)


def _aligned(
    old: Side, new: Side, unchanged: bool
) -> tuple[NDArray[np.bool_], NDArray[np.bool_], list[Lines], list[Lines]]:
    """Pairs equal statements at the same place of their entity, counted from its start, then from its end.

    Returns masks of the rows left on each side that may still have a partner, and the paired rows. Values
    that are repeated on either side are left, unless `unchanged` decides them.
    """
    starts_old, sizes_old = _runs(old.subjects)
    starts_new, sizes_new = _runs(new.subjects)
    if not (len(starts_old) and len(starts_new)):
        return np.zeros(len(old.values), bool), np.zeros(len(new.values), bool), [], []
    subjects = new.subjects[starts_new]
    there = np.minimum(np.searchsorted(subjects, old.subjects[starts_old]), len(subjects) - 1)
    both = subjects[there] == old.subjects[starts_old]
    is_there = np.zeros(len(starts_new), bool)
    is_there[there[both]] = True
    left_old = np.repeat(both, sizes_old) & (old.values != 0)
    left_new = np.repeat(is_there, sizes_new) & (new.values != 0)

    at = np.arange(len(old.values)) + np.repeat(starts_new[there] - starts_old, sizes_old)
    sure = ~(old.repeated | new.repeated.take(at, mode="clip"))
    if unchanged:
        revisions = old.revisions[starts_old]
        same = (revisions == new.revisions[starts_new[there]]) & (revisions > 0)
        sure |= np.repeat(same, sizes_old) & (old.positions == new.positions.take(at, mode="clip"))
    sure &= left_old
    sure &= _equal(old, new, slice(None), at)
    here = np.flatnonzero(sure)
    pairs_old, pairs_new = [here], [at[here]]
    left_old[here] = False
    left_new[at[here]] = False

    # With equal numbers of statements, places from the end are the same as from the start.
    longer = sizes_new[there] - sizes_old
    rest = np.flatnonzero(left_old & ~old.repeated & np.repeat(longer != 0, sizes_old))
    at = at[rest] + np.repeat(longer, sizes_old)[rest]
    sure = left_new.take(at, mode="clip") & ~new.repeated.take(at, mode="clip")
    sure &= _equal(old, new, rest, at)
    pairs_old.append(rest[sure])
    pairs_new.append(at[sure])
    left_old[pairs_old[1]] = False
    left_new[pairs_new[1]] = False
    return left_old, left_new, pairs_old, pairs_new


def _runs(ids: NDArray[np.int32]) -> tuple[Lines, Lines]:
    """Start and length of each run of equal ids."""
    starts = np.flatnonzero(np.concatenate([np.ones(min(len(ids), 1), bool), ids[1:] != ids[:-1]]))
    return starts, np.diff(starts, append=len(ids))


def _equal(old: Side, new: Side, here: Lines | slice, at: Lines) -> NDArray[np.bool_]:
    """[n] True where old rows `here` and new rows `at` have equal subject, relation and value.

    A row beyond the end of the new side equals none.
    """
    same: NDArray[np.bool_] = old.values[here] == new.values.take(at, mode="clip")
    same &= old.relations[here] == new.relations.take(at, mode="clip")
    same &= old.subjects[here] == new.subjects.take(at, mode="clip")
    same &= (at >= 0) & (at < len(new.values))
    return same


def _by_identity(
    subjects: NDArray[np.int32], relations: NDArray[np.int32], values: NDArray[np.uint64]
) -> tuple[Lines, Lines]:
    """An order of the rows in which equal ones are neighbours, and the start of each run of equal rows.

    Equal rows keep their original order.
    """
    cells = cell(subjects, relations).astype(np.uint64)
    keys = values ^ (cells * np.uint64(0x9E3779B97F4A7C15))
    keys ^= keys >> np.uint64(32)
    # Sorting numbers is several times as fast as argsort: the row number replaces the lowest bits.
    low_bits = (np.uint64(1) << np.uint64(max(len(keys), 1).bit_length())) - np.uint64(1)
    packed = (keys & ~low_bits) | np.arange(len(keys), dtype=np.uint64)
    packed.sort()
    order = (packed & low_bits).astype(np.int64)
    alike = (packed[1:] ^ packed[:-1]) <= low_bits
    same = (values[order[1:]] == values[order[:-1]]) & (cells[order[1:]] == cells[order[:-1]])
    if not np.array_equal(alike, same):
        # Different rows collided, as happens once in some thousand blocks: sort by all columns.
        order = np.lexsort((values, cells))
        same = (values[order[1:]] == values[order[:-1]]) & (cells[order[1:]] == cells[order[:-1]])
    return order, np.flatnonzero(np.concatenate([np.ones(min(len(order), 1), bool), ~same]))


def match_repeated(
    db: Connection,
    matched: Matched,
    ids: tuple[NDArray[np.uint64], NDArray[np.uint64]],
    read: Read,
    method: UpdateSettings,
) -> tuple[Lines, Lines]:
    """Matches repeated values one to one: greedy over all pairs, the closest first.

    Pairs are ordered by: the same statement id, the number of equal times, the number of qualifier properties
    in common, statement ids. `ids`: hashes of the statement ids of both sides. `read(side, rows)` returns the
    columns REPEATED of rows of the old side (0) or the new one (1).
    """
    lines = (matched.repeated_old, matched.repeated_new)
    groups = (matched.groups_old, matched.groups_new)
    if not len(lines[0]):
        return lines
    # An id that occurs once on each side decides, so most rows need no other columns.
    same = _same_ids(groups, (ids[0][lines[0]], ids[1][lines[1]]))
    pairs = [(lines[0][same[0]], lines[1][same[1]])]
    left = [~np.isin(np.arange(len(lines[which])), same[which]) for which in (0, 1)]
    for which in (0, 1):
        left[which] &= np.isin(groups[which], groups[1 - which][left[1 - which]])
    if left[0].any():
        old, new = (
            read(which, lines[which][left[which]])
            .append_column("line", pa.array(lines[which][left[which]]))
            .append_column("grp", pa.array(groups[which][left[which]]))
            for which in (0, 1)
        )
        pairs.append(_greedy(db, old, new, method))
    return np.concatenate([old for old, _ in pairs]), np.concatenate([new for _, new in pairs])


def _same_ids(groups: tuple[Lines, Lines], ids: tuple[NDArray[np.uint64], ...]) -> tuple[Lines, Lines]:
    """Positions, old and new, of ids that occur once on each side of a group."""
    every_group, every_id = np.concatenate(groups), np.concatenate(ids)
    order = np.lexsort((every_id, every_group))
    same = (every_group[order[1:]] == every_group[order[:-1]]) & (every_id[order[1:]] == every_id[order[:-1]])
    starts = np.flatnonzero(np.concatenate([[True], ~same]))
    # The sort is stable: within a run the old rows come first.
    first = starts[np.diff(starts, append=len(order)) == 2]
    old, new = order[first], order[first + 1] - len(groups[0])
    across = (old < len(groups[0])) & (new >= 0)
    return old[across], new[across]


def _greedy(db: Connection, old: pa.Table, new: pa.Table, method: UpdateSettings) -> tuple[Lines, Lines]:
    """Pairs (old `line`, new `line`) of rows of the same `grp`, closest first, each row used once."""
    alike = {name: f"o.{name}_unknown = n.{name}_unknown" for name in ("start", "end")} | {"pit": "true"}
    equal = " + ".join(
        f"""(({_day(f'o."{name}"', method)}) IS NOT DISTINCT FROM ({_day(f'n."{name}"', method)})
            AND {unknown})::INTEGER"""
        for name, unknown in alike.items()
    )
    db.register("old_rows", old)
    db.register("new_rows", new)
    candidates = db.execute(
        f"""SELECT o.line, n.line FROM old_rows o JOIN new_rows n USING (grp)
        ORDER BY upper(o.statement) = upper(n.statement) DESC, {equal} DESC,
            len(list_intersect(o.qualifiers, n.qualifiers)) DESC,
            upper(o.statement), upper(n.statement), o.line, n.line"""
    )
    pairs: dict[int, int] = {}
    taken: set[int] = set()
    for old_line, new_line in fetched(candidates):
        if old_line not in pairs and new_line not in taken:
            pairs[old_line] = new_line
            taken.add(new_line)
    db.unregister("old_rows")
    db.unregister("new_rows")
    matched = np.array(list(pairs.items()), np.int64).reshape(-1, 2)
    return matched[:, 0], matched[:, 1]


def _day(time: str, method: UpdateSettings) -> str:
    """SQL: [low, high] of a date, so that matching and rules agree on which dates are equal."""
    return f"CASE WHEN {time} IS NOT NULL THEN [{low(time, method)}, {high(time, method)}] END"
