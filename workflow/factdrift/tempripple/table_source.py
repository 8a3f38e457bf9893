"""The source over tables: the rows of a snapshot that TempRIPPLE needs, and DuckDB that scans them.

A full snapshot is read once, bucket by bucket; each question is answered by one scan of these smaller tables.
"""

from collections.abc import Iterable, Sequence
from pathlib import Path

import pyarrow as pa
from duckdb import DuckDBPyConnection as Connection

from factdrift.core.columns import schema_of
from factdrift.core.tables import database, only_file, sql, write_parquet
from factdrift.tempripple.sources import (
    CANDIDATES,
    CLASSES,
    DECLARATIONS,
    INSTANCE,
    STATEMENTS,
    SUBCLASS,
    TERMS,
    Ids,
)

ROWS = schema_of(*(field for field in STATEMENTS if field.name != "restricted"), "qualifiers: [int32]")
"""STATEMENTS, with the properties of all qualifiers. Order: subject, property, statement."""

EDGES = schema_of("id property: int32", CLASSES.field("class"))
"""CLASSES by P31 and P279. Order: id, property, class."""

DATE_MACROS = """
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
"""SQL: `rdf_day(TIME)`, as in the RDF export, and `rdf_dates(TIME[])`: DATEs, sorted and distinct."""


def make_rows(
    statements: Path, entities: Path, properties: Iterable[int], out_rows: Path, out_classes: Path
) -> int:
    """Writes ROWS of these properties and EDGES of one bucket; returns the number of rows.

    Classes are those of best rank for items that the snapshot holds whole, and all listed ones for others.
    """
    with database(2000) as db:
        db.execute(DATE_MACROS)
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


class TableSource:
    """A source over what `make_rows` wrote and the snapshot's items and properties."""

    def __init__(
        self,
        db: Connection,
        rows: Sequence[Path],
        classes: Sequence[Path],
        entities: Sequence[Path],
        properties: Path,
    ) -> None:
        self._db = db
        tables = {"rows": rows, "edges": classes, "items": entities, "properties": [properties]}
        for name, paths in tables.items():
            db.read_parquet([only_file(path) for path in paths]).create_view(f"source_{name}")

    def candidates(self, properties: Ids, first: int, until: int) -> pa.Table:
        inside = f"d.day >= {first} AND d.day < {until}"
        return self._answer(
            f"""SELECT property, subject, statement FROM source_rows
            WHERE property IN (SELECT unnest({sql(properties.tolist())}))
            AND len(list_filter(list_concat(starts, ends), lambda d: {inside})) > 0
            ORDER BY property, subject, statement""",
            CANDIDATES,
        )

    def statements(self, subjects: Ids, properties: Ids, restrictive: Ids) -> pa.Table:
        return self._answer(
            f"""SELECT * EXCLUDE (qualifiers),
                list_has_any(qualifiers, {sql(restrictive.tolist())}) AS restricted
            FROM source_rows SEMI JOIN asked ON asked.id = subject
            WHERE property IN (SELECT unnest({sql(properties.tolist())}))
            ORDER BY subject, property, statement""",
            STATEMENTS,
            subjects,
        )

    def terms(self, items: Ids) -> pa.Table:
        return self._answer(
            """SELECT id, label, list_sort(list_distinct(coalesce(aliases, []))) AS aliases
            FROM source_items SEMI JOIN asked USING (id) WHERE label IS NOT NULL ORDER BY id""",
            TERMS,
            items,
        )

    def declarations(self, properties: Ids) -> pa.Table:
        query = "SELECT id, label, datatype FROM source_properties SEMI JOIN asked USING (id) ORDER BY id"
        return self._answer(query, DECLARATIONS, properties)

    def classes(self, items: Ids, relation: int) -> pa.Table:
        return self._answer(
            f"""SELECT id, class FROM source_edges SEMI JOIN asked USING (id)
            WHERE property = {relation} ORDER BY id, class""",
            CLASSES,
            items,
        )

    def _answer(self, query: str, schema: pa.Schema, asked: Ids | None = None) -> pa.Table:
        """The rows of a query, which may join a table `asked` of the ids."""
        if asked is not None:
            if not len(asked):
                return schema.empty_table()
            self._db.register("asked", pa.table({"id": asked}))
        return self._db.sql(query).to_arrow_table().cast(schema)
