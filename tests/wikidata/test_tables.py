"""Labels that a user adds to the tables of a snapshot; the days of dates in SQL."""

import pytest

from factdrift.core.errors import InputError
from factdrift.core.tables import database
from factdrift.wikidata.tables import supplied_labels, time_bound


@pytest.mark.parametrize(
    ("precision", "variant", "dates", "day"),
    [
        *((8, "paper", "first_day", 2021_01_01), (9, "paper", "first_day", 2020_03_04)),
        *((8, "reference", "first_day", 2021_00_07), (8, "revised", "interval", 2029_12_31)),
    ],
)
def test_a_decade_is_a_day_as_the_variant_reads_it(precision, variant, dates, day):
    time = f"{{precision: {precision}, year: 2021, first: 20200304, last: 20291231, written: 20210007}}"
    with database() as db:
        query = f"SELECT {time_bound('t', 'last', variant, dates)} FROM (SELECT {time} AS t)"
        assert db.sql(query).fetchall() == [(day,)]


def test_supplied_labels(tmp_path):
    first, second = tmp_path / "a.tsv", tmp_path / "b.tsv"
    rows = ("id\tlabel", "Q30\tUnited States", "", "Q2", "P6\thead of government", "Q30\tother", "")
    first.write_text("\r\n".join(rows), newline="")
    second.write_text('description\tid\tlabel\nx\tQ30\tanother\ny\tQ5\tthe "human"\nz\tQ6\t\n')
    found = {row["id"]: row["label"] for row in supplied_labels([first, second]).to_pylist()}
    assert found == {30: "United States", -6: "head of government", 5: 'the "human"'}
    assert supplied_labels([]).num_rows == 0


@pytest.mark.parametrize(
    ("data", "message"),
    [
        (b"id\tlabel\nL30\tx\n", r"a\.tsv, line 2: 'L30' is no id"),
        (b"id\tlabel\n\nQ0\tx\n", r"a\.tsv, line 3: 'Q0' is no id"),
        (b"kind\tid\tlabel\nx\n", r"a\.tsv, line 2: '' is no id such as Q30"),
        (b"item\tname\n", r"a\.tsv, line 1: columns id"),
        (b"", "columns id and label"),
        ("id\tlabel\nQ1\tZürich\n".encode("latin-1"), r"a\.tsv, line 2: byte 0xfc is not UTF-8"),
    ],
)
def test_a_wrong_label_table_is_named_with_its_line(tmp_path, data, message):
    (tmp_path / "a.tsv").write_bytes(data)
    with pytest.raises(InputError, match=message):
        supplied_labels([tmp_path / "a.tsv"])
