"""Tables on disk: complete or absent under the final name, the same bytes for the same rows."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.errors import InputError
from factdrift.tables import (
    ROW_GROUP,
    atomic_path,
    database,
    sql,
    supplied_labels,
    write_parquet,
    write_query,
)


def test_a_failed_write_leaves_nothing_behind_and_keeps_what_was_there(tmp_path):
    path = tmp_path / "a.txt"
    path.write_text("before")
    with pytest.raises(RuntimeError), atomic_path(path) as temporary:  # noqa: PT012
        temporary.write_text("half")
        raise RuntimeError
    assert path.read_text() == "before"
    assert list(tmp_path.iterdir()) == [path]


def test_bytes_do_not_depend_on_how_the_rows_arrive(tmp_path):
    table = pa.table({"a": range(ROW_GROUP + 1000), "b": [str(i % 7) for i in range(ROW_GROUP + 1000)]})
    write_parquet(table, tmp_path / "whole.parquet")
    batches = pa.RecordBatchReader.from_batches(table.schema, table.to_batches(max_chunksize=777))
    assert write_parquet(batches, tmp_path / "stream.parquet") == table.num_rows
    assert (tmp_path / "whole.parquet").read_bytes() == (tmp_path / "stream.parquet").read_bytes()
    assert pq.read_metadata(tmp_path / "whole.parquet").num_row_groups == 2


def test_the_bytes_are_those_of_the_settings_that_all_tables_share(tmp_path):
    rows = {"a": [n * 7919 % 10007 for n in range(140_000)], "b": [f"text {n % 97}" for n in range(140_000)]}
    table = pa.table(rows)
    write_parquet(table, tmp_path / "a.parquet")
    settings = {"compression": "zstd", "compression_level": 3, "version": "2.6", "use_dictionary": True}
    pq.write_table(table, tmp_path / "b.parquet", row_group_size=131_072, **settings)
    assert (tmp_path / "a.parquet").read_bytes() == (tmp_path / "b.parquet").read_bytes()


def test_an_empty_result_keeps_its_columns(tmp_path):
    with database() as db:
        assert write_query(db, "SELECT 1 AS a, 'x' AS b WHERE false", tmp_path / "empty.parquet") == 0
    assert pq.read_table(tmp_path / "empty.parquet").column_names == ["a", "b"]


def test_columns_stored_as_differences_come_back_as_they_went_in(tmp_path):
    rows = {
        "up": [*range(5000), None, 2**31 - 1],
        "down": [-n * n % 977 for n in range(5002)],
        "text": ["a"] * 5002,
    }
    table = pa.table(
        rows, schema=pa.schema([("up", pa.int32()), ("down", pa.int64()), ("text", pa.string())])
    )
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


def test_supplied_labels(tmp_path):
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    first.write_text("id\tlabel\r\nQ30\tUnited States\r\nP6\thead of government\r\n", newline="")
    second.write_text('description\tid\tlabel\nx\tQ30\tanother\ny\tQ5\tthe "human"\nz\tQ6\t\n')
    found = {row["id"]: row["label"] for row in supplied_labels([first, second]).to_pylist()}
    assert found == {30: "United States", -6: "head of government", 5: 'the "human"'}
    assert supplied_labels([]).num_rows == 0


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id\tlabel\nL30\tx\n", r"a\.tsv, line 2: 'L30' is no id"),
        ("item\tname\n", r"a\.tsv, line 1: columns id"),
    ],
)
def test_a_wrong_label_table_is_named_with_its_line(tmp_path, text, message):
    (tmp_path / "a.tsv").write_text(text)
    with pytest.raises(InputError, match=message):
        supplied_labels([tmp_path / "a.tsv"])


def test_labels_in_another_encoding_are_located(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_bytes("id\tlabel\nQ1\tZürich\n".encode("latin-1"))
    with pytest.raises(InputError, match=r"labels\.tsv, line 2: byte 0xfc is not UTF-8"):
        supplied_labels([path])


def test_odd_rows_of_labels(tmp_path):
    path = tmp_path / "labels.tsv"
    path.write_bytes(b"kind\tid\tlabel\r\nx\tQ1\tone\r\n\r\nx\tQ2\nx\tQ1\tother\n")
    assert supplied_labels([path]).to_pylist() == [{"id": 1, "label": "one"}]
    path.write_text("kind\tid\tlabel\nx\n")
    with pytest.raises(InputError, match=r"line 2: '' is no id such as Q30"):
        supplied_labels([path])
    path.write_text("")
    with pytest.raises(InputError, match="columns id and label"):
        supplied_labels([path])
