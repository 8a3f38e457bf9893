"""`factdrift refresh` with a stand-in for Snakemake: what it asks for, makes, refuses, skips and removes."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest
from support.configured import configured as configured_keys
from support.listings import HOME, add_dump, add_page
from support.releases import Workflow
from support.server import Fault, Server, serving

from factdrift.cli import main
from factdrift.core.owned import file_lock
from factdrift.publish.releases import build
from factdrift.publish.releases.release import configuration

SNAPSHOTS = Path("results/snapshots")


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Server]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("FACTDRIFT_CONTACT", raising=False)
    with serving() as one:
        publish(one, *(f"2026{month:02}{day:02}" for month in (9, 10, 11) for day in (7, 14, 21)))
        configured(one)
        yield one


class Run:
    """What a refresh has to do with: a server, a stand-in for Snakemake; and what it has printed."""

    def __init__(self, server: Server, capsys: pytest.CaptureFixture[str]) -> None:
        self.server, self.workflow, self._capsys = server, Workflow(), capsys

    def said(self) -> str:
        """The output since the last call, standard error behind it."""
        return "".join(self._capsys.readouterr())


@pytest.fixture
def run(server: Server, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> Run:
    made = Run(server, capsys)
    monkeypatch.setattr(build, "run", made.workflow)
    return made


@pytest.fixture
def series(run: Run) -> Run:
    """The same, after a release."""
    released("2026-09-07", "2026-10-07")
    return run


def publish(server: Server, *days: str) -> None:
    """Adds complete dumps to the listing."""
    for day in days:
        add_dump(server, day)
        server.files[f"{HOME}{day}/wikidata-{day}-all.json.gz"] = day.encode()
    held = {path.split("/")[3] for path in server.files if path.startswith(HOME) and path != HOME}
    add_page(server, HOME, [f"{day}/" for day in sorted(held)])


def configured(server: Server, **keys: object) -> None:
    own = {"refresh": {"listings": [server.url + HOME]}, "contact": "me@example.org", **keys}
    Path("refresh.yaml").write_text(json.dumps(own))


def refresh(*arguments: str) -> int:
    try:
        return main(["refresh", "--configfile", "refresh.yaml", *(["--", *arguments] if arguments else [])])
    except SystemExit as ended:
        return int(str(ended.code))


def released(*dates: str) -> None:
    """A series of releases, as refreshes have left it."""
    for count in range(2, len(dates) + 1):
        dumps = {date: f"https://example.org/{date}.json.gz" for date in dates[:count]}
        Workflow.make({"stream": dates[:count], "dumps": dumps}, configuration(configured_keys()))
    for date in dates:
        (SNAPSHOTS / date / ".refresh.json").write_text(json.dumps({"dump": dumps[date]}))
    for pair in Path("results").glob("*_*"):
        (pair / ".refresh.json").write_text('{"dump": ""}')


def snapshots() -> set[str]:
    return {path.name for path in SNAPSHOTS.iterdir() if (path / "wikidata.json.gz").is_file()}


def test_nothing_new(run: Run) -> None:
    released("2026-10-07", "2026-11-07")
    assert refresh() == 0
    assert "nothing new: no complete dump 28 days or more after 2026-11-07" in run.said()
    # Folders of days that come too early are not asked for.
    assert {asked.path for asked in run.server.asked} == {HOME}


def test_a_second_refresh_leaves(run: Run) -> None:
    with file_lock(Path("results/releases/.lock")):
        assert refresh() == 0
    assert "another refresh is at work" in run.said()
    assert not run.server.asked


def test_without_two_dumps_far_enough_apart_nothing_is_begun(run: Run) -> None:
    """The registry of old dumps is no place to look for a pair."""
    run.server.files = {path: data for path, data in run.server.files.items() if "/202611" in path}
    publish(run.server)
    assert refresh() == 0
    found = "2026-11-07, 2026-11-14, 2026-11-21"
    assert f"no two complete dumps 28 days apart (found: {found})" in run.said()
    assert not run.workflow.lines


def test_settings_that_are_wrong_are_reported_before_anything_is_asked(run: Run) -> None:
    keys: dict[str, dict[str, object]] = {
        "contact": {"contact": ""},
        "refresh.listings": {"refresh": {"listings": ["ftp://example.org/"]}},
        "refresh.retention": {"refresh": {"retention": 0}},
        "often": {"refresh": {"often": 3}},
    }
    for message, wrong in keys.items():
        configured(run.server, **wrong)
        assert refresh() == 1
        assert message in run.said()
    for text in (b"", b"- seed", b"seed: [", b"seed: \xe9"):
        Path("refresh.yaml").write_bytes(text)
        assert refresh() == 1
        assert run.said().startswith("factdrift: refresh.yaml: ")
    # Keys that a refresh would not see.
    configured(run.server)
    for argument in ("--config", "-Cvariant=revised", "--configf"):
        assert refresh(argument, "variant=revised") == 1
        assert f"{argument}: `factdrift refresh` must know the configuration too" in run.said()
    assert not run.server.asked


def test_a_release_keeps_the_newest_snapshots(series: Run) -> None:
    # Of another build; of a first release that was never complete.
    for folder in ("2020-01-06", "2026-09-14"):
        (SNAPSHOTS / folder).mkdir()
        (SNAPSHOTS / folder / "wikidata.json.gz").touch()
    (SNAPSHOTS / "2026-09-14/.refresh.json").write_text('{"dump": "x"}')
    (SNAPSHOTS / "2026-09-21").mkdir()
    (SNAPSHOTS / "2026-09-21/notes.txt").touch()
    (SNAPSHOTS / "2026-09-21/.refresh.json").write_text('{"dump": "x"}')
    assert refresh("--cores", "1") == 0
    assert snapshots() == {"2020-01-06", "2026-10-07", "2026-11-07"}
    assert (SNAPSHOTS / "2026-09-21/notes.txt").is_file()
    # The stream follows the statements of all dumps, which are in the filters' tables.
    assert len(list(Path("results").glob("*_*/filtered"))) == 2
    assert Path("results/2026-09-07_2026-10-07/wikifactdiff.parquet").is_file()
    out = series.said()
    assert "new since 2026-10-07: 2 Archive, 1 AddObject" in out
    assert "removed results/snapshots/2026-09-14 (refresh.retention: 2)" in out
    assert "not removed: results/snapshots/2026-09-21: notes.txt in it was not written there" in out
    (line,) = series.workflow.lines
    # What is released is no target any more.
    assert 'refresh={"released": ["2026-09-07", "2026-10-07"]}' in line


@pytest.mark.parametrize(
    ("dates", "argument"), [((), "--dry-run"), (("2026-09-07", "2026-10-07"), "--touch")]
)
def test_without_a_release_nothing_is_removed(run: Run, dates: tuple[str, ...], argument: str) -> None:
    """Snakemake's status 0 is no release."""
    if dates:
        released(*dates)
    before = set(Path("results").rglob("*.gz")) | set(Path("results").rglob("rows.parquet"))
    run.workflow.does = [lambda config: 0]
    assert refresh("--cores", "1", argument) == 1
    said = run.said()
    assert "was not made, though Snakemake ended with status 0; nothing was removed" in said
    assert "release.json is missing" in said
    assert "removed results" not in said
    assert set(Path("results").rglob("*.gz")) | set(Path("results").rglob("rows.parquet")) == before


