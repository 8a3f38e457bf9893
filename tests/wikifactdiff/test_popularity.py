"""Popularity from hand-made page-view files, checked by hand, and from sitelinks."""

from __future__ import annotations

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
    Popularity(
        new=(written(folder / "new.parquet", ENTITIES, new),),
        old=() if old is None else (written(folder / "old.parquet", ENTITIES, old),),
        pageviews=str(pageviews or "none"),
        date=DAY,
        months=12,
        output=output,
    ).run()
    rows = pq.read_table(output).to_pylist()
    assert [row["id"] for row in rows] == sorted(row["id"] for row in rows)
    return {row["id"]: (row["popularity"], row["source"]) for row in rows}


def line(title: str, count: int | str, access: str = "desktop") -> str:
    return f"en.wikipedia {title} 12345 {access} {count} A1B2"


def test_sitelinks(tmp_path):
    new = [item(2, sitelinks=9), item(1)]
    found = run(tmp_path, new, [item(2, sitelinks=500), item(3, sitelinks=1)], None)
    assert found == {
        1: (0.0, "sitelinks"),
        2: (round(math.log(10), 9), "sitelinks"),
        3: (round(math.log(2), 9), "sitelinks"),
    }


def test_median_of_months_summed_over_access(tmp_path):
    months = {
        # From the third month of the twelve on: 10 months, of which 4 have views, median (0 + 0) / 2.
        "202204": [line("Sparse", 7)],
        "202205": [line("Sparse", 7)],
        "202206": [line("Sparse", 7)],
        "202207": [line("Sparse", 7)],
        # Two months only, in both of which there are views.
        "202212": [line("Late_comer", 10), line("Late_comer", 5, "mobile-web")],
        "202301": [line("Late_comer", 20), line("late_comer", 1000), line("Caf\u00e9", 3)],
    }
    found = run(
        tmp_path,
        [item(1, "Sparse"), item(2, "Late comer")],
        [item(3, "Café"), item(2, "Sparse")],
        views(tmp_path, months),
    )
    assert found == {
        1: (0.0, "pageviews"),
        2: (round(math.log(1 + 17.5), 9), "pageviews"),
        3: (round(math.log(4), 9), "pageviews"),
    }


def test_without_a_record(tmp_path):
    months = {"202301": [line("A", 9), line("B", 99), line("C", 999), line("D", "0")]}
    a, b, c = (math.log(10), math.log(100), math.log(1000))
    found = run(
        tmp_path,
        [
            item(1, "A", (50,)),
            item(2, "B", (50, 50, 51)),
            item(3, "C", (52,)),
            item(4, None, (50, 51)),
            item(5, "D", (50, 99)),
            item(6, "Unseen", (99,)),
        ],
        [item(7, None, (52, 50))],
        views(tmp_path, months),
    )
    assert found[4] == (pytest.approx(b, abs=1e-8), "class_mean")
    assert found[5] == (pytest.approx((a + b) / 2, abs=1e-8), "class_mean")
    assert found[6] == (pytest.approx(b, abs=1e-8), "global_median")
    assert found[7] == (pytest.approx(c, abs=1e-8), "class_mean")


def test_malformed_lines_are_counted(tmp_path, capsys):
    broken = [
        "en.wikipedia A null desktop 5",
        line("A", "many"),
        line("A b", 5),
        "de.wikipedia too few",
        line("Bad\udcff", 3),
        line('"A', 2),
        line("A", 4),
    ]
    found = run(tmp_path, [item(1, "A")], [], views(tmp_path, {"202301": broken}))
    assert found == {1: (round(math.log(5), 9), "pageviews")}
    assert "pageviews-202301-user.bz2: 3 malformed lines of en.wikipedia" in capsys.readouterr().err


def test_one_dump_alone(tmp_path):
    assert run(tmp_path, [item(2, sitelinks=9), item(1)], None, None).keys() == {1, 2}
    found = run(tmp_path, [item(1, "A"), item(2)], None, views(tmp_path, {"202301": [line("A", 4)]}))
    assert found == {1: (round(math.log(5), 9), "pageviews"), 2: (round(math.log(5), 9), "global_median")}


def test_missing_months_are_named(tmp_path):
    views(tmp_path, {})
    for month in ("202204", "202301"):
        (tmp_path / f"pageviews-{month}-user.bz2").unlink()
    with pytest.raises(InputError, match=r"2 months are missing: pageviews-202204.*pageviews-202301"):
        run(tmp_path, [item(1, "A")], [], tmp_path)


def test_nobody_looked(tmp_path):
    with pytest.raises(InputError, match="no item's English article"):
        run(tmp_path, [item(1, "A")], [], views(tmp_path, {}))


@pytest.mark.parametrize("damage", ["truncated", "other", "empty"])
def test_damaged_file_is_named(tmp_path, damage):
    views(tmp_path, {"202203": [line(f"Title_{i}", i) for i in range(5000)]})
    file = tmp_path / "pageviews-202203-user.bz2"
    whole = file.read_bytes()
    file.write_bytes(
        {"truncated": whole[: len(whole) // 2], "other": b"no archive", "empty": bz2.compress(b"")}[damage]
    )
    with pytest.raises(InputError, match=r"pageviews-202203-user\.bz2: cannot be read"):
        run(tmp_path, [item(1, "A")], [], tmp_path)
