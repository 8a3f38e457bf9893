"""F-, F0, F+: which kept triples stand only in the old dump, in both, only in the new one (spec section 3).

A triple is a statement. Statements of a group with the same value are matched one to one (`matching`). The
two tables are read in step, subject by subject, so that memory does not grow with them.
"""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import duckdb
import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from factdrift.tables import TIME, database, write_tables
from factdrift.updates.blocks import BLOCK, in_step, place
from factdrift.updates.matching import COLUMNS, REPEATED, Lines, check_identities, match, match_repeated, side
from factdrift.updates.method import Method

_SIDE = [
    ("statement", pa.string()),
    ("position", pa.int32()),
    ("rank", pa.string()),
    ("json", pa.string()),
    ("start", TIME),
    ("start_unknown", pa.bool_()),
    ("end", TIME),
    ("end_unknown", pa.bool_()),
    ("pit", TIME),
    ("qualifiers", pa.list_(pa.int32())),
    ("revision", pa.int64()),
]

TRIPLES = pa.schema(
    [
        ("subject", pa.int32()),
        ("property", pa.int32()),
        ("change", pa.string()),
        ("datatype", pa.string()),
        ("object", pa.int32()),
        ("key", pa.string()),
        ("time", TIME),
        *((f"old_{name}", kind) for name, kind in _SIDE),
        *((f"new_{name}", kind) for name, kind in _SIDE),
    ]
)
"""One row a triple: `change` is `F-`, `F0` or `F+`; `old_*` is null for F+, `new_*` for F-. The columns
of the value are the new dump's where the triple stands there."""


_VALUE = ("datatype", "object", "key", "time")
_READ = list(dict.fromkeys([*COLUMNS, "dropped_by", *REPEATED, *_VALUE, *(name for name, _ in _SIDE)]))


def difference(
    old: Path, new: Path, method: Method, output: Path, unchanged: bool = True, rows: int = BLOCK
) -> int:
    """Writes the triples of one bucket from its two preprocessed tables; returns their number.

    `unchanged`: entities whose revision is the same in both dumps are matched without a look at their values;
    the table is the same without it. So it is for any number of `rows` that are looked at together. Raises
    InputError if a table is not sorted by subject and position.
    """
    with database() as db:
        return write_tables(db, _triples(db, old, new, method, unchanged, rows), TRIPLES, output)


def _triples(
    db: duckdb.DuckDBPyConnection, old: Path, new: Path, method: Method, unchanged: bool, rows: int
) -> Iterator[pa.Table]:
    for before, after in in_step(old, new, _READ, rows):
        for table, path in ((before, old), (after, new)):
            check_identities(db, table, method, path)
        matched = match(side(before), side(after), unchanged)
        again_old, again_new = match_repeated(db, matched, before, after, method)
        here, there = _in_order(
            before,
            after,
            np.concatenate([matched.old, again_old]),
            np.concatenate([matched.new, again_new]),
        )
        yield _joined(before, after, here, there)


def _in_order(before: pa.Table, after: pa.Table, old: Lines, new: Lines) -> tuple[Lines, Lines]:
    """The rows of both sides that make the triples, -1 where there is none, by subject and property.

    A group's triples stand in the old dump's order, then F+ in the new dump's.
    """
    kept, come = (np.flatnonzero(table["dropped_by"].is_null().to_numpy()) for table in (before, after))
    partner = np.full(before.num_rows, -1)
    partner[old] = new
    come = np.setdiff1d(come, new, assume_unique=True)
    cells = np.concatenate([_cells(before)[kept], _cells(after)[come]])
    here = np.concatenate([kept, np.full(len(come), -1)])
    there = np.concatenate([partner[kept], come])
    # Rows stand by subject and position already.
    order = np.argsort(cells, kind="stable")
    return here[order], there[order]


def _cells(table: pa.Table) -> NDArray[np.int64]:
    return place(table["subject"].to_numpy(), table["property"].to_numpy())


def _joined(before: pa.Table, after: pa.Table, here: Lines, there: Lines) -> pa.Table:
    """The columns of TRIPLES for these rows."""
    no_old, no_new = here < 0, there < 0
    removed = np.flatnonzero(no_new)
    lines = there.copy()
    lines[removed] = after.num_rows + np.arange(len(removed))
    from_either = pa.array(lines)
    gone = pa.array(here[removed])
    columns = {
        name: pa.chunked_array([*after[name].chunks, *before[name].take(gone).chunks], after[name].type)
        .combine_chunks()
        .take(from_either)
        for name in ("subject", "property", *_VALUE)
    }
    kinds = pa.array(["F-", "F0", "F+"])
    columns["change"] = kinds.take(pa.array(np.where(no_new, 0, np.where(no_old, 2, 1))))
    for prefix, table, rows, missing in (("old", before, here, no_old), ("new", after, there, no_new)):
        places = pa.array(rows, mask=missing)
        columns |= {f"{prefix}_{name}": table[name].take(places) for name, _ in _SIDE}
    return pa.table([columns[name] for name in TRIPLES.names], schema=TRIPLES)