def test_a_dry_run_removes_nothing_that_an_interrupted_refresh_has_left(run: Run) -> None:
    released("2026-09-07", "2026-10-07", "2026-11-07")
    for argument in ("-n", "-np", "--dry-run"):
        assert refresh(argument) == 0
    assert snapshots() == {"2026-09-07", "2026-10-07", "2026-11-07"}
    assert refresh() == 0
    assert snapshots() == {"2026-10-07", "2026-11-07"}
    assert not run.workflow.lines


@pytest.mark.parametrize(
    ("changed", "message"),
    [
        ("releases/2026-10-07/stream.parquet", "results/releases/2026-10-07/stream.parquet: bytes is 0"),
        ("2026-09-07_2026-10-07/wikifactdiff.parquet", "is not the one in results/releases/2026-10-07"),
    ],
)
def test_a_release_whose_files_have_changed_is_no_ground_to_build_on(series, changed, message):
    """Nor an interval that was made again."""
    Path("results", changed).write_bytes(b"")
    assert refresh() == 1
    assert message in series.said()
    assert not series.workflow.lines
    assert snapshots() == {"2026-09-07", "2026-10-07"}


def test_a_changed_configuration_is_refused(series: Run) -> None:
    configured(series.server, variant="revised", seed=7, shards=9)
    assert refresh() == 1
    said = series.said()
    assert 'variant (was "paper", is "revised")' in said
    assert "seed (was 0, is 7)" in said
    assert "shards" not in said
    assert not series.workflow.lines
    assert not series.server.asked


def test_a_folder_that_a_server_refuses_ends_the_refresh(series: Run) -> None:
    """A later dump would take its place in the series for good."""
    series.server.always[f"{HOME}20261107/"] = Fault(status=403)
    assert refresh() == 1
    assert "20261107/: the server refuses with status 403" in series.said()
    assert not series.workflow.lines


def test_a_dump_that_is_skipped_does_not_hold_up_later_releases(series: Run) -> None:
    """A build that fails ends the refresh, until the date of its dump is named."""
    series.workflow.does = [lambda config: 3]
    assert refresh() == 3
    said = series.said()
    assert "release 2026-11-07 is not complete; the same command continues from here" in said
    assert "or name its date in `refresh.skip`" in said
    assert snapshots() == {"2026-09-07", "2026-10-07"}
    configured(series.server, refresh={"listings": [series.server.url + HOME], "skip": ["2026-11-07"]})
    assert refresh() == 0
    assert "results/releases/2026-11-14: 6 files" in series.said()
    assert len(series.workflow.lines) == 2
    assert not (SNAPSHOTS / "2026-11-07").exists()


def test_a_mended_dump_replaces_the_one_here(series: Run) -> None:
    """Also before anything was found wrong with it, and whatever triggers Snakemake is given."""
    series.workflow.does = [lambda config: 1]
    assert refresh() == 1
    dump = SNAPSHOTS / "2026-11-07/wikidata.json.gz"
    dump.write_bytes(b"20261107")
    series.workflow.does = [lambda config: 1]
    assert refresh() == 1
    assert dump.is_file()
    sums = f"{HOME}20261107/wikidata-20261107-sha1sums.txt"
    series.server.files[sums] = f"{7:040x}  wikidata-20261107-all.json.gz\n".encode()
    held: list[bool] = []
    series.workflow.does = [lambda config: held.append(dump.exists()) or Workflow.make(config)]
    assert refresh("--rerun-triggers", "mtime") == 0
    assert held == [False]
    assert "2026-11-07: the server has another dump than the one that is here" in series.said()
