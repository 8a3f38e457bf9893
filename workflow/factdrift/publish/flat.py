"""The updates as a flat table, Parquet and CSV: no lists, no structs, for tools that read neither."""

from pathlib import Path

import pyarrow as pa
import pyarrow.csv

from factdrift.core.columns import schema_of
from factdrift.core.owned import atomic_path
from factdrift.core.tables import database, sql, write_parquet
from factdrift.core.text import sheet_cell

SEPARATOR = " | "
"""Between the values of several objects in one cell."""

FLAT = schema_of(
    "subject_id subject relation_id relation old old_value old_start old_end new new_value: string",
    "new_start new_end static prompt answers: string, popularity: float64, scenario split: string",
)
"""One row per update (docs/tables/flat_updates.md)."""


def write_flat(dataset: Path, folder: Path) -> int:
    """Writes FOLDER/updates.parquet and updates.csv (UTF-8, comma, header); returns the number of rows.

    In the CSV file a text that a spreadsheet would take for a formula begins with an apostrophe
    (`sheet_cell`).
    """

    def of(objects: str, value: str) -> str:
        return f"cell(list_transform({objects}, lambda o: {value}))"

    began = "CASE WHEN o.start IS NULL THEN o.point_in_time ELSE o.start END"
    with database() as db:
        db.execute(
            f"""CREATE TEMP MACRO cell(items) AS CASE WHEN len(list_filter(items, lambda x: x <> '')) > 0
                THEN array_to_string(list_transform(items, lambda x: coalesce(x, '')), {sql(SEPARATOR)}) END;
            CREATE TEMP MACRO decided(objects, wanted) AS
                list_filter(objects, lambda o: o.decision = wanted)"""
        )
        rows = db.sql(
            f"""WITH groups AS (
                SELECT *, decided(objects, 'obsolete') AS gone, decided(objects, 'new') AS come,
                    list_filter(objects, lambda o: o.decision <> 'obsolete') AS held
                FROM read_parquet({sql(dataset)}))
            SELECT subject.id AS subject_id, subject.label AS subject, relation.id AS relation_id,
                relation.label AS relation,
                {of("gone", "o.label")} AS old, {of("gone", "o.raw")} AS old_value,
                {of("gone", began)} AS old_start, {of("gone", 'o."end"')} AS old_end,
                {of("come", "o.label")} AS new, {of("come", "o.raw")} AS new_value,
                {of("come", began)} AS new_start, {of("come", 'o."end"')} AS new_end,
                {of("decided(objects, 'static')", "o.label")} AS static,
                update_prompt AS prompt,
                cell(list_concat(list_transform(held, lambda o: o.label),
                    list_filter(list_transform(held, lambda o: o.short), lambda s: s IS NOT NULL)))
                    AS answers,
                subject_popularity AS popularity, scenario, split
            FROM groups"""
        )
        table = rows.to_arrow_table().cast(FLAT)
    count = write_parquet(table, folder / "updates.parquet")
    for index, field in enumerate(FLAT):
        if field.type == pa.string():
            texts = [None if text is None else sheet_cell(text) for text in table[index].to_pylist()]
            table = table.set_column(index, field, pa.array(texts, pa.string()))
    with atomic_path(folder / "updates.csv") as path:
        pyarrow.csv.write_csv(table, path)
    return count
