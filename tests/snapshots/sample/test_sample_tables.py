"""What the reader of the sample's tables says about tables that cannot be used."""

import json
from pathlib import Path

import pytest

from factdrift.core.errors import InputError
from factdrift.snapshots.sample.model import entity_lines
from factdrift.snapshots.sample.tables import read_sample

FACT = {"subject": "Q1", "property": "P6", "value": "Q2"}


def message(folder: Path) -> str:
    with pytest.raises(InputError) as error:
        read_sample(folder)
    return str(error.value)


@pytest.mark.parametrize(
    ("change", "what"),
    [
        ({"subject": ""}, "'' is no item id"),
        ({"property": "P99"}, "P99 has no row in properties.tsv; add one"),
        ({"value": "Q99"}, "Q99 has no row in entities/*.tsv; add one"),
        ({"property": "P1082", "value": "1000"}, "'1000' is not written as its datatype is"),
        ({"end": "2020|soon"}, "'soon' is no date"),
        ({"removed": "soon"}, "'soon' is no day"),
    ],
)
def test_rows_that_cannot_be_used(write_tables, change, what):
    folder = write_tables([FACT, FACT | {"value": "Q3"} | change])
    said = message(folder)
    assert said.startswith(f"{folder}/facts/a.tsv, line 3: ")
    assert what in said


def test_headers_and_rows(write_tables):
    folder = write_tables([FACT])
    facts = folder / "facts" / "a.tsv"
    text = facts.read_text("utf-8")
    facts.write_text(text.replace("rank", "grade", 1), "utf-8")
    assert message(folder).startswith(f"{facts}: has other columns than subject property")
    for cells in ("Q1\tP6", text.splitlines()[1] + "\tmore"):
        facts.write_text(f"{text}{cells}\n", "utf-8")
        assert message(folder) == f"{facts}, line 3: has another number of cells than the header; correct it"


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
