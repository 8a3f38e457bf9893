"""What the reader of the sample's tables says about tables that cannot be used."""

import json
import re
from pathlib import Path

import pytest

from factdrift.core.errors import InputError
from factdrift.snapshots.sample.model import entity_lines
from factdrift.snapshots.sample.tables import read_sample

FACT = {"subject": "Q1", "property": "P6", "value": "Q2"}
GUID = "Q1$12345678-1234-1234-1234-1234567890ab"


def message(folder: Path) -> str:
    with pytest.raises(InputError) as error:
        read_sample(folder)
    return str(error.value)


FACTS = [
    ({"subject": "P6"}, "subject", "'P6' is no item id"),
    ({"subject": ""}, "subject", "is empty"),
    ({"property": "P99"}, "property", "P99 has no row in properties.tsv; add one"),
    ({"value": "Q99"}, "value", "Q99 has no row in entities/*.tsv; add one"),
    ({"value": "Germany"}, "value", "'Germany' is no item id"),
    ({"value": " Q2"}, "value", "begins or ends with a blank"),
    ({"property": "P1082", "value": "1000"}, "value", "'1000' is no quantity"),
    ({"property": "P1082", "value": "+1 Q99"}, "value", "Q99 has no row"),
    ({"end": "2020|soon"}, "end", "'soon' is no date"),
    ({"qualifiers": "P39"}, "qualifiers", "'P39' is no qualifier"),
    ({"qualifiers": "P39=Q99"}, "qualifiers", "Q99 has no row in entities/*.tsv"),
    ({"qualifiers": "P580=2020"}, "qualifiers", "P580 has a column of its own"),
    ({"rank": "high"}, "rank", "'high' is none of normal, preferred"),
    ({"rank": "latest"}, "rank", "latest needs a date"),
    ({"end_stated": "2020-01-01"}, "end_stated", "there is no end"),
    ({"stated": "2020-01-01", "removed": "2020-01-01"}, "removed", "is not after 2020-01-01, the first day"),
    ({"start": "2020-05", "removed": "2019-01-01"}, "removed", "is not after 2020-05-01, the first day"),
    ({"statement": "12345"}, "statement", "'12345' is no statement id"),
    ({"statement": GUID.replace("Q1", "Q3")}, "statement", "belongs to another subject than Q1"),
    ({"source": ""}, "source", "say where the row comes from"),
]
ENTITIES = [
    ({"id": "Q1x"}, "id", "'Q1x' is no item id"),
    ({"id": ""}, "id", "is empty"),
    ({"classes": "Q5 Q99"}, "classes", "Q99 has no row"),
    ({"classes": "Q5 Q5"}, "classes", "Q5 occurs twice"),
    ({"created": "2020"}, "created", "'2020' is no day"),
    ({"sitelinks": "100000"}, "sitelinks", "is no number of sites"),
    ({"merged": "Q2"}, "merged", "'Q2' is no merge"),
    ({"merged": "2020-01-01>Q99"}, "merged", "Q99 has no row"),
    ({"merged": "2020-01-01>Q1"}, "merged", "a redirect to itself"),
]
PROPERTIES = [
    ({"id": "Q6"}, "id", "'Q6' is no property id"),
    ({"id": "P7", "datatype": "text"}, "datatype", "'text' is no datatype that the sample can write"),
    ({"id": "P580", "datatype": "string"}, "datatype", "P580 has the datatype time"),
    ({"constraints": "single"}, "constraints", "'single' is none"),
    ({"constraints": "symmetric", "separators": "P580"}, "separators", "there is no single-value constraint"),
    ({"constraints": "single-value", "separators": "P99"}, "separators", "P99 has no row"),
    ({"inverses": "Q99"}, "inverses", "Q99"),
    ({"examples": "Q1"}, "examples", "'Q1' is no example"),
    ({"examples": "Q1>Q99"}, "examples", "Q99 has no row"),
]


@pytest.mark.parametrize(
    ("kind", "change", "column", "what"),
    [
        *(("facts", *case) for case in FACTS),
        *(("entities", *case) for case in ENTITIES),
        *(("properties", *case) for case in PROPERTIES),
    ],
)
def test_rows_that_cannot_be_used(write_tables, kind, change, column, what):
    rows, file, line = {
        "facts": ([FACT, FACT | {"value": "Q3"} | change], "facts/a.tsv", 3),
        "entities": ([{"id": "Q1"} | change], "entities/a.tsv", 2),
        "properties": ([{"id": "P6", "datatype": "wikibase-item"} | change], "properties.tsv", 2),
    }[kind]
    folder = write_tables(**{kind: rows})
    said = message(folder)
    assert said.startswith(f"{folder / file}, line {line}, column {column}: ")
    assert what in said


