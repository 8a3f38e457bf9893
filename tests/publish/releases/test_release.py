"""Releases: which dates they compare, their account, its proof, and the configuration of a series."""

import datetime
import itertools
import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from support.configured import configured
from support.releases import products

from factdrift.core.errors import InputError
from factdrift.core.files import read_yaml
from factdrift.core.paths import SCHEMA
from factdrift.publish.releases.refresh import later, sequences
from factdrift.publish.releases.release import (
    RELEASED,
    Release,
    check_unchanged,
    configuration,
    last_release,
    read_release,
    write_release,
)

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
    scenarios = {"Archive": 2, "AddObject": 1}
    assert account["new"] == {"updates": 3, "scenarios": scenarios, "of_chains_before": 1, "reverts": 1}
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
    [
        *("", "[]", '{"dates": ["2026-11-16"], "dumps": {}}'),
        '{"dates": [], "dumps": {}, "configuration": {}}',
        '{"dates": ["2026-11-16"], "dumps": {"2026-11-16": ""}, "configuration": {}, "files": {}}',
    ],
)
def test_an_account_that_cannot_be_read(tmp_path: Path, text: str) -> None:
    folder = released(tmp_path)
    (folder / "release.json").write_text(text)
    with pytest.raises(InputError, match=r"2026-11-16/release\.json: not the account of a release"):
        read_release(folder)


def test_a_file_that_is_gone_or_changed_is_no_complete_release(tmp_path: Path) -> None:
    folder, name = released(tmp_path), "stream.parquet"
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


FREE = {
    *("snapshots", "stream", "dumps", "contact", "wikidata_api", "refresh", "shards", "check_disk"),
    *("cluster", "max_bad_lines", "languages", "audit", "tempripple", "klob", "slice", "models", "taught"),
    *("methods", "strict", "edit", "ripples", "moments", "locators", "locate", "answer", "written"),
    *("publish", "corpus"),
}
"""Keys on which no product of a release depends."""


def test_every_key_is_compared_or_known_to_change_no_release() -> None:
    schema = read_yaml(SCHEMA)["properties"]
    chosen = configured(verbalizer="chat", chat={"model": "m"})
    compared = {key.partition(".")[0] for key in configuration(chosen)}
    assert compared | FREE == schema.keys()
    assert not compared & FREE
    # What the variant says anyway, and parts of a key that change no result.
    same = {"shards": 7, "contact": "a@b.org", "dates": "first_day", "neighbors": {"blocks": 9}}
    assert configuration(configured(**same)) == configuration(configured())


@pytest.mark.parametrize(
    ("keys", "named"),
    [
        ({"method": {"start": "P571"}}, 'method.start (was "P580", is "P571")'),
        ({"only": {"relations": ["P6"]}}, 'only.relations (was [], is ["P6"])'),
        ({"neighbors": {"random": 3}}, "neighbors.random (was 10, is 3)"),
    ],
)
def test_a_change_names_its_keys(keys: dict[str, Any], named: str) -> None:
    default, now = configuration(configured()), configuration(configured(**keys))
    with pytest.raises(InputError) as refused:
        check_unchanged(default, now, Path("results/releases/2026-11-16"))
    assert named in str(refused.value)
    assert "results/releases/2026-11-16" in str(refused.value)
    assert "run `factdrift refresh` in another directory" in str(refused.value)


def test_files_count_by_their_content(tmp_path: Path) -> None:
    first, second = tmp_path / "a.txt", tmp_path / "b.txt"
    for path in (first, second):
        path.write_text("Q30\n")
    before = configuration(configured(only={"subjects": str(first)}))
    assert before == configuration(configured(only={"subjects": str(second)}))
    second.write_text("Q31\n")
    with pytest.raises(InputError, match=r"only\.subjects"):
        check_unchanged(before, configuration(configured(only={"subjects": str(second)})), tmp_path)
    second.unlink()
    with pytest.raises(InputError, match=r"only\.subjects: .*b\.txt does not exist"):
        configuration(configured(only={"subjects": str(second)}))


DAYS = st.dates(datetime.date(2024, 1, 1), datetime.date(2024, 12, 31)).map(datetime.date.isoformat)
EVERY = st.integers(1, 60)


def test_what_the_next_releases_compare() -> None:
    mondays = ["2026-10-05", "2026-10-12", "2026-10-19", "2026-11-02", "2026-11-16"]
    assert sequences(mondays, [], 28) == [["2026-10-19", "2026-11-16"]]
    assert sequences(["2026-11-16"], [], 28) == []
    # Months that were missed are made up for.
    mondays = ["2026-11-09", "2026-11-16", "2026-12-14", "2026-12-21", "2027-01-11"]
    assert sequences(mondays, ["2026-10-19", "2026-11-16"], 28) == [
        ["2026-10-19", "2026-11-16", "2026-12-14"],
        ["2026-10-19", "2026-11-16", "2026-12-14", "2027-01-11"],
    ]
    assert sequences(mondays, ["2026-10-19", "2027-01-11"], 28) == []


@given(st.lists(DAYS, unique=True, max_size=12), st.integers(1, 12), EVERY)
def test_when_it_runs_does_not_matter(dates: list[str], first: int, every: int) -> None:
    """Runs after each new dump come to the same sequence as one run that finds all of them at once."""
    dates = sorted(dates)
    begin = ["2023-11-01", "2023-12-01"]
    at_once = [begin, *sequences(dates, begin, every)][-1]
    sequence = begin
    for known in range(first, len(dates) + 1):
        for longer in sequences(dates[:known], sequence, every):
            assert longer[:-1] == sequence
            sequence = longer
    sequence = [sequence, *sequences(dates, sequence, every)][-1]
    assert sequence == at_once
    assert all(new >= later(old, every) for old, new in itertools.pairwise(sequence[1:]))
