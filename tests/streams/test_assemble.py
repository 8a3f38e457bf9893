"""The datasets of all intervals in one table need dates and chains that fit."""

from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest
from support.tables import written

from factdrift.cli import main
from factdrift.streams.chains import CHAINS

ENTITY = pa.struct([("id", pa.string())])
DATASET = pa.schema(
    [("subject", ENTITY), ("relation", ENTITY), ("objects", pa.list_(pa.struct([("label", pa.string())])))]
)
DATES = ["2019-01-01", "2021-01-04", "2023-02-27"]


def assembled(folder: Path, objects: list[int], links: list[tuple[int, int]], dates: list[str]) -> int:
    """Of one dataset, with the number of objects of Q1-P1, Q2-P1 and so on, and links (subject, objects)."""
    rows: list[dict[str, Any]] = [
        {"subject": {"id": f"Q{s}"}, "relation": {"id": "P1"}, "objects": [{"label": "x"}] * number}
        for s, number in enumerate(objects, start=1)
    ]
    plain = {"interval": 1, "property": 1, "link": 1, "links": 1}
    chains = [plain | {"subject": s, "changes": [{}] * number} for s, number in links]
    line = ["streams", "assemble", f"--datasets={written(folder / 'one.parquet', DATASET, rows)}"]
    line += [f"--chains={written(folder / 'chains.parquet', CHAINS, chains)}", "--dates", *dates]
    return main([*line, "--figure", str(folder / "s.svg"), "-o", str(folder / "stream.parquet")])


@pytest.mark.parametrize("links", [[(1, 1)], [(1, 1), (2, 2), (3, 1)], [(1, 1), (4, 2)], [(1, 1), (2, 1)]])
def test_a_dataset_of_other_updates_is_named(tmp_path, capsys, links):
    """One update too few, one too many, another one, and one of other objects."""
    assert assembled(tmp_path, [1, 2], links, DATES[:2]) == 1
    said = "one.parquet: its updates are not those of the chains of interval 1, 2019-01-01 to 2021-01-04"
    assert said in capsys.readouterr().err
    assert not (tmp_path / "stream.parquet").exists()


@pytest.mark.parametrize(
    ("dates", "message"),
    [
        *((DATES[:1], "give two dates or more"), (DATES[:1] * 2, "each later than the one before")),
        (DATES, "3 dates have 2 intervals, but 1 tables are given"),
    ],
)
def test_dates_that_do_not_fit_are_named(tmp_path, capsys, dates, message):
    assert assembled(tmp_path, [1], [(1, 1)], dates) == 1
    assert message in capsys.readouterr().err
