"""The datasets of all intervals in one table, each row with its link."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from support.tables import written

from factdrift.cli import main
from factdrift.streams.assemble import STREAM
from factdrift.streams.chains import CHAINS

ENTITY = pa.struct([("id", pa.string())])
DATASET = pa.schema(
    [("subject", ENTITY), ("relation", ENTITY), ("objects", pa.list_(pa.struct([("label", pa.string())])))]
)
DATES = ["2019-01-01", "2021-01-04", "2023-02-27"]


def dataset(path: Path, *updates: tuple[str, str, int]) -> str:
    """A table with the number of objects of each update of (subject, relation)."""
    rows = [
        {"subject": {"id": s}, "relation": {"id": r}, "objects": [{"label": str(k)} for k in range(number)]}
        for s, r, number in updates
    ]
    return str(written(path, DATASET, rows))


def chains(path: Path, *links: tuple[int, int, int, int]) -> str:
    """A table of (interval, subject, property, objects)."""
    rows: list[dict[str, Any]] = [
        {"interval": interval, "subject": s, "property": p, "link": 1, "links": 1, "changes": [{}] * number}
        for interval, s, p, number in links
    ]
    return str(written(path, CHAINS, rows))


def assembled(folder: Path, datasets: list[str], tables: list[str], dates: list[str] = DATES) -> int:
    line = ["streams", "assemble", "--datasets", *datasets, "--chains", *tables, "--dates", *dates]
    return main([*line, "-o", str(folder / "stream.parquet")])


def test_rows_keep_their_order_and_get_their_links(tmp_path):
    datasets = [
        dataset(tmp_path / "one.parquet"),
        dataset(tmp_path / "two.parquet", ("Q9", "P1", 2), ("Q1", "P2", 1), ("Q1", "P1", 3)),
    ]
    tables = [
        chains(tmp_path / "a.parquet", (2, 1, 1, 3), (2, 1, 2, 1)),
        chains(tmp_path / "b.parquet", (2, 9, 1, 2)),
    ]
    assert assembled(tmp_path, datasets, tables) == 0
    table = pq.read_table(tmp_path / "stream.parquet")
    assert table.schema.names == [*DATASET.names, *STREAM.names]
    assert table["chain"].to_pylist() == ["Q9-P1", "Q1-P2", "Q1-P1"]
    assert set(table["interval"].to_pylist()) == {2}
    assert set(table["old_date"].to_pylist()) == {"2021-01-04"}
    assert [len(each) for each in table["changes"].to_pylist()] == [2, 1, 3]


@pytest.mark.parametrize(
    "links",
    [
        [(1, 1, 1, 1)],
        [(1, 1, 1, 1), (1, 2, 1, 2), (1, 3, 1, 1)],
        [(1, 1, 1, 1), (1, 4, 1, 2)],
        [(1, 1, 1, 1), (1, 2, 1, 1)],
    ],
    ids=["too few", "too many", "another", "other objects"],
)
def test_a_dataset_of_other_updates_is_named(tmp_path, capsys, links):
    made = dataset(tmp_path / "one.parquet", ("Q1", "P1", 1), ("Q2", "P1", 2))
    assert assembled(tmp_path, [made], [chains(tmp_path / "a.parquet", *links)], DATES[:2]) == 1
    said = capsys.readouterr().err
    assert f"{made}: its updates are not those of the chains of interval 1, 2019-01-01 to 2021-01-04" in said
    assert not (tmp_path / "stream.parquet").exists()


@pytest.mark.parametrize(
    ("dates", "message"),
    [
        (DATES[:1], "give two dates or more"),
        ([DATES[1], DATES[0]], "each later than the one before"),
        ([DATES[0], DATES[0]], "each later than the one before"),
        (DATES, "3 dates have 2 intervals, but 1 tables are given"),
    ],
)
def test_dates_that_do_not_fit_are_named(tmp_path, capsys, dates, message):
    made = dataset(tmp_path / "one.parquet", ("Q1", "P1", 1))
    assert assembled(tmp_path, [made], [chains(tmp_path / "a.parquet", (1, 1, 1, 1))], dates) == 1
    assert message in capsys.readouterr().err
