"""The filters of WikiFactDiff: each statement gets the name of the first filter that drops it.

Their order is that of `resources/filters.tsv`. Those of `_conditions` look at one statement, the last two at
what is left of its (subject, relation) group. What they need to know about classes, properties and other
items is written to two small tables first (`context`).
"""

import functools
import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection as Connection
from numpy.typing import NDArray

from factdrift.core.columns import schema_of
from factdrift.core.tables import database, growing, sql, write_query, write_tables
from factdrift.updates.blocks import DATES, KEPT, WRITER, in_blocks, packed, statement_ids
from factdrift.updates.matching import identities, repeated
from factdrift.updates.method import UpdateSettings, number, numbers
from factdrift.updates.readings import high, low
from factdrift.wikidata.filters import read_filters
from factdrift.wikidata.tables import STATEMENTS, TIME, with_subclasses
from factdrift.wikidata.values import text_of

FILTERED = schema_of(*STATEMENTS, "dropped_by: string")
"""One row a statement with `dropped_by`, the first filter that drops it, or null if none does."""

_SELDOM_TWICE = ("statement", "key", "json")
"""Columns of mostly distinct values, which are stored without a dictionary."""

_FOR_KEPT = [
    *("subject", "property", "position", "revision", "statement", "datatype", "key", "json"),
    *("start_unknown", "end_unknown", *DATES),
]

_SEVERAL = (("start", "starts", "arg_min"), ("end", "ends", "arg_max"), ("pit", "pits", "arg_max"))


class Items(NamedTuple):
    """The tables of a snapshot's items and of its classes."""

    entities: Sequence[Path]
    classes: Path


def context(
    own: Items,
    other: Items,
    properties: Path,
    constraints: Path,
    method: UpdateSettings,
    relevant: Path,
    relations: Path,
) -> None:
    """Writes two tables that the filters of one snapshot use besides the statements.

    `relevant` (id): the items that pass filter 3. `relations` (property, single_value, temporal_functional,
    latest_only, meta, restrictive): one row a property of this dump or of that whose constraints count: its
    own, in `reference` the new dump's. The tables of the other snapshot are read in `revised` only, where
    relevance in either dump is enough.
    """
    with database() as db:
        query = _relevant_items(own, method)
        if method.variant == "revised":
            either = f"{query} UNION {_relevant_items(other, method)}"
            query = f"SELECT id FROM read_parquet({sql(own.entities)}) SEMI JOIN ({either}) USING (id)"
        write_query(db, f"{query} ORDER BY id", relevant)
        write_query(db, _relations(own.classes, properties, constraints, method), relations)


def _relevant_items(items: Items, method: UpdateSettings) -> str:
    """SQL: the ids of items with an English article that are no Wikimedia pages.

    Only ids are kept in memory, of the pages' classes and of the result.
    """
    if method.variant == "reference":
        words = " OR ".join(f"contains(label, {sql(word)})" for word in method.page_class_words) or "false"
        pages = f"SELECT id FROM read_parquet({sql(items.classes)}) WHERE {words}"
    else:
        pages = with_subclasses([items.classes], numbers(method.page_classes))
    with_article = f"read_parquet({sql(items.entities)}) WHERE title IS NOT NULL"
    return f"""SELECT id FROM {with_article} AND id NOT IN (
            SELECT id FROM (SELECT id, unnest(classes) AS class FROM {with_article})
            WHERE class IN ({pages})
        )"""


