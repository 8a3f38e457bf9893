"""`factdrift refresh` where nothing is to be built: what it says, and what it asks for."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.listings import HOME, add_dump, add_page
from support.server import Server, serving

from factdrift.cli import main
from factdrift.nodes import file_lock
from factdrift.releases.refresh import Settings, available
from factdrift.snapshots.fetch import Client


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FACTDRIFT_CONTACT", raising=False)
    with serving() as one:
        days = [f"2026{month:02}{day:02}" for month in (9, 10, 11) for day in (7, 14, 21)]
        for day in days:
            add_dump(one, day)
        add_page(one, HOME, [f"{day}/" for day in days])
        Path("refresh.yaml").write_text(
            json.dumps({"refresh": {"listings": [one.url + HOME]}, "contact": "me@example.org"})
        )
        yield one


def released(*dates: str) -> None:
    folder = Path("results/releases", dates[-1])
    folder.mkdir(parents=True)
    (folder / "release.json").write_text(
        json.dumps({"dates": dates, "dumps": dict.fromkeys(dates, "x.json.gz")})
    )


def test_nothing_new(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    released("2026-10-07", "2026-11-07")
    assert main(["refresh", "--configfile", "refresh.yaml"]) == 0
    assert "nothing new: no complete dump 28 days or more after 2026-11-07" in capsys.readouterr().out
    # Folders of days that come too early are not asked for.
    assert {asked.path for asked in server.asked} == {HOME}


def test_a_contact_is_demanded_before_anything_is_asked(
    server: Server, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("refresh.yaml").write_text(json.dumps({"refresh": {"listings": [server.url + HOME]}}))
    assert main(["refresh", "--configfile", "refresh.yaml"]) == 1
    assert "contact" in capsys.readouterr().err
    assert not server.asked


def test_a_second_refresh_leaves(server: Server, capsys: pytest.CaptureFixture[str]) -> None:
    with file_lock(Path("results/releases/.lock")):
        assert main(["refresh", "--configfile", "refresh.yaml"]) == 0
    assert "another refresh is at work" in capsys.readouterr().out
    assert not server.asked


def test_the_first_release_asks_for_folders_until_two_dumps_are_far_enough_apart(server: Server) -> None:
    settings = Settings([server.url + HOME], 28, 2)
    found = [dump.date for dump in available(settings, [], Client("me@example.org")) if dump.date > "2026"]
    assert found == ["2026-11-21", "2026-11-14", "2026-11-07", "2026-10-21"]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"listings": ["ftp://example.org/"]}, "refresh.listings"),
        ({"retention": 0}, "refresh.retention"),
        ({"often": 3}, "often"),
    ],
)
def test_settings_that_are_wrong(
    server: Server, settings: dict[str, object], message: str, capsys: pytest.CaptureFixture[str]
) -> None:
    Path("refresh.yaml").write_text(json.dumps({"refresh": settings, "contact": "me@example.org"}))
    assert main(["refresh", "--configfile", "refresh.yaml"]) == 1
    assert message in capsys.readouterr().err
    assert not server.asked
