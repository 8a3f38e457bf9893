"""The difference of two dumps: F- only in the old one, F0 in both, F+ only in the new one; E+, new entities.

A triple is a statement that the filters keep. Statements of a group with the same value are matched one to
one (`matching`). The two tables are read in step, subject by subject, so memory does not grow with them; a
triple refers to its statements by their row numbers.
"""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from factdrift.core.columns import schema_of
from factdrift.core.tables import database, sql, write_query, write_tables
from factdrift.updates.blocks import BLOCK, Lines, Lookup, cell, in_step
from factdrift.updates.dumps import Dump
from factdrift.updates.matching import COLUMNS, REPEATED, check_identities, match, match_repeated, side
from factdrift.updates.method import UpdateSettings, number, numbers
from factdrift.updates.readings import high, low
from factdrift.wikidata.time import YEAR

CHANGES = ("F-", "F0", "F+")

TRIPLES = schema_of("subject property: int32, change: string, old_row new_row: int32, dated: bool")
"""One row a triple, with the rows of its statements among the kept ones (docs/tables/triples.md)."""

_ASCENDING = ("subject", "old_row", "new_row")
_READ = (*COLUMNS, "id", "dated")


def difference(
    old: Dump, new: Dump, method: UpdateSettings, output: Path, unchanged: bool = True, rows: int = BLOCK
) -> int:
    """Writes the triples of one bucket from its tables of both dumps; returns their number.

    `unchanged`: match entities whose revision is the same in both dumps without comparing statement ids.
    Neither this shortcut nor the number of `rows` in a block changes the table. Raises InputError if a table
    is not sorted by subject.
    """
    with database() as db:
        return write_tables(db, _triples(db, old, new, method, unchanged, rows), TRIPLES, output, _ASCENDING)


def _triples(
    db: Connection, old: Dump, new: Dump, method: UpdateSettings, unchanged: bool, rows: int
) -> Iterator[pa.Table]:
    dumps = (old, new)
    kept_rows = [Lookup(dump.kept, ["row"]) for dump in dumps]
    statements = [Lookup(dump.filtered, REPEATED) for dump in dumps]
    first = np.zeros(2, np.int64)
    """Numbers of the first rows of the block."""

    def read(which: int, lines: Lines) -> pa.Table:
        numbers = kept_rows[which].take(first[which] + lines)["row"].to_numpy()
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
        yield _table(block[0], block[1], *pairs, first)
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
    cells = [cell(table["subject"].to_numpy(), table["property"].to_numpy()) for table in (before, after)]
    order = np.argsort(np.concatenate([cells[0], cells[1][come]]), kind="stable")
    here = np.concatenate([np.arange(before.num_rows), np.full(len(come), -1)])[order]
    there = np.concatenate([partner, come])[order]
    no_old, no_new = here < 0, there < 0

    def value(name: str) -> NDArray[np.generic]:
        values = np.empty(len(here), before[name].type.to_pandas_dtype())
        values[~no_new] = after[name].to_numpy()[there[~no_new]]
        values[no_new] = before[name].to_numpy()[here[no_new]]
        return values

    changes = pa.array(CHANGES).take(pa.array(np.where(no_new, 0, np.where(no_old, 2, 1))))
    sides = (here, first[0], no_old), (there, first[1], no_new)
    rows = [pa.array((lines + start).astype(np.int32), mask=missing) for lines, start, missing in sides]
    return pa.table([value("subject"), value("property"), changes, *rows, value("dated")], schema=TRIPLES)


def new_entities(
    statements: Path, triples: Path, old_entities: Path, method: UpdateSettings, output: Path
) -> int:
    """Writes one bucket's entities that came into being after T_old: id, property, created.

    `created` is the earliest date that makes an entity new.

    `statements` are all of the new snapshot's bucket, `triples` its difference, `old_entities` the old
    snapshot's bucket: in `revised` an entity that already had a line there is not new, and a date coarser
    than a year makes none new; but a publication in the 1970s still shows that one of 2021 is a reissue. In
    `reference` the first property that has a date which can be read decides; one with unknown values only is
    skipped. Returns their number.
    """
    publication = number(method.publication_property)
    if method.variant == "reference":
        # The first of the eight in dump order decides alone, by its first date that parses.
        decides = f"""
            SELECT subject, property, position, day FROM dates
            QUALIFY property = first(property) OVER (PARTITION BY subject ORDER BY position)
                AND 1 = row_number() OVER (
                    PARTITION BY subject, property
                    ORDER BY CASE WHEN property = {publication} THEN day END, position
                )"""
    else:
        precise = f"precision >= {YEAR}" if method.variant == "revised" else "true"
        decides = f"""
            SELECT subject, property, position, day FROM (
                SELECT *, min(last) FILTER (NOT {precise}) OVER (PARTITION BY subject, property) AS coarse
                FROM dates
            ) WHERE {precise}
            QUALIFY property <> {publication} OR (
                1 = row_number() OVER (PARTITION BY subject, property ORDER BY day, position)
                AND coalesce(coarse >= day, true)
            )"""
    known = f"SELECT id FROM read_parquet({sql(old_entities)})" if method.variant == "revised" else "SELECT 0"
    with database() as db:
        return write_query(
            db,
            f"""WITH dates AS (
                SELECT subject, property, position, {low("time", method)} AS day,
                    {high("time", method)} AS last, time.precision AS precision
                FROM read_parquet({sql(statements)})
                WHERE list_contains({sql(numbers(method.creation_properties))}, property)
                    AND rank <> 'deprecated' AND snak = 'value' AND time IS NOT NULL
            ), decides AS ({decides})
            SELECT subject AS id, arg_min(property, (day, position)) AS property, min(day) AS created
            FROM decides WHERE day > {method.t_old}
                AND subject NOT IN ({known})
                AND subject NOT IN (
                    SELECT subject FROM read_parquet({sql(triples)}) WHERE change <> 'F+')
            GROUP BY subject ORDER BY subject""",
            output,
        )
