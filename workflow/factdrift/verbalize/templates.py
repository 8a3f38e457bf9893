"""templates.parquet: sentences with blanks for every relation of a build.

A relation's templates come from a chat model's sentences or a published file (`candidates`), else from the
project's own table, else they are generic ones with the relation's label. Each is marked with its source.
"""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa

from factdrift.core.columns import schema_of
from factdrift.core.errors import InputError
from factdrift.core.tables import database, rows_of, sql, write_parquet
from factdrift.wikidata.ids import property_id, property_number
from factdrift.wikidata.tables import supplied_labels
from factdrift.words.templates import RELATION, has_blank, problem

TEMPLATES = schema_of(
    "property rank: int32, template: string, count: int64, source: string, examples: [string]"
)
"""One row a template of a relation; rank 1 is the update sentence (docs/tables/templates.md)."""

_GENERIC = "*"


class Templates(NamedTuple):
    """The templates of a file: by property its label and its templates in order, and the generic ones."""

    labels: Mapping[int, str]
    bundled: Mapping[int, Sequence[str]]
    generic: Sequence[str]

    def of(self, number: int, label: str) -> tuple[Sequence[str], str]:
        """The templates of a property and their source; generic ones contain `label`."""
        if number in self.bundled:
            return self.bundled[number], "bundled"
        return [template.replace(RELATION, label) for template in self.generic], "generic"


def read_templates(path: Path) -> Templates:
    """Reads a table `property label template`, the generic ones under the property `*`.

    Raises InputError, with the line, for a template of the wrong form, a repeated one or two labels of one
    property, and for a file without generic templates.
    """
    labels: dict[int, str] = {}
    bundled: dict[int, list[str]] = {}
    generic: list[str] = []
    for line, (identifier, label, template) in rows_of(path, ("property", "label", "template")):
        where = f"{path}, line {line}"
        if wrong := problem(template, generic=identifier == _GENERIC):
            raise InputError(f"{where}: the template {template!r} cannot be used: {wrong}")
        known = generic
        if identifier != _GENERIC:
            try:
                number = property_number(identifier)
            except ValueError as error:
                raise InputError(f"{where}: {error}; correct it, or write * for a generic template") from None
            if labels.setdefault(number, label) != label:
                raise InputError(f"{where}: {identifier} is called {labels[number]!r} above; use one label")
            known = bundled.setdefault(number, [])
        if template in known:
            raise InputError(f"{where}: {identifier} has this template already; remove one of the two")
        known.append(template)
    if not generic:
        raise InputError(f"{path}: no generic template; add rows with the property * and {RELATION} in them")
    return Templates(labels, bundled, generic)


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
        named = []
        for table in inputs.properties:
            query = f"SELECT id, label FROM read_parquet({sql(table)}) WHERE label IS NOT NULL"
            named += db.sql(query).fetchall()
        rows = []
        if inputs.candidates:
            best = db.sql(
                f"""SELECT property, rank, template, count, {sql(source)} AS source, examples
                FROM read_parquet({sql(inputs.candidates)}) WHERE rank <= {most} ORDER BY property, rank"""
            )
            rows = best.to_arrow_table().to_pylist()
    named += [(-row["id"], row["label"]) for row in supplied_labels(inputs.labels).to_pylist()]
    labels: dict[int, str] = {}
    for number, label in named:
        if not has_blank(label):
            labels.setdefault(number, label)
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
