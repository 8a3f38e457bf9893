"""A release: its account, and the proof that it is complete."""

import json
from pathlib import Path

import pytest
from support.releases import products

from factdrift.core.errors import InputError
from factdrift.publish.releases.release import RELEASED, Release, last_release, read_release, write_release

DATES = ["2026-09-14", "2026-10-19", "2026-11-16"]
DUMPS = {date: f"https://example.org/{date}.json.gz#sha1={'0' * 40}&bytes=4" for date in DATES}
RELEASE = Release(DATES, DUMPS, {"variant": "paper"})
REMEDY = "move the folder of this release away"


def released(folder: Path, release: Release = RELEASE) -> Path:
    files = products(folder / f"made-{len(release.dates)}", *release.dates[-2:], release.dumps)
    write_release(files, release, folder / "releases" / release.dates[-1])
    return folder / "releases" / release.dates[-1]


def test_a_release_says_what_is_new(tmp_path: Path) -> None:
    folder = released(tmp_path)
    names = sorted(path.name for path in folder.iterdir())
    assert names == sorted([*RELEASED, "release.json"])
    account = json.loads((folder / "release.json").read_text())
    assert account["updates"] == 4
    assert account["new"] == {
        "updates": 3,
        "scenarios": {"Archive": 2, "AddObject": 1},
        "of_chains_before": 1,
        "reverts": 1,
    }
    assert account["files"]["stream.parquet"]["rows"] == 4
    assert last_release(tmp_path / "releases") == folder
    assert read_release(folder) == (RELEASE, account)
    again = tmp_path / "again"
    write_release(sorted((tmp_path / "made-3").iterdir(), reverse=True), RELEASE, again)
    assert (again / "release.json").read_bytes() == (folder / "release.json").read_bytes()


def test_the_newest_release_counts(tmp_path: Path) -> None:
    assert last_release(tmp_path) is None
    for count in (2, 3):
        released(tmp_path, Release(DATES[:count], DUMPS, {}))
    (tmp_path / "releases/2026-12-14").mkdir()  # of a release that was taken away in part
    (tmp_path / "releases/notes").mkdir()
    (tmp_path / "releases/notes/release.json").write_text("{}")
    assert last_release(tmp_path / "releases") == tmp_path / "releases" / DATES[-1]


@pytest.mark.parametrize(
    "text",
    ["", "[]", '{"dates": ["2026-11-16"], "dumps": {}}', '{"dates": [], "dumps": {}, "configuration": {}}'],
)
def test_an_account_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    folder = released(tmp_path)
    (folder / "release.json").write_text(text)
    with pytest.raises(InputError, match=r"2026-11-16/release\.json: not the account of a release"):
        read_release(folder)


@pytest.mark.parametrize("name", ["stream.parquet", "wikifactdiff.stats.json"])
def test_a_file_that_is_gone_or_changed_is_no_complete_release(tmp_path: Path, name: str) -> None:
    folder = released(tmp_path)
    data = (folder / name).read_bytes()
    (folder / name).write_bytes(data[:-1] + bytes([data[-1] ^ 1]))
    with pytest.raises(InputError, match=rf"{name}: sha256 is \w+, release\.json says.*{REMEDY}"):
        read_release(folder)
    (folder / name).write_bytes(data + b" ")
    with pytest.raises(InputError, match=f"{name}: bytes is {len(data) + 1}"):
        read_release(folder)
    (folder / name).unlink()
    with pytest.raises(InputError, match=f"{name} is missing; .*{REMEDY}"):
        read_release(folder)
    account = json.loads((folder / "release.json").read_text())
    del account["files"][name]
    (folder / "release.json").write_text(json.dumps(account))
    with pytest.raises(InputError, match=f"lists no {name}"):
        read_release(folder)


def test_the_manifest_must_be_that_of_the_pair_and_its_dumps(tmp_path: Path) -> None:
    other = Release(DATES, DUMPS | {DATES[-1]: f"https://example.org/b.json.gz#sha1={'1' * 40}"}, {})
    files = products(tmp_path / "made", *DATES[-2:], DUMPS)
    with pytest.raises(InputError, match=f"the dump of 2026-11-16 has sha1 {'0' * 40}, .* server {'1' * 40}"):
        write_release(files, other, tmp_path / "releases" / DATES[-1])
    earlier = products(tmp_path / "earlier", *DATES[:2], DUMPS)
    with pytest.raises(InputError, match=r"manifest\.json: of the dates .*2026-09-14.*, not .*2026-11-16"):
        write_release(earlier, RELEASE, tmp_path / "releases" / DATES[-1])
    assert not list((tmp_path / "releases").iterdir())
    folder = released(tmp_path)
    account = json.loads((folder / "release.json").read_text())
    account["dumps"][DATES[-1]] = other.dumps[DATES[-1]]
    (folder / "release.json").write_text(json.dumps(account))
    with pytest.raises(InputError, match="the dump of 2026-11-16 has sha1"):
        read_release(folder)
