"""From the lines of a dump to the answers of the source over tables."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.ripple_lines import source

from factdrift.tempripple.rows import make_rows
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
from factdrift.tempripple.table_source import TableSource
from factdrift.tempripple.types import ids

NONE: Ids = ids([])


@pytest.fixture(scope="module", params=[1, 3])
def tables(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[TableSource]:
    with source(tmp_path_factory.mktemp("tables"), request.param) as found:
        yield found


def day(packed: int, precision: int) -> dict[str, int]:
    return {"day": packed, "precision": precision}


def test_statements_of_items(tables: TableSource) -> None:
    table = tables.statements(ids([1]), ids([6]), NONE)
    assert table.schema.equals(STATEMENTS)
    rows = {row["statement"]: row for row in table.to_pylist()}
    assert list(rows) == [f"Q1${letter}" for letter in "abcdfghi"]
    assert {name: (row["snak"], row["object"]) for name, row in rows.items()} == {
        "Q1$a": ("value", 10),
        "Q1$b": ("value", 11),
        "Q1$c": ("somevalue", None),
        "Q1$d": ("novalue", None),
        "Q1$f": ("somevalue", None),
        "Q1$g": ("somevalue", None),
        "Q1$h": ("value", 13),
        "Q1$i": ("value", 14),
    }
    assert rows["Q1$a"]["starts"] == [day(20200501, 10), day(20200603, 11)]
    assert [name for name, row in rows.items() if row["preferred"]] == ["Q1$b"]
    assert [name for name, row in rows.items() if row["end_unknown"]] == ["Q1$b", "Q1$i"]
    assert (rows["Q1$c"]["ends"], rows["Q1$d"]["starts"]) == ([], [])
    assert rows["Q1$h"]["ends"] == [day(20200603, 11)]


def test_restrictive_qualifiers(tables: TableSource) -> None:
    def restricted(*asked: int) -> list[str]:
        rows = tables.statements(ids([1]), ids([6]), ids(asked)).to_pylist()
        return [row["statement"] for row in rows if row["restricted"]]

    assert restricted() == restricted(518) == []
    assert restricted(642, 518) == ["Q1$a"]


def test_literals_and_dates(tables: TableSource) -> None:
    rows = tables.statements(ids([1, 2]), ids([297, 569, 1477]), NONE).to_pylist()
    assert [
        (row["statement"], row["snak"], row["text"], row["language"], row["day"], row["precision"])
        for row in rows
    ] == [
        ("Q2$e", "value", "GB", None, None, None),
        ("Q2$a", "value", None, None, 15821014, 11),
        ("Q2$b", "value", None, None, 15820101, 9),
        ("Q2$c", "somevalue", None, None, None, None),
        ("Q2$d", "value", 'Ma\u0142gorzata "M"', "pl", None, None),
    ]


def test_candidates(tables: TableSource) -> None:
    def found(first: int, until: int, *relations: int) -> list[str]:
        table = tables.candidates(ids(relations), first, until)
        assert table.schema.equals(CANDIDATES)
        return table["statement"].to_pylist()

    assert found(20200101, 20210101, 6) == ["Q1$a", "Q1$h"]
    assert found(20200502, 20200603, 6) == []
    assert found(20200501, 20200502, 6) == ["Q1$a"]
    assert found(20200101, 20210101, 35) == []
    assert found(20200101, 20210101) == []


def test_classes_terms_and_declarations(tables: TableSource) -> None:
    assert tables.classes(ids([1, 2, 3]), INSTANCE).to_pylist() == [{"id": 2, "class": 5}]
    assert tables.classes(ids([3, 4]), SUBCLASS).to_pylist() == [{"id": 3, "class": 4}]
    assert tables.terms(ids([1, 2, 3, 99])).to_pylist() == [
        {"id": 1, "label": "one", "aliases": ["ace", "uno"]},
        {"id": 2, "label": "zwei", "aliases": []},
    ]
    assert tables.declarations(ids([6, 35])).to_pylist() == [
        {"id": 6, "label": "head of government", "datatype": "wikibase-item"}
    ]


def test_nothing_asked_nothing_answered(tables: TableSource) -> None:
    for table, schema in (
        (tables.statements(NONE, ids([6]), NONE), STATEMENTS),
        (tables.statements(ids([1]), NONE, NONE), STATEMENTS),
        (tables.classes(NONE, INSTANCE), CLASSES),
        (tables.terms(NONE), TERMS),
        (tables.declarations(NONE), DECLARATIONS),
    ):
        assert table.num_rows == 0
        assert table.schema.equals(schema)


def test_statements_without_an_id_get_one_of_their_place(tmp_path: Path) -> None:
    with source(tmp_path, 1) as _:
        path = tmp_path / "statements-0.parquet"
        table = pq.read_table(path)
        nameless = pa.array([None] * table.num_rows, pa.string())
        pq.write_table(table.set_column(2, "statement", nameless), path)
        rows = tmp_path / "again.parquet"
        make_rows(path, tmp_path / "entities-0.parquet", [6], rows, tmp_path / "edges.parquet")
        names = pq.read_table(rows)["statement"].to_pylist()
    assert names == [f"Q1${place}" for place in (0, 1, 2, 3, 5, 6, 7, 8)]
    assert np.array_equal(ids([3, 1, 3]), [1, 3])