def test_redirects_in_a_circle(write_tables):
    targets = {"Q1": "Q2", "Q2": "Q3", "Q3": "Q1"}
    merged = [{"id": item, "merged": f"2020-01-01>{target}"} for item, target in targets.items()]
    assert "a redirect to itself" in message(write_tables(entities=merged))


def test_ids_that_stand_twice(write_tables):
    folder = write_tables(entities=[{"id": "Q1"}, {"id": "Q1"}])
    first, second = (f"{folder / 'entities' / 'a.tsv'}, line {line}" for line in (2, 3))
    assert message(folder) == f"{second}, column id: Q1 is in {first} too; keep one of the rows"
    folder = write_tables(entities=[{"id": "Q1"}])
    other = folder / "entities" / "b.tsv"
    other.write_text((folder / "entities" / "a.tsv").read_text("utf-8"), "utf-8")
    assert f"{other}, line 2, column id: Q1 is in {first} too" in message(folder)


def test_facts_that_stand_twice(write_tables):
    folder = write_tables([FACT, FACT | {"source": "another"}])
    assert re.search(r"line 3, column row: the same fact is in .*, line 2; keep", message(folder))
    typed = {"subject": "Q1", "property": "P31", "value": "Q5"}
    property_ = {"id": "P31", "datatype": "wikibase-item"}
    folder = write_tables([typed], [{"id": "Q1", "classes": "Q5"}], [property_])
    assert "the same fact is in" in message(folder)


def test_states_of_one_statement_must_not_overlap(write_tables):
    state = FACT | {"statement": GUID, "stated": "2015-01-01", "removed": "2018-01-01"}
    other = {"value": "Q3", "removed": "", "statement": GUID.lower().replace("q1", "Q1")}
    read_sample(write_tables([state, state | other | {"stated": "2018-01-01"}]))
    said = message(write_tables([state, state | other | {"stated": "2017-12-31"}]))
    assert "line 3, column statement" in said
    assert "at the same time" in said


def test_headers_and_rows(write_tables):
    folder = write_tables([FACT])
    facts = folder / "facts" / "a.tsv"
    text = facts.read_text("utf-8")
    facts.write_text(text.replace("rank", "grade", 1), "utf-8")
    assert f"{facts}, line 1, column header: unknown 'grade', missing 'rank'" in message(folder)
    facts.write_text(text + "Q1\tP6\n\n", "utf-8")
    assert f"{facts}, line 3, column row: 2 cells under 14 columns" in message(folder)
    facts.write_bytes(text.encode() + b"\xff")
    assert f"{facts}, line 3: byte 0xff is not UTF-8" in message(folder)
    facts.write_bytes(b"")
    assert f"{facts}, line 1, column header: unknown '', missing 'subject'" in message(folder)
    (folder / "properties.tsv").unlink()
    assert "properties.tsv: cannot be read (No such file" in message(folder)


def test_columns_in_any_order_blank_lines_and_line_ends(write_tables):
    folder = write_tables([FACT])
    expected = read_sample(folder)
    facts = folder / "facts" / "a.tsv"
    header, row = (line.split("\t") for line in facts.read_text("utf-8").splitlines())
    facts.write_text("\t".join(header[::-1]) + "\r\n\r\n" + "\t".join(row[::-1]), "utf-8", newline="")
    assert read_sample(folder) == expected


def test_translations(write_tables):
    folder = write_tables()
    table = folder / "translations.tsv"

    def write(*rows: str) -> None:
        lines = ["id language label description source", *(f"{row} test" for row in rows)]
        table.write_text("\n".join(line.replace(" ", "\t") for line in lines), "utf-8")

    good = ("Q1 de eins Zahl", "P6 de Chef ", "Q1 fr un ")
    write(*good)
    lines = {entity["id"]: entity for entity in map(json.loads, entity_lines(read_sample(folder), 20210101))}
    labels = {code: text["value"] for code, text in lines["Q1"]["labels"].items()}
    assert labels == {"en": "item Q1", "de": "eins", "fr": "un"}
    assert lines["Q1"]["labels"]["de"] == {"language": "de", "value": "eins"}
    assert list(lines["Q1"]["descriptions"]) == ["de"]
    assert list(lines["P6"]["descriptions"]) == []
    for row, column in (("Q77 de x ", "id"), ("Q1 de y ", "language"), ("Q2 en z ", "language")):
        write(*good, row)
        assert message(folder).startswith(f"{table}, line 5, column {column}: ")
