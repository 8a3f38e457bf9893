"""The account of a release, and what a refresh removes."""

from __future__ import annotations

import json
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from factdrift.errors import InputError
from factdrift.releases import refresh
from factdrift.releases.release import Release, last_release, write_release
from factdrift.snapshots.registry import Dump

DATES = ["2026-09-14", "2026-10-19", "2026-11-16"]
DUMPS = {date: f"https://example.org/{date}.json.gz" for date in DATES}


def products(folder: Path) -> list[Path]:
    folder.mkdir()
    stream = pa.table(
        {
            "interval": pa.array([1, 2, 2, 2], pa.int32()),
            "scenario": ["Archive", "AddObject", "Archive", "Archive"],
            "link": pa.array([1, 1, 2, 1], pa.int32()),
            "reverts": [False, False, True, None],
        }
    )
    pq.write_table(stream, folder / "stream.parquet")
    (folder / "manifest.json").write_text("{}")
    return [folder / "manifest.json", folder / "stream.parquet"]


def test_a_release_says_what_is_new(tmp_path: Path) -> None:
    release = Release(DATES, DUMPS)
    folder = tmp_path / "releases" / DATES[-1]
    write_release(products(tmp_path / "made"), release, folder)
    assert sorted(path.name for path in folder.iterdir()) == [
        "manifest.json",
        "release.json",
        "stream.parquet",
    ]
    account = json.loads((folder / "release.json").read_text())
    assert account["updates"] == 4
    assert account["new"] == {
        "updates": 3,
        "scenarios": {"Archive": 2, "AddObject": 1},
        "of_chains_before": 1,
        "reverts": 1,
    }
    assert account["files"]["stream.parquet"]["rows"] == 4
    assert last_release(tmp_path / "releases") == (release, account)
    again = tmp_path / "again"
    write_release([tmp_path / "made" / name for name in ("stream.parquet", "manifest.json")], release, again)
    assert (again / "release.json").read_bytes() == (folder / "release.json").read_bytes()


def test_the_newest_complete_release_counts(tmp_path: Path) -> None:
    assert last_release(tmp_path) is None
    for dates in (DATES[:2], DATES):
        write_release(products(tmp_path / f"made-{len(dates)}"), Release(dates, DUMPS), tmp_path / dates[-1])
    (tmp_path / "2026-12-14").mkdir()  # of a release that was taken away in part
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes/release.json").write_text("{}")
    found = last_release(tmp_path)
    assert found is not None
    assert found[0].dates == DATES


@pytest.mark.parametrize(
    "text", ["", "[]", '{"dates": ["2026-11-16"], "dumps": {}}', '{"dates": [], "dumps": {}}']
)
def test_an_account_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    (tmp_path / DATES[-1]).mkdir()
    (tmp_path / DATES[-1] / "release.json").write_text(text)
    with pytest.raises(InputError, match=r"2026-11-16/release\.json: not the account of a release"):
        last_release(tmp_path)


def test_old_snapshots_are_removed_with_their_tables(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    kept = ["results/snapshots/2020-01-01/x"]  # of another build
    gone = []
    for date, following in zip(DATES, [*DATES[1:], "2026-12-14"], strict=True):
        pair = f"results/{date}_{following}"
        old = date == DATES[0]
        kept += [f"{pair}/updates/x"]
        (gone if old else kept).extend(
            [f"results/snapshots/{date}/x", f"{pair}/filtered/x", f"{pair}/kept/x"]
        )
    for path in (*kept, *gone):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        Path(path).touch()
    assert len(list(refresh.removed(DATES, 2))) == 3
    assert not [path for path in gone if Path(path).exists()]
    assert not [path for path in kept if not Path(path).exists()]
    assert not list(refresh.removed(DATES, 2))
    assert not list(refresh.removed(DATES, 9))


@pytest.mark.parametrize(
    ("digests", "end"),
    [
        ({"md5": "b" * 32, "sha1": "a" * 40}, f"#sha1={'a' * 40}"),
        ({"md5": "b" * 32}, f"#md5={'b' * 32}"),
        ({}, ""),
    ],
)
def test_a_dump_is_named_with_the_strongest_checksum_that_is_known(digests: dict[str, str], end: str) -> None:
    urls = ("https://example.org/a.json.gz", "https://example.com/b.json.gz")
    assert refresh.address(Dump(DATES[0], urls, digests=digests)) == urls[0] + end
