"""The source over tables: DuckDB answers each question by one scan."""

from collections.abc import Sequence
from pathlib import Path

import duckdb
import pyarrow as pa

from factdrift.core.tables import only_file, sql
from factdrift.tempripple.sources import CANDIDATES, CLASSES, DECLARATIONS, STATEMENTS, TERMS, Ids


class TableSource:
    """A source over what `make_rows` wrote and the snapshot's items and properties."""

    def __init__(
        self,
        db: duckdb.DuckDBPyConnection,
        rows: Sequence[Path],
        classes: Sequence[Path],
        entities: Sequence[Path],
        properties: Path,
    ) -> None:
        self._db = db
        for name, paths in (
            ("rows", rows),
            ("edges", classes),
            ("items", entities),
            ("properties", [properties]),
        ):
            db.read_parquet([only_file(path) for path in paths]).create_view(f"source_{name}")

    def candidates(self, properties: Ids, first: int, until: int) -> pa.Table:
        inside = f"d.day >= {first} AND d.day < {until}"
        return self._answer(
            f"""SELECT property, subject, statement FROM source_rows
            WHERE {_among("property", properties)}
            AND len(list_filter(list_concat(starts, ends), lambda d: {inside})) > 0
            ORDER BY property, subject, statement""",
            CANDIDATES,
        )

    def statements(self, subjects: Ids, properties: Ids, restrictive: Ids) -> pa.Table:
        return self._answer(
            f"""SELECT * EXCLUDE (qualifiers),
                list_has_any(qualifiers, {sql(restrictive.tolist())}) AS restricted
            FROM source_rows SEMI JOIN asked ON asked.id = subject
            WHERE {_among("property", properties)}
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
        return self._answer(
            "SELECT id, label, datatype FROM source_properties SEMI JOIN asked USING (id) ORDER BY id",
            DECLARATIONS,
            properties,
        )

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


def _among(column: str, numbers: Ids) -> str:
    return f"{column} IN ({', '.join(map(str, numbers))})" if len(numbers) else "false"
