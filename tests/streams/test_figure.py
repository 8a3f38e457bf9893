"""The figure of a stream: what it counts, and that equal streams give equal bytes."""

from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.cli import main
from factdrift.streams.figure import months

ROWS = [
    ("ReplaceObject", 20210120, 20210120, "start"),
    ("ReplaceObject", 20210101, 20210131, "start"),
    ("ReplaceObject", 20210101, 20211231, "start"),
    ("Archive", 20220301, 20220331, "end"),
    ("Archive", 20210105, 20210131, "interval"),
]


@pytest.fixture
def stream(tmp_path):
    names = ("scenario", "first_day", "last_day", "dated_by")
    table = pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in ROWS])
    pq.write_table(table, tmp_path / "stream.parquet")
    return tmp_path / "stream.parquet"


def test_changes_that_are_dated_to_a_month_count(stream):
    counts = {scenario: found for scenario, found in months(stream).items() if found}
    assert counts == {"ReplaceObject": {2021 * 12: 2}, "Archive": {2022 * 12 + 2: 1}}


@pytest.mark.parametrize("form", ["svg", "png"])
def test_equal_streams_give_equal_bytes(stream, form):
    drawn = []
    for name in ("one", "two"):
        path = stream.with_name(f"{name}.{form}")
        line = ["streams", "figure", "--stream", str(stream), "--dates", "2021-01-04", "2022-02-07"]
        assert main([*line, "2023-02-27", "-o", str(path)]) == 0
        drawn.append(path.read_bytes())
    assert drawn[0] == drawn[1]
    assert len(drawn[0]) > 5000
