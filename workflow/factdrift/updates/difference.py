"""The difference of two dumps: F- only in the old one, F0 in both, F+ only in the new one.

A triple is a statement that the filters keep. Statements of a group with the same value are matched one to
one (`matching`). The two tables are read in step, subject by subject, so memory does not grow with them; a
triple refers to its statements by their row numbers.
"""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from factdrift.core.tables import database, write_tables
from factdrift.updates.blocks import BLOCK, Lines, Lookup, in_step, place
from factdrift.updates.dumps import Dump
from factdrift.updates.matching import COLUMNS, REPEATED, check_identities, match, match_repeated, side
from factdrift.updates.method import Method

CHANGES = ("F-", "F0", "F+")

TRIPLES = pa.schema(
    [
        ("subject", pa.int32()),
        ("property", pa.int32()),
        ("change", pa.string()),
        ("old_row", pa.int32()),
        ("new_row", pa.int32()),
        ("dated", pa.bool_()),
    ]
)
"""One row a triple: `change` is one of CHANGES; `old_row` and `new_row` are row numbers, from 0, of its
statements in the tables of kept statements, null where it has none; `dated` is that of the new statement, or
of the old one if there is no new one."""

_ASCENDING = ("subject", "old_row", "new_row")
_READ = (*COLUMNS, "id", "dated")


def difference(
    old: Dump, new: Dump, method: Method, output: Path, unchanged: bool = True, rows: int = BLOCK
) -> int:
    """Writes the triples of one bucket from its tables of both dumps; returns their number.

    `unchanged`: match entities whose revision is the same in both dumps without comparing statement ids.
    Neither this shortcut nor the number of `rows` in a block changes the table. Raises InputError if a table
    is not sorted by subject.
    """
    with database() as db:
        return write_tables(db, _triples(db, old, new, method, unchanged, rows), TRIPLES, output, _ASCENDING)


def _triples(
    db: duckdb.DuckDBPyConnection, old: Dump, new: Dump, method: Method, unchanged: bool, rows: int
) -> Iterator[pa.Table]:
    dumps = (old, new)
    places = [Lookup(dump.kept, ["row"]) for dump in dumps]
    statements = [Lookup(dump.filtered, REPEATED) for dump in dumps]
    first = np.zeros(2, np.int64)
    """Numbers of the first rows of the block."""

    def read(which: int, lines: Lines) -> pa.Table:
        numbers = places[which].take(first[which] + lines)["row"].to_numpy()
        return statements[which].take(numbers.astype(np.int64))

    unchecked = {0, 1}
    for block in in_step(old.kept, new.kept, _READ, rows):
        for which in sorted(unchecked):
            if block[which].num_rows:
                check_identities(db, dumps[which], int(first[which]), method)
                unchecked.remove(which)
        matched = match(side(block[0]), side(block[1]), unchanged)
        ids = (block[0]["id"].to_numpy(), block[1]["id"].to_numpy())
        again_old, again_new = match_repeated(db, matched, ids, read, method)
        pairs = np.concatenate([matched.old, again_old]), np.concatenate([matched.new, again_new])
        yield _table(*block, *pairs, first)
        first += [table.num_rows for table in block]


def _table(before: pa.Table, after: pa.Table, old: Lines, new: Lines, first: Lines) -> pa.Table:
    """TRIPLES of a block in which old row `old[i]` and new row `new[i]` are one; `first`: its first rows.

    Ordered by subject and property; within a group in the old dump's order, then F+ in the new dump's.
    """
    partner = np.full(before.num_rows, -1)
    partner[old] = new
    is_new = np.ones(after.num_rows, bool)
    is_new[new] = False
    come = np.flatnonzero(is_new)
    # Rows are sorted by subject and position already.
    order = np.argsort(np.concatenate([_cells(before), _cells(after)[come]]), kind="stable")
    here = np.concatenate([np.arange(before.num_rows), np.full(len(come), -1)])[order]
    there = np.concatenate([partner, come])[order]
    no_old, no_new = here < 0, there < 0

    def value(name: str) -> NDArray[np.generic]:
        values = np.empty(len(here), before[name].type.to_pandas_dtype())
        values[~no_new] = after[name].to_numpy()[there[~no_new]]
        values[no_new] = before[name].to_numpy()[here[no_new]]
        return values

    changes = pa.array(CHANGES).take(pa.array(np.where(no_new, 0, np.where(no_old, 2, 1))))
    rows = [
        pa.array((lines + start).astype(np.int32), mask=missing)
        for lines, start, missing in ((here, first[0], no_old), (there, first[1], no_new))
    ]
    return pa.table([value("subject"), value("property"), changes, *rows, value("dated")], schema=TRIPLES)


def _cells(table: pa.Table) -> NDArray[np.int64]:
    return place(table["subject"].to_numpy(), table["property"].to_numpy())
