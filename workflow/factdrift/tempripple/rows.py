"""The statements and classes of a snapshot that TempRIPPLE needs, bucket by bucket.

A full snapshot is read once; all later questions are answered from these smaller tables.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from factdrift.core.tables import database, only_file, sql, write_parquet
from factdrift.tempripple.sources import CLASSES, INSTANCE, STATEMENTS, SUBCLASS

ROWS = pa.schema(
    [*(field for field in STATEMENTS if field.name != "restricted"), ("qualifiers", pa.list_(pa.int32()))]
)
"""STATEMENTS, with the properties of all qualifiers. Order: subject, property, statement."""

EDGES = pa.schema([("id", pa.int32()), ("property", pa.int32()), CLASSES.field("class")])
"""CLASSES by P31 and P279. Order: id, property, class."""

_MACROS = """
    CREATE TEMP MACRO month_length(y, m) AS CASE
        WHEN m IN (4, 6, 9, 11) THEN 30
        WHEN m != 2 THEN 31
        -- The year before 1 is -1: leap years before Christ are those one above.
        WHEN (y + (y < 0)::INT) % 4 = 0 AND ((y + (y < 0)::INT) % 100 != 0 OR (y + (y < 0)::INT) % 400 = 0)
        THEN 29 ELSE 28 END;
    CREATE TEMP MACRO rdf_month(t) AS least(greatest(t.month::BIGINT, 1), 12);
    -- The day of a TIME as Wikibase's RDF export writes it, packed; null where it writes none.
    CREATE TEMP MACRO rdf_day(t) AS CASE
        WHEN t.year = 0 THEN NULL
        WHEN t.precision <= 9 THEN t.year * 10000 + 101
        WHEN t.precision = 10 THEN t.year * 10000 + rdf_month(t) * 100 + 1
        WHEN t.julian THEN t.written
        ELSE t.year * 10000 + rdf_month(t) * 100
            + least(greatest(t.day::BIGINT, 1), month_length(t.year, rdf_month(t))) END;
    CREATE TEMP MACRO rdf_dates(times) AS list_sort(list_distinct(list_transform(
        list_filter(times, lambda t: rdf_day(t) IS NOT NULL),
        lambda t: {'day': rdf_day(t), 'precision': t.precision})));
"""


def create_macros(db: duckdb.DuckDBPyConnection) -> None:
    """Defines `rdf_day(TIME)`, as in the RDF export, and `rdf_dates(TIME[])`: DATEs, sorted and distinct."""
    db.execute(_MACROS)


def make_rows(
    statements: Path,
    entities: Path,
    properties: Iterable[int],
    out_rows: Path,
    out_classes: Path,
    memory_mb: int = 2000,
) -> int:
    """Writes ROWS of these properties and EDGES of one bucket; returns the number of rows.

    Classes are those of best rank for items that the snapshot holds whole, and all listed ones for others.
    """
    with database(memory_mb) as db:
        create_macros(db)
        db.read_parquet(only_file(statements)).create_view("statements")
        db.read_parquet(only_file(entities)).create_view("entities")
        write_parquet(db.sql(_EDGES).to_arrow_reader().cast(EDGES), out_classes)
        rows = db.sql(_rows(sorted(set(properties)))).to_arrow_reader().cast(ROWS)
        return write_parquet(rows, out_rows)


def _rows(properties: Sequence[int]) -> str:
    return f"""
        WITH dated AS (
            SELECT * EXCLUDE (starts, ends), rdf_day(time) AS day,
                rdf_dates(coalesce(starts, [start])) AS starts, rdf_dates(coalesce(ends, ["end"])) AS ends
            FROM statements
            WHERE rank != 'deprecated' AND list_contains({sql(properties)}, property)
        ), read AS (
            SELECT *, CASE
                WHEN snak != 'value' THEN NULL
                WHEN object > 0 THEN 'item'
                WHEN day IS NOT NULL THEN 'date'
                WHEN json IS NULL OR datatype = 'time' THEN NULL
                WHEN json_type(json) = 'VARCHAR' THEN 'text'
                WHEN json_type(json, '$.text') = 'VARCHAR' THEN 'language' END AS kind
            FROM dated
        )
        SELECT subject, property, coalesce(statement, 'Q' || subject || '$' || position) AS statement,
            rank = 'preferred' AS preferred,
            CASE WHEN snak = 'value' AND kind IS NULL THEN 'somevalue' ELSE snak END AS snak,
            CASE WHEN kind = 'item' THEN object END AS object,
            CASE kind WHEN 'text' THEN json ->> '$' WHEN 'language' THEN json ->> '$.text' END AS text,
            CASE kind WHEN 'language' THEN json ->> '$.language' END AS language,
            CASE WHEN kind = 'date' THEN day END AS day,
            CASE WHEN kind = 'date' THEN time.precision END AS precision,
            CASE WHEN kind = 'date' THEN time.julian END AS julian,
            starts, ends,
            len(ends) = 0 AND (end_unknown OR "end" IS NOT NULL) AS end_unknown,
            qualifiers
        FROM read
        ORDER BY subject, property, statement
        """


_EDGES = f"""
    WITH stated AS (
        SELECT subject AS id, property, object AS class, snak = 'value' AND object > 0 AS is_item,
            rank = 'preferred' AS preferred,
            bool_or(rank = 'preferred') OVER (PARTITION BY subject, property) AS any_preferred
        FROM statements
        WHERE property IN ({INSTANCE}, {SUBCLASS}) AND rank != 'deprecated'
    ), listed AS (
        SELECT id, {INSTANCE} AS property, unnest(classes) AS class FROM entities WHERE NOT whole
        UNION ALL
        SELECT id, {SUBCLASS}, unnest(superclasses) FROM entities WHERE NOT whole
    )
    SELECT DISTINCT id, property, class FROM (
        SELECT id, property, class FROM stated WHERE is_item AND (preferred OR NOT any_preferred)
        UNION ALL FROM listed
    )
    ORDER BY id, property, class
    """
