"""results/known.parquet: the timelines of all buckets with labels, and how late dumps were, by relation."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from factdrift.core.columns import schema_of
from factdrift.core.files import write_text
from factdrift.core.screen import grid
from factdrift.core.tables import database, sql, write_query
from factdrift.streams.known import KNOWN
from factdrift.streams.subjects import open_names

KNOWN_LABELLED = schema_of("subject_label relation_label value_label: string, stale_after_1y: double", *KNOWN)
"""KNOWN with labels, of the newest dump that has them, and a prior (docs/tables/known.md)."""


class Names(NamedTuple):
    """The items of all dumps, the newest last, the properties of the last one, and the user's labels."""

    entities: Sequence[Path]
    properties: Path
    labels: Sequence[Path]


def write_known_table(
    known: Sequence[Path], names: Names, half_life: Path, output: Path, report: Path
) -> int:
    """Writes KNOWN_LABELLED in the order of subject and property, and the report; returns how many rows."""
    with database(3000) as db:
        open_names(db, names.entities, names.labels)
        db.execute(
            f"""CREATE TEMP VIEW known AS SELECT * FROM read_parquet({sql(list(known))});
            CREATE TEMP TABLE relations AS
            SELECT property, coalesce(p.label, s.label, 'P' || property) AS relation
            FROM (SELECT DISTINCT property FROM known)
            LEFT JOIN read_parquet({sql(names.properties)}) p ON p.id = property
            LEFT JOIN supplied s ON s.id = -property;
            CREATE TEMP TABLE names AS SELECT id, max_by(label, dump) AS label FROM named
            WHERE id IN (SELECT subject FROM known UNION SELECT value FROM known) GROUP BY id"""
        )
        number = write_query(
            db,
            f"""SELECT s.label AS subject_label, relations.relation AS relation_label, v.label AS value_label,
                stale_after_1y, known.*
            FROM known LEFT JOIN names s ON s.id = subject LEFT JOIN names v ON v.id = value
            LEFT JOIN read_parquet({sql(half_life)}) h ON h.relation = 'P' || property
            LEFT JOIN relations USING (property)
            ORDER BY {", ".join(f"known.{name}" for name in KNOWN.names)}""",
            output,
        )
        rows = db.sql(
            """WITH changes AS (
                SELECT *, date_diff('day', strptime(start_last::VARCHAR, '%Y%m%d')::DATE,
                    first_known::DATE) AS days
                FROM known WHERE first_known IS NOT NULL AND start_last % 10000 > 100
                    AND start_last > (SELECT min(replace(known_from, '-', '')::BIGINT) FROM known)
            ) SELECT 'P' || property || ' ' || any_value(relation), count(*), count(*) FILTER (late),
                round(100 * avg(late::INTEGER), 1), median(days), max(days)
            FROM changes LEFT JOIN relations USING (property)
            GROUP BY property ORDER BY 2 DESC, property"""
        ).fetchall()
    header = ("relation", "changes", "late", "% late", "days: median", "most")
    cells = [(name, *(f"{value:,g}" for value in values)) for name, *values in rows]
    title = "How late the dumps were: from a change to the first dump that has it, by relation"
    late = "late: a dump after the change still proves another value, which the last dump excludes"
    write_text("\n".join([title, "", *grid(header, cells), "", late, ""]), report)
    return number
