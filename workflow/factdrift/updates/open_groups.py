"""Open groups, which the rules can decide, with all columns of their statements.

A group is open if one of its triples was added or removed, or has a date. The rules cannot decide any other
group (`untouched`). These are by far the most, so they are only counted, without reading the wide columns of
their statements.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from factdrift.core.columns import schema_of
from factdrift.updates.blocks import BLOCK, DATES, Lines, Lookup, cell, in_blocks, unpacked
from factdrift.updates.difference import TRIPLES
from factdrift.updates.dumps import Dump
from factdrift.wikidata.tables import STATEMENTS

_SIDE = [
    *("statement", "position", "rank", "json", "start", "start_unknown", "end", "end_unknown", "pit"),
    *("qualifiers", "revision"),
]
_VALUE = ["datatype", "object", "key", "time"]

JOINED = schema_of(
    "subject property: int32, change: string",
    *map(STATEMENTS.field, _VALUE),
    *(STATEMENTS.field(name).with_name(f"{side}_{name}") for side in ("old", "new") for name in _SIDE),
)
"""A triple with the columns of its statements: `old_*` is null for F+, `new_*` for F-. The columns of the
value are the new dump's, for F- the old one's."""


class Block(NamedTuple):
    """All triples of some subjects."""

    open: pa.Table
    """Triples of open groups, as TRIPLES."""
    gone: NDArray[np.bool_]
    """[rows of `open`] True if the subject has no statement in the new dump."""
    untouched: pa.Table
    """`subject`, `property` of the triples of other groups."""


def divided(triples: Path) -> Iterator[Block]:
    """Yields the triples of a bucket in blocks of whole subjects."""
    for block in in_blocks(triples, TRIPLES.names, 2 * BLOCK):
        subjects = block["subject"].to_numpy()
        added, removed = (pc.equal(block["change"], change).to_numpy() for change in ("F+", "F-"))
        touched = added | removed | block["dated"].to_numpy()
        open_ = _over(np.logical_or, touched, cell(subjects, block["property"].to_numpy()))
        gone = _over(np.logical_and, removed, subjects)
        untouched = block.select(["subject", "property"]).filter(pa.array(~open_))
        yield Block(block.filter(pa.array(open_)), gone[open_], untouched)


def _over(decide: np.ufunc, flags: NDArray[np.bool_], ids: NDArray[np.integer]) -> NDArray[np.bool_]:
    """[n] `decide` reduced over the flags of all rows with the same id; equal ids must be adjacent."""
    starts = np.flatnonzero(np.diff(ids, prepend=-1))
    if not len(starts):
        return flags
    of_group: NDArray[np.bool_] = decide.reduceat(flags, starts).repeat(np.diff(starts, append=len(ids)))
    return of_group


_KEPT = ("position", "revision", *DATES)
"""Columns that are looked up in the kept table; others are only in the table of all statements."""


class Statements:
    """Looks up the statements of both dumps for blocks of triples in ascending order."""

    def __init__(self, old: Dump, new: Dump, columns: Sequence[str] | None = None) -> None:
        """`columns`: columns of the value to look up, and no others; all columns of JOINED if None."""
        self.sides = [] if columns else _SIDE
        self.value = list(columns or _VALUE)
        names = [*self.value, *self.sides]
        here = ["row", *(name for name in names if name in _KEPT)]
        there = [name for name in names if name not in _KEPT]
        self.dumps = {
            side: (Lookup(dump.kept, here), Lookup(dump.filtered, there))
            for side, dump in (("old_", old), ("new_", new))
        }

    def join(self, triples: pa.Table) -> pa.Table:
        """The triples with the columns of their statements (JOINED, or those chosen)."""
        rows = {side: pc.fill_null(triples[f"{side}row"], -1).to_numpy() for side in self.dumps}
        columns = {name: triples[name] for name in ("subject", "property", "change")}
        # Values come from the new dump, for removed triples from the old one.
        new = self._take("new_", rows["new_"], [*self.value, *self.sides])
        old = self._take("old_", rows["old_"], self.sides)
        removed = self._take("old_", np.where(rows["new_"] < 0, rows["old_"], -1), self.value)
        for name in self.value:
            columns[name] = _plain(pc.coalesce(new[name], removed[name]))
        for side, table in (("old_", old), ("new_", new)):
            columns |= {f"{side}{name}": _plain(table[name]) for name in self.sides}
        return pa.table(columns)

    def _take(self, side: str, rows: Lines, columns: Sequence[str]) -> dict[str, pa.ChunkedArray]:
        """Columns of these rows of a dump's kept table, null where a number is negative; dates packed."""
        if not columns:
            return {}
        kept, filtered = self.dumps[side]
        here = kept.take(rows, ["row", *(name for name in columns if name in _KEPT)])
        numbers = pc.fill_null(here["row"], -1).to_numpy().astype(np.int64)
        there = filtered.take(numbers, [name for name in columns if name not in _KEPT])
        return {name: (here if name in _KEPT else there)[name] for name in columns}


def _plain(column: pa.ChunkedArray) -> pa.ChunkedArray:
    """The column, with packed dates as structs, and null for a revision of 0."""
    if pa.types.is_fixed_size_binary(column.type):
        return unpacked(column)
    return pc.if_else(pc.equal(column, 0), None, column) if column.type == pa.int64() else column
