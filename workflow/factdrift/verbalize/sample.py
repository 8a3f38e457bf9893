"""Draws the triples of the old dump about which sentences are asked, and writes the requests about them."""

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import pyarrow as pa
import pyarrow.parquet as pq
from duckdb import DuckDBPyConnection as Connection

from factdrift.chat.requests import REQUESTS, build_body
from factdrift.chat.settings import Form
from factdrift.core.columns import schema_of
from factdrift.core.tables import sql, table_of, write_parquet
from factdrift.core.text import printable
from factdrift.verbalize.language import Texts, read_language
from factdrift.verbalize.literals import units_of
from factdrift.wikidata.ids import entity_id, property_id
from factdrift.wikidata.tables import supplied_labels
from factdrift.wikidata.values import read_value
from factdrift.words.literals import shown

ENGLISH = "en"
"""The language of the snapshots' own labels."""

SAMPLE = schema_of(
    "request language: string, property: int32, relation_label relation_description: string",
    "subject: int32, subject_label subject_description: string, subject_types: [string]",
    "statement datatype: string, object: int32, object_label object_description: string",
    "object_types: [string], example_subject example_object: string",
)
"""One row a triple, by language, property and the order of the draw (docs/tables/sampled_triples.md)."""

_EXAMPLES = schema_of("property place subject object: int32, datatype json: string")

ANSWER = {
    "type": "object",
    "properties": {"sentences": {"type": "array", "items": {"type": "string"}}},
    "required": ["sentences"],
    "additionalProperties": False,
}
"""The JSON schema of an answer, limited to what all servers support; the prompt says how many sentences."""

_SLOT = re.compile(r"\{(\w+)\}")


class Inputs(NamedTuple):
    """The filtered statements, items, properties, classes and popularity of the old dump, labels of items in
    other languages, and of what the dump does not name."""

    filtered: Sequence[Path]
    entities: Sequence[Path]
    properties: Path
    classes: Path
    popularity: Path
    translations: Sequence[Path]
    labels: Sequence[Path]


def draw(
    db: Connection,
    inputs: Inputs,
    languages: Sequence[str],
    entities: int,
    triples: int,
    seed: int,
    output: Path,
) -> int:
    """Writes SAMPLE: one triple of each (subject, relation), at most `triples` of each relation.

    Subjects are the `entities` most popular ones, in a random order that depends only on `seed` and their
    ids, as does the choice among a subject's values. Triples whose subject or object has no label in the
    language are skipped. Dates and quantities can be written in English only. Returns the number of rows.
    """
    db.execute(
        f"""CREATE TEMP TABLE popular AS
        SELECT id, sha256(concat_ws(':', 'sample', {seed}, id)) AS place FROM (
            SELECT id FROM read_parquet({sql(inputs.popularity)})
            SEMI JOIN (
                SELECT DISTINCT subject AS id FROM read_parquet({sql(inputs.filtered)})
                WHERE dropped_by IS NULL
            ) USING (id)
            ORDER BY popularity DESC, id LIMIT {entities}
        )"""
    )
    db.execute(
        f"""CREATE TEMP TABLE facts AS
        SELECT subject, property, place, statement, datatype, object, key, json,
            sha256(concat_ws(':', 'value', {seed}, subject, property, statement, key)) AS lot
        FROM read_parquet({sql(inputs.filtered)}) f JOIN popular p ON p.id = f.subject
        WHERE dropped_by IS NULL AND (object IS NOT NULL OR json IS NOT NULL)"""
    )
    db.register("examples", _examples(db, inputs.properties))
    rows: list[dict[str, Any]] = []
    for language in sorted(languages):
        _name(db, inputs, language)
        rows += _drawn(db, inputs, language, triples)
    return write_parquet(pa.Table.from_pylist(rows, schema=SAMPLE), output)


def _examples(db: Connection, properties: Path) -> pa.Table:
    """The properties' examples (P1855) with a value: an entity, or a literal with its datatype and JSON."""
    rows = []
    query = f"SELECT id, unnest(examples, recursive := true) FROM read_parquet({sql(properties)})"
    for index, (number, subject, value) in enumerate(db.sql(query).fetchall()):
        snak = json.loads(value)
        if datavalue := snak.get("datavalue"):
            read = read_value(datavalue["type"], datavalue["value"])
            # Old dumps omit the datatype; where it matters, the type of the value has the same name.
            datatype = str(snak.get("datatype") or datavalue["type"])
            rows.append((number, index, subject, read.object, datatype, read.json))
    return table_of(rows, _EXAMPLES)


def _name(db: Connection, inputs: Inputs, language: str) -> None:
    """TEMP TABLE names (id, label, description) in a language; properties negative."""
    query = "SELECT id, label, description FROM read_parquet({}) WHERE label IS NOT NULL"
    if language == ENGLISH:
        db.register("given", supplied_labels(inputs.labels))
        of_properties = query.replace("id,", "-id,", 1).format(sql(inputs.properties))
        tables = [query.format(sql(inputs.entities)), of_properties]
        supplied = "UNION ALL SELECT id, label, NULL FROM given ANTI JOIN found USING (id)"
    else:
        tables = [f"{query.format(sql(inputs.translations))} AND language = {sql(language)}"]
        supplied = ""
    db.execute(
        f"""CREATE OR REPLACE TEMP TABLE names AS
        -- Only entities of facts and examples: the labels of all items would not fit into memory.
        WITH wanted AS (
            SELECT id FROM popular UNION SELECT object FROM facts UNION SELECT -property FROM facts
            UNION SELECT subject FROM examples UNION SELECT object FROM examples
        ), found AS (SELECT * FROM ({" UNION ALL ".join(tables)}) SEMI JOIN wanted USING (id))
        SELECT * FROM found {supplied}"""
    )


