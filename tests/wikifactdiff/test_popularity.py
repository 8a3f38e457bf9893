"""Popularity from hand-made page-view files, checked by hand, and from sitelinks."""

import bz2
import math
from datetime import date
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.tables import written

from factdrift.core.errors import InputError
from factdrift.wikidata.tables import ENTITIES
from factdrift.wikifactdiff.jobs import Popularity

from .conftest import Row

DAY = date(2023, 2, 27)
MONTHS = [f"2022{month:02d}" for month in range(2, 13)] + ["202301"]


def item(id: int, title: str | None = None, classes: tuple[int, ...] = (), sitelinks: int = 0) -> Row:
    return {"id": id, "title": title, "classes": list(classes), "sitelinks": sitelinks}


def views(folder: Path, months: dict[str, list[str]]) -> Path:
    """The twelve files; each other month holds a line of another wiki."""
    for month in MONTHS:
        lines = [*months.get(month, []), "de.wikipedia Berlin 1 desktop 999999 A9"]
        text = "".join(f"{line}\n" for line in lines).encode(errors="surrogateescape")
        (folder / f"pageviews-{month}-user.bz2").write_bytes(bz2.compress(text))
    return folder


def run(
    folder: Path, new: list[Row], old: list[Row] | None, pageviews: Path | None
) -> dict[int, tuple[float, str]]:
    output = folder / "popularity.parquet"
    others = () if old is None else (written(folder / "old.parquet", ENTITIES, old),)
    how = {"pageviews": str(pageviews or "none"), "date": DAY, "months": 12}
    Popularity(new=(written(folder / "new.parquet", ENTITIES, new),), old=others, **how, output=output).run()
    rows = pq.read_table(output).to_pylist()
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    return {row["id"]: (row["popularity"], row["source"]) for row in rows}


def line(title: str, count: int | str, access: str = "desktop") -> str:
    return f"en.wikipedia {title} 12345 {access} {count} A1B2"


def test_malformed_lines_are_counted(tmp_path, capsys):
    """Which ones those are, tests/wikidata/test_english_views.py says."""
    broken = [line("A", "many"), line("A b", 5), line("A", 4)]
    found = run(tmp_path, [item(1, "A")], [], views(tmp_path, {"202301": broken}))
    assert found == {1: (round(math.log(5), 9), "pageviews")}
    assert "pageviews-202301-user.bz2: 2 malformed lines of en.wikipedia" in capsys.readouterr().err


def test_one_dump_alone(tmp_path):
    assert run(tmp_path, [item(2, sitelinks=9), item(1)], None, None).keys() == {1, 2}
    found = run(tmp_path, [item(1, "A"), item(2)], None, views(tmp_path, {"202301": [line("A", 4)]}))
    assert found == {1: (round(math.log(5), 9), "pageviews"), 2: (round(math.log(5), 9), "global_median")}


def test_months_without_a_view_and_missing_ones_are_named(tmp_path):
    views(tmp_path, {})
    with pytest.raises(InputError, match="no item's English article"):
        run(tmp_path, [item(1, "A")], [], tmp_path)
    for month in ("202204", "202301"):
        (tmp_path / f"pageviews-{month}-user.bz2").unlink()
    with pytest.raises(InputError, match=r"2 months are missing: pageviews-202204.*pageviews-202301"):
        run(tmp_path, [item(1, "A")], [], tmp_path)


@pytest.mark.parametrize("damage", ["truncated", "other", "empty"])
def test_damaged_file_is_named(tmp_path, damage):
    views(tmp_path, {"202203": [line(f"Title_{i}", i) for i in range(5000)]})
    file = tmp_path / "pageviews-202203-user.bz2"
    whole = file.read_bytes()
    damaged = {"truncated": whole[: len(whole) // 2], "other": b"no archive", "empty": bz2.compress(b"")}
    file.write_bytes(damaged[damage])
    with pytest.raises(InputError, match=r"pageviews-202203-user\.bz2: cannot be read"):
        run(tmp_path, [item(1, "A")], [], tmp_path)
