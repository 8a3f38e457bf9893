"""The figure of a stream: what it counts, and that equal streams give equal bytes."""

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.streams.figure import draw, months

SPANS = ((20210120, 20210120), (20210101, 20210131), (20210101, 20211231))
ROWS = [("ReplaceObject", *span, "start") for span in SPANS]
ROWS += [("Archive", 20220301, 20220331, "end"), ("Archive", 20210105, 20210131, "interval")]


def test_changes_that_are_dated_to_a_month_count_and_equal_streams_give_equal_bytes(tmp_path):
    names, stream = ("scenario", "first_day", "last_day", "dated_by"), tmp_path / "stream.parquet"
    pq.write_table(pa.Table.from_pylist([dict(zip(names, row, strict=True)) for row in ROWS]), stream)
    counts = {scenario: found for scenario, found in months(stream).items() if found}
    assert counts == {"ReplaceObject": {2021 * 12: 2}, "Archive": {2022 * 12 + 2: 1}}
    dates = ["2021-01-04", "2022-02-07", "2022-02-21", "2023-02-27"]
    for name in ("one", "two"):
        draw(stream, dates, tmp_path / f"{name}.svg")
    drawn = (tmp_path / "one.svg").read_bytes()
    assert drawn == (tmp_path / "two.svg").read_bytes()
    assert len(drawn) > 5000
    # A date so near to the one before that their names would overlap has a line only.
    assert [date for date in dates if f"dump {date}".encode() not in drawn] == ["2022-02-21"]