def _drawn(db: Connection, inputs: Inputs, language: str, most: int) -> list[dict[str, Any]]:
    wordless = "('time', 'quantity')" if language != ENGLISH else "('')"
    db.execute(
        f"""CREATE OR REPLACE TEMP TABLE drawn AS
        SELECT * FROM (
            SELECT f.*, r.label AS relation_label, r.description AS relation_description,
                s.label AS subject_label, s.description AS subject_description,
                o.label AS object_label, o.description AS object_description
            FROM facts f
            JOIN names r ON r.id = -f.property JOIN names s ON s.id = f.subject
            LEFT JOIN names o ON o.id = f.object
            WHERE CASE WHEN f.object IS NULL THEN f.datatype NOT IN {wordless} ELSE o.label IS NOT NULL END
            QUALIFY row_number() OVER (PARTITION BY f.property, f.subject ORDER BY lot, statement, key) = 1
        ) QUALIFY row_number() OVER (PARTITION BY property ORDER BY place, subject) <= {most}"""
    )
    db.execute(
        """CREATE OR REPLACE TEMP TABLE literals AS
        SELECT datatype, json FROM drawn WHERE object IS NULL
        UNION ALL SELECT datatype, json FROM examples WHERE json IS NOT NULL"""
    )
    units = units_of(db, inputs.entities, (), inputs.labels)
    examples: dict[int, list[tuple[int, str, str]]] = {}
    for number, subject, name, label, datatype, value in db.sql(
        """SELECT property, subject, s.label, o.label, datatype, json FROM examples
        JOIN names s ON s.id = subject LEFT JOIN names o ON o.id = object ORDER BY place"""
    ).fetchall():
        if value is not None and language == ENGLISH:
            label = shown(datatype, value, units).label
        if label:
            examples.setdefault(number, []).append((subject, name, label))
    cursor = db.sql(
        f"""WITH types AS (
            SELECT e.id, list(c.label ORDER BY c.id) AS labels FROM (
                SELECT id, unnest(classes) AS class FROM read_parquet({sql(inputs.entities)})
                WHERE id IN (SELECT subject FROM drawn UNION SELECT object FROM drawn)
            ) e JOIN read_parquet({sql(inputs.classes)}) c ON c.id = e.class
            WHERE c.label IS NOT NULL GROUP BY e.id
        )
        SELECT d.* EXCLUDE (place, lot, key), coalesce(a.labels, []) AS subject_types,
            coalesce(b.labels, []) AS object_types
        FROM drawn d LEFT JOIN types a ON a.id = d.subject LEFT JOIN types b ON b.id = d.object
        ORDER BY d.property, d.place, d.subject"""
    )
    rows = []
    for row in cursor.to_arrow_table().to_pylist():
        value = row.pop("json")
        if row["object"] is None:
            row["object_label"] = shown(row["datatype"], value, units).label
        named = (example for example in examples.get(row["property"], ()) if example[0] != row["subject"])
        _, row["example_subject"], row["example_object"] = next(named, (None, None, None))
        request = f"{language}:{property_id(row['property'])}:{entity_id(row['subject'])}"
        rows.append({"request": request, "language": language, **row})
    return rows


def write_requests(sample: Path, prompts: Path, chat: Form, output: Path, sentences: int) -> int:
    """Writes REQUESTS for `sentences` sentences, one a triple in the sample's order; returns their number."""
    rows = []
    for row in pq.read_table(sample).to_pylist():
        asked = _messages(row, read_language(prompts, row["language"]).texts, sentences, chat.structured)
        rows.append({"request": row["request"], "body": build_body(chat, asked, ANSWER, "sentences")})
    return write_parquet(pa.Table.from_pylist(rows, schema=REQUESTS), output)


def _messages(row: Mapping[str, Any], texts: Texts, sentences: int, structured: str) -> list[dict[str, str]]:
    """The system message with the task, and the user message with the triple and what its names mean."""
    names = {part: row[f"{part}_label"] for part in ("subject", "relation", "object")}
    lines = [_filled(texts.fact, names)]
    for part, name in names.items():
        if row[f"{part}_description"]:
            # Anybody can write a description in Wikidata, so it must not look like part of the prompt.
            described = " ".join(printable(row[f"{part}_description"]).replace('"', "'").split())
            if len(described) > texts.longest_description:
                described = f"{described[: texts.longest_description].rstrip()}…"
            lines.append(_filled(texts.meaning, {"name": name, "description": described}))
    if row["example_subject"] is not None:
        example = {"subject": row["example_subject"], "object": row["example_object"]}
        lines.append(_filled(texts.example, {**names, **example}))
    lines.append(_filled(texts.reminder, names))
    task = texts.task + (texts.as_lines if structured == "none" else texts.as_json)
    system, user = _filled(task, {"sentences": str(sentences)}), "".join(lines)
    return [{"role": "system", "content": system.strip()}, {"role": "user", "content": user.strip()}]


def _filled(text: str, slots: Mapping[str, str]) -> str:
    """The text with its slots filled; names may contain anything, even what looks like a slot."""

    def value(slot: re.Match[str]) -> str:
        return " ".join(printable(slots[slot[1]]).split()) if slot[1] in slots else slot[0]

    return _SLOT.sub(value, text)