def _relations(classes: Path, properties: Path, constraints: Path, method: UpdateSettings) -> str:
    """SQL of `relations`; the types of a property are its P31, then P279, `type_steps` steps in all."""
    dated = f"len(list_intersect(separators, {sql(_times(method))})) > 0"
    always = sql(numbers(method.always_restrictive_properties))
    if method.variant == "reference":
        functional, latest = "single_value", f"list_contains(separators, {number(method.point_in_time)})"
    else:
        functional = latest = f"single_value AND (len(separators) = 0 OR {dated})"

    def typed(class_: str) -> str:
        return f"property IN (SELECT property FROM types WHERE class = {number(class_)})"

    return f"""
        WITH RECURSIVE edges AS (
            SELECT id, unnest(superclasses) AS superclass FROM read_parquet({sql(classes)})
        ), steps AS (
            SELECT id AS property, unnest(classes) AS class, 1 AS step FROM read_parquet({sql(properties)})
            UNION SELECT property, superclass, step + 1 FROM steps JOIN edges ON edges.id = steps.class
            WHERE step < {method.type_steps}
        ), types AS MATERIALIZED (SELECT DISTINCT property, class FROM steps), known AS (
            SELECT id AS property, coalesce(single_value, false) AS single_value,
                coalesce({functional}, false) AS temporal_functional,
                coalesce(single_value AND {latest}, false) AS latest_only
            FROM read_parquet({sql(constraints)})
        ), every AS (
            SELECT property FROM known UNION SELECT property FROM types
            UNION SELECT unnest({always})
        )
        SELECT property, coalesce(single_value, false) AS single_value,
            coalesce(temporal_functional, false) AS temporal_functional,
            coalesce(latest_only, false) AS latest_only,
            {typed(method.meta_relation_class)} AS meta,
            list_contains({always}, property)
                OR ({typed(method.restrictive_class)} AND NOT {typed(method.non_restrictive_class)})
                OR {typed(method.always_restrictive_class)} AS restrictive
        FROM every LEFT JOIN known USING (property) ORDER BY property"""


class Known(NamedTuple):
    """The tables that `context` writes."""

    relevant: Path
    relations: Path


def preprocess(
    statements: Path, known: Known, day: int, method: UpdateSettings, output: Path, kept: Path
) -> int:
    """Writes one bucket's statements with `dropped_by`, null for what is kept; returns the number of rows.

    `day`: that of the dump, packed. Sorted by subject and position, as the statements are, which are filtered
    in blocks of subjects. Kept statements are also written to a table of their own (KEPT), for the comparison
    of the dumps.
    """
    relevant = pq.read_table(known.relevant)["id"].to_numpy()
    with database() as db, growing(kept, KEPT, **WRITER) as keep:
        db.execute(f"CREATE TEMP TABLE relations AS SELECT * FROM read_parquet({sql(known.relations)})")
        steps = (_single_filters(db, method), _keep_latest(day, method), _PREFERRED)

        def filtered() -> Iterator[pa.Table]:
            first = 0
            for table in in_blocks(statements, STATEMENTS.names):
                table = _chosen_dates(db, table, method)
                db.register("block", _block(table, relevant, method))
                for step in steps:
                    db.execute(step)
                dropped = db.sql("SELECT dropped_by FROM kept ORDER BY line").to_arrow_table()["dropped_by"]
                db.unregister("block")
                for batch in kept_rows(db, table, dropped.is_null(), first, method).to_batches():
                    keep(batch)
                first += table.num_rows
                yield pa.table([*table.columns, dropped], schema=FILTERED)

        return write_tables(db, filtered(), FILTERED, output, **writer(FILTERED))


def _chosen_dates(db: Connection, table: pa.Table, method: UpdateSettings) -> pa.Table:
    """The statements with `start`, `end` and `pit` chosen among `starts`, `ends` and `pits` where given.

    The earliest start, the latest end and point in time, by the first day that they may mean, then by the
    last. A snapshot does not know the variant, so its own choice is replaced.
    """
    for name, several, choose in _SEVERAL:
        rows = np.flatnonzero(table[several].is_valid().to_numpy())
        if not len(rows):
            continue
        db.register("several", pa.table({"line": rows, "dates": table[several].take(rows)}))
        dates = db.sql(
            f"""SELECT {choose}(date, ({low("date", method)}, {high("date", method)}, date)) AS date
            FROM (SELECT line, unnest(dates) AS date FROM several) GROUP BY line ORDER BY line"""
        ).to_arrow_table()["date"]
        db.unregister("several")
        source = np.arange(table.num_rows)
        source[rows] = table.num_rows + np.arange(len(rows))
        both = pa.chunked_array([*table[name].chunks, *dates.cast(TIME).chunks], TIME)
        index = table.schema.get_field_index(name)
        table = table.set_column(index, table.schema.field(name), both.take(pa.array(source)))
    return table


