"""templates.parquet: sentences with blanks for every relation of a build.

A relation's templates come from a chat model's sentences or a published file (`candidates`), else from the
project's own table, else they are generic ones with the relation's label. Each is marked with its source.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from factdrift.core.columns import schema_of
from factdrift.core.tables import database, sql, write_parquet
from factdrift.wikidata.ids import property_id
from factdrift.wikidata.tables import supplied_labels
from factdrift.words.templates import Templates, has_blank

TEMPLATES = schema_of(
    "property rank: int32, template: string, count: int64, source: string, examples: [string]"
)
"""One row a template of a relation; rank 1 is the update sentence (docs/tables/templates.md)."""


class Inputs(NamedTuple):
    """Updates and neighbour tables, the properties of the new and the old dump, labels of what they lack, and
    candidates (`factdrift.verbalize.candidates`)."""

    updates: Sequence[Path]
    neighbors: Sequence[Path]
    properties: Sequence[Path]
    labels: Sequence[Path]
    candidates: Sequence[Path]


def write_templates(inputs: Inputs, own: Templates | None, source: str, most: int, output: Path) -> int:
    """Writes TEMPLATES for the relations of the updates and neighbour tables; returns the number of rows.

    Of each relation the `most` best: those of the candidates, whose source is named `source`, where there are
    any, else its `own` ones. A generic template names its relation by the first label without a blank in the
    tables of properties and labels, else by its id.
    """
    with database() as db:
        query = f"SELECT property FROM read_parquet({sql(inputs.updates)})"
        if inputs.neighbors:
            # The neighbours' own `property` is that of the updated group.
            query += f" UNION ALL SELECT relation FROM read_parquet({sql(inputs.neighbors)})"
        relations = db.sql(f"SELECT DISTINCT property FROM ({query}) ORDER BY property").fetchall()
        query = "SELECT id, label FROM read_parquet({}) WHERE label IS NOT NULL"
        named = [row for table in inputs.properties for row in db.sql(query.format(sql(table))).fetchall()]
        rows = []
        if inputs.candidates:
            best = db.sql(
                f"""SELECT property, rank, template, count, {sql(source)} AS source, examples
                FROM read_parquet({sql(inputs.candidates)}) WHERE rank <= {most} ORDER BY rank"""
            )
            rows = best.to_arrow_table().to_pylist()
    named += [(-row["id"], row["label"]) for row in supplied_labels(inputs.labels).to_pylist()]
    labels = {number: label for number, label in reversed(named) if not has_blank(label)}
    templates: dict[int, list[dict[str, Any]]] = {}
    for row in rows:
        templates.setdefault(row["property"], []).append(row)
    ordered = []
    for (number,) in relations:
        if own is not None and number not in templates:
            sentences, written = own.of(number, labels.get(number, property_id(number)))
            templates[number] = [
                {"property": number, "rank": rank, "template": sentence, "source": written, "examples": []}
                for rank, sentence in enumerate(sentences[:most], start=1)
            ]
        ordered += templates.get(number, [])
    return write_parquet(pa.Table.from_pylist(ordered, schema=TEMPLATES), output)
