"""Tables on disk: complete or absent under the final name, the same bytes for the same rows."""

from collections.abc import Iterator

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.core.columns import schema_of, struct_of
from factdrift.core.errors import InputError
from factdrift.core.files import read_yaml
from factdrift.core.tables import database, register_stream, rows_of, sql, write_parquet, write_query


def test_bytes_depend_on_the_rows_and_the_settings_that_all_tables_share(tmp_path):
    rows = {"a": [n * 7919 % 10007 for n in range(140_000)], "b": [f"text {n % 97}" for n in range(140_000)]}
    table = pa.table(rows)
    settings = {"compression": "zstd", "compression_level": 3, "version": "2.6", "use_dictionary": True}
    pq.write_table(table, tmp_path / "expected.parquet", row_group_size=131_072, **settings)
    write_parquet(table, tmp_path / "whole.parquet")
    batches = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=777))
    assert write_parquet(batches, tmp_path / "stream.parquet") == table.num_rows
    for name in ("whole", "stream"):
        assert (tmp_path / f"{name}.parquet").read_bytes() == (tmp_path / "expected.parquet").read_bytes()


def test_an_empty_result_keeps_its_columns(tmp_path):
    with database() as db:
        assert write_query(db, "SELECT 1 AS a, 'x' AS b WHERE false", tmp_path / "empty.parquet") == 0
    assert pq.read_table(tmp_path / "empty.parquet").column_names == ["a", "b"]


def test_columns_stored_as_differences_come_back_as_they_went_in(tmp_path):
    schema = pa.schema([("up", pa.int32()), ("down", pa.int64()), ("text", pa.string())])
    up, down = [*range(5000), None, 2**31 - 1], [-n * n % 977 for n in range(5002)]
    table = pa.table({"up": up, "down": down, "text": ["a"] * 5002}, schema=schema)
    assert write_parquet(table, tmp_path / "steps.parquet", steps=["up", "down"]) == 5002
    assert pq.read_table(tmp_path / "steps.parquet").equals(table)
    with database() as db:
        found = db.sql(f"SELECT * FROM read_parquet({sql(tmp_path / 'steps.parquet')})").to_arrow_table()
    assert found.to_pydict() == table.to_pydict()
    write_parquet(table, tmp_path / "plain.parquet")
    assert (tmp_path / "steps.parquet").stat().st_size < (tmp_path / "plain.parquet").stat().st_size


@pytest.mark.parametrize("value", [5, "it's", ["a", "b'c"], [1, 2], []])
def test_values_come_back_from_sql_as_they_went_in(value):
    with database() as db:
        assert db.execute(f"SELECT {sql(value)}").fetchone() == (value,)


@pytest.mark.parametrize(("name", "said"), [("a.tsv", "no such file"), (".", "Is a directory")])
def test_a_table_that_cannot_be_read_is_named_with_its_columns(tmp_path, name, said):
    with pytest.raises(InputError, match=f"{tmp_path / name}: {said}; give the path of a table of id, label"):
        list(rows_of(tmp_path / name, ["id", "label"]))


@pytest.mark.parametrize("name", ["a[1].parquet", "a*.parquet", "a?.parquet", "it's.parquet"])
def test_a_file_is_read_and_not_another_that_its_name_fits_as_a_pattern(tmp_path, name):
    for number, each in enumerate((name, "a1.parquet")):
        write_parquet(pa.table({"number": [number]}), tmp_path / each)
    with database() as db:
        for path in (tmp_path / name, [tmp_path / name]):
            assert db.sql(f"SELECT * FROM read_parquet({sql(path)})").fetchall() == [(0,)]


def test_a_stream_is_not_held_in_memory() -> None:
    """A bucket of ten million entities has more statements than the memory holds."""
    schema, rank = pa.schema([("subject", pa.int32()), ("rank", pa.string())]), "x" * 100
    ranks = pa.array([rank] * 10_000)

    def batches() -> Iterator[pa.RecordBatch]:
        for first in range(0, 1_000_000, 10_000):
            subjects = np.arange(first, first + 10_000, dtype=np.int32)
            yield pa.record_batch([pa.array(subjects), ranks], schema=schema)

    with database(60) as connection:
        connection.execute("SET max_temp_directory_size = '0B'")
        connection.execute("CREATE TEMP TABLE items AS SELECT range::INTEGER AS id FROM range(1000)")
        register_stream(connection, "read_statements", pa.RecordBatchReader.from_batches(schema, batches()))
        joined = "read_statements s SEMI JOIN items i ON i.id = s.subject"
        found = connection.execute(f"SELECT rank, count(*) FROM {joined} GROUP BY ALL").fetchall()
        assert found == [(rank, 1000)]


def test_columns_are_said_in_words() -> None:
    pair = struct_of("id label: string")
    found = schema_of("subject relation: string, rank: int8", ("pair", pair), "ids: [[int32]]", *pair)
    texts, numbers = pa.list_(pa.list_(pa.int32())), pa.int8()
    wanted = [("subject", pa.string()), ("relation", pa.string()), ("rank", numbers), ("pair", pair)]
    assert found == pa.schema([*wanted, ("ids", texts), ("id", pa.string()), ("label", pa.string())])
    with pytest.raises(ValueError, match="strin"):
        schema_of("id: strin")


@pytest.mark.parametrize(
    ("text", "content"),
    [
        (
            "a: &a {k: 1}\nx: {b: &b {<<: *a, k: 2}}\nc: {<<: *b}",
            {"a": {"k": 1}, "x": {"b": {"k": 2}}, "c": {"k": 2}},
        ),
        ("{1: x, '1': y}", {1: "x", "1": "y"}),
        ("a: {b: 1, b: 2}", "a key is there twice: 'b'"),
        ("yes: 1\non: 2", "a key is there twice: True"),
        ("x: !!map [a]", "expected a mapping node"),
        ("2021-02-30: 1", "day is out of range"),
    ],
)
def test_a_key_of_a_yaml_file_is_there_once(text, content, tmp_path):
    (tmp_path / "a.yaml").write_text(text)
    if isinstance(content, dict):
        assert read_yaml(tmp_path / "a.yaml") == content
    else:
        with pytest.raises(InputError, match=content):
            read_yaml(tmp_path / "a.yaml")