def writer(schema: pa.Schema) -> dict[str, Any]:
    """Parquet options of the table of all statements, where they differ from those of other tables."""
    empty = pa.BufferOutputStream()
    pq.write_table(schema.empty_table(), empty)
    leaves = pq.read_metadata(pa.BufferReader(empty.getvalue())).schema
    paths = [leaves.column(index).path for index in range(len(leaves))]
    return {"use_dictionary": [path for path in paths if path not in _SELDOM_TWICE]}


def kept_rows(
    db: Connection, table: pa.Table, kept: pa.ChunkedArray, first: int, method: UpdateSettings
) -> pa.Table:
    """KEPT for the `kept` rows of a block of whole subjects whose first row has the number `first`."""
    rows = np.flatnonzero(kept.to_numpy())
    table = table.select(_FOR_KEPT).filter(kept)
    identity = identities(db, table, method).to_numpy()
    stated = [table[name].is_valid() for name in ("start", "end", "pit")]
    stated += [pc.fill_null(table[name], False) for name in ("start_unknown", "end_unknown")]
    return pa.table(
        [
            pa.array((rows + first).astype(np.int32)),
            *(table[name] for name in ("subject", "property", "position")),
            pc.fill_null(table["revision"], 0),
            pa.array(identity),
            pa.array(repeated(table["subject"].to_numpy(), table["property"].to_numpy(), identity)),
            pa.array(statement_ids(table["statement"])),
            functools.reduce(pc.or_, stated),
            *(packed(table[name]) for name in DATES),
        ],
        schema=KEPT,
    )


def _block(table: pa.Table, known: NDArray[np.int32], method: UpdateSettings) -> pa.Table:
    """The columns that the filters use, the row number, whether no text names the value, and whether subject
    and object are relevant."""
    names = ["subject", "property", "position", "statement", "rank", "snak", "datatype", "object", "pit"]
    added = {
        "line": np.arange(table.num_rows),
        "unnamed": _unnamed(table, method),
        "subject_relevant": _among(known, table["subject"].to_numpy()),
        "object_relevant": _among(known, pc.fill_null(table["object"], 0).to_numpy()),
    }
    return pa.table({name: table[name] for name in (*names, "qualifiers")} | added)


def _unnamed(table: pa.Table, method: UpdateSettings) -> NDArray[np.bool_]:
    """[n] True for values of no known form that no text names: a sentence would show their JSON."""
    unread = pc.fill_null(pc.equal(table["key"], table["json"]), False)
    others = pc.invert(pc.is_in(table["datatype"], pa.array(method.dropped_datatypes, pa.string())))
    rows = np.flatnonzero(pc.and_(unread, others).to_numpy())
    unnamed = np.zeros(table.num_rows, bool)
    values = table["json"].take(pa.array(rows)).to_pylist()
    unnamed[rows] = [text_of(json.loads(value)) is None for value in values]
    return unnamed


def _among(known: NDArray[np.int32], ids: NDArray[np.int32]) -> NDArray[np.bool_]:
    """[n] True for ids that are among the ascending `known` (millions, so no set is built for each block)."""
    if not len(known):
        return np.zeros(len(ids), bool)
    is_known: NDArray[np.bool_] = known[np.minimum(np.searchsorted(known, ids), len(known) - 1)] == ids
    return is_known


def _single_filters(db: Connection, method: UpdateSettings) -> str:
    """SQL of the filters that look at one statement: TEMP TABLE single from the view `block`."""
    conditions = _conditions(db, method)
    names = [filter_.name for filter_ in read_filters() if filter_.name not in _OF_GROUPS]
    cases = "\n".join(f"WHEN {conditions[name]} THEN {sql(name)}" for name in names)
    return f"""CREATE OR REPLACE TEMP TABLE single AS
        SELECT line, subject, property, position, statement, rank, pit,
            coalesce(r.single_value, false) AS single_value,
            coalesce(r.latest_only, false) AS latest_only,
            CASE {cases} END AS dropped_by
        FROM block LEFT JOIN relations r USING (property)"""


_OF_GROUPS = ("keep_latest", "preferred")


def _conditions(db: Connection, method: UpdateSettings) -> dict[str, str]:
    """Filter -> SQL: whether it drops a statement, by the columns of `block` and of its relation `r`."""
    entity = "datatype IN ('wikibase-item', 'wikibase-property')"
    datatypes = ", ".join(sql(name) for name in method.dropped_datatypes)
    properties = db.sql("SELECT property FROM relations WHERE restrictive ORDER BY property").fetchall()
    restrictive = [property_ for (property_,) in properties if property_ not in _times(method)]
    return {
        "rank": "rank = 'deprecated'",
        "snak": "snak <> 'value'",
        "datatype": f"datatype IN ({datatypes}) OR unnamed",
        "subject": "NOT subject_relevant",
        "object": f"{sql(method.objects)} = 'relevant' AND {entity} AND NOT object_relevant",
        "meta_relation": "coalesce(r.meta, false)",
        "restrictive_qualifier": f"len(list_intersect(qualifiers, {sql(restrictive)})) > 0",
    }


def _times(method: UpdateSettings) -> tuple[int, ...]:
    return numbers((method.start, method.end, method.point_in_time))


def _keep_latest(cap: int, method: UpdateSettings) -> str:
    """SQL of filter 7: of a dated group of a temporal functional relation one statement is kept, or none.

    TEMP TABLE late (line) of the dropped ones. The kept statement has `choice` 1. `paper`: if some statements
    lack a date, the only preferred one is kept. A date after the dump's day (`cap`) cannot win in `paper`;
    `reference` has no such limit.
    """
    candidate, preferred_wins = "day_low IS NOT NULL", "false"
    if method.variant != "reference":
        candidate += f" AND day_low <= {cap}"
        preferred_wins = "dated < alive AND preferred = 1"
    return f"""CREATE OR REPLACE TEMP TABLE late AS
        WITH days AS (
            SELECT *, {low("pit", method)} AS day_low, {high("pit", method)} AS day_high FROM single
            WHERE dropped_by IS NULL AND latest_only
        ), counted AS (
            SELECT *, count(*) OVER grp AS alive,
                count(*) FILTER (day_low IS NOT NULL) OVER grp AS dated,
                count(*) FILTER (rank = 'preferred') OVER grp AS preferred,
                row_number() OVER (
                    PARTITION BY subject, property
                    ORDER BY coalesce({candidate}, false) DESC, day_low DESC, day_high DESC,
                        rank = 'preferred' DESC, upper(statement), position
                ) AS choice,
                coalesce({candidate}, false) AS candidate
            FROM days WINDOW grp AS (PARTITION BY subject, property)
        )
        SELECT line FROM counted
        WHERE dated > 0
            AND CASE WHEN {preferred_wins} THEN rank <> 'preferred' ELSE NOT (candidate AND choice = 1) END"""


_PREFERRED = """CREATE OR REPLACE TEMP TABLE kept AS
    WITH counted AS (
        SELECT line, rank, count(*) OVER grp AS left_over,
            count(*) FILTER (rank = 'preferred') OVER grp AS preferred
        FROM single WHERE dropped_by IS NULL AND single_value AND line NOT IN (SELECT line FROM late)
        WINDOW grp AS (PARTITION BY subject, property)
    )
    SELECT line, coalesce(dropped_by, CASE
        WHEN line IN (SELECT line FROM late) THEN 'keep_latest'
        WHEN line IN (
            SELECT line FROM counted WHERE left_over > 1 AND preferred = 1 AND rank <> 'preferred'
        ) THEN 'preferred' END) AS dropped_by
    FROM single"""
"""SQL of filter 8: of several statements of a single-value relation the only preferred one is kept."""


def report(old: Sequence[Path], new: Sequence[Path], output: Path) -> int:
    """Writes the number of statements that each filter dropped, by dump and property."""
    with database() as db:
        parts = " UNION ALL ".join(
            f"SELECT '{dump}' AS dump, property, coalesce(dropped_by, 'kept') AS filter "
            f"FROM read_parquet({sql(paths)})"
            for dump, paths in (("old", old), ("new", new))
        )
        return write_query(
            db,
            f"""SELECT dump, property, filter, count(*) AS statements FROM ({parts})
            GROUP BY ALL ORDER BY dump DESC, property, filter""",
            output,
        )
