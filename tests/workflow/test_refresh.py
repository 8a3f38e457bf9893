"""Months of dumps on a server: all are released, though refreshes are killed or find a broken dump."""

import hashlib
import itertools
import json
import os
import random
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from support import forked
from support.kill import killing
from support.listings import HOME, add_dump, add_page
from support.server import Fault, Server, serving
from support.waiting import wait_until
from support.workflow import snakemake

from factdrift.cli import main
from factdrift.runs.leftovers import runs_in

YEAR = ("2023-10-02", "2023-11-06", "2023-12-04", "2024-01-08", "2024-02-05", "2024-03-04", "2024-04-08")
YEAR += ("2024-05-06", "2024-06-10", "2024-07-08", "2024-08-05", "2024-09-02", "2024-10-07")
MONTHS = YEAR[: int(os.environ.get("FACTDRIFT_MONTHS", "3"))]
"""The whole year takes some ten minutes: FACTDRIFT_MONTHS=13."""

KEYS = {"shards": 1, "buckets": 1, "neighbors": {"blocks": 1}, "check_disk": False}
"""Few jobs: the number changes no byte. The disk is checked for dumps of Wikidata's size."""

PLACES = (
    *("wikidata.json.gz", "shards/0-of-1x1", "statements/0-of-1.parquet", "filtered/new/0-of-1.parquet"),
    *("updates/0-of-1.parquet", "neighbors/space", "wikifactdiff.parquet", "chains/0-of-1.parquet"),
    *("stream.parquet", "manifest.json", "{date}"),
)
"""Files about to get their names when a run is killed; {date} is the release itself."""

PRODUCTS = ("wfd_repl.parquet", "wikifactdiff.parquet", "wikifactdiff.stats.json", "funnel.parquet")


def publish(server: Server, date: str, dump: bytes) -> None:
    """What the server has after it has finished a dump."""
    day = date.replace("-", "")
    name = f"wikidata-{day}-all.json.gz"
    add_dump(server, day)
    server.files[f"{HOME}{day}/{name}"] = dump
    digest = hashlib.sha1(dump).hexdigest()
    server.files[f"{HOME}{day}/wikidata-{day}-sha1sums.txt"] = f"{digest}  {name}\n".encode()
    days = [path.split("/")[-2] for path in server.files if path.startswith(HOME) and path.endswith("/")]
    add_page(server, HOME, [f"{day}/" for day in sorted({each for each in days if each.isdigit()})])


PROGRAM = "import sys; from factdrift.cli import main; sys.exit(main(sys.argv[1:]))"
LINE = [sys.executable, "-c", PROGRAM, "refresh", "--configfile", "refresh.yaml", "--", "--cores", "2"]


def refresh(directory: Path, env: dict[str, str] | None = None) -> subprocess.CompletedProcess[str]:
    """Ended; without an environment of its own, a run whose jobs are forked."""
    return subprocess.run(
        LINE,
        cwd=directory,
        env=env or forked.with_forked_jobs(),
        start_new_session=True,
        capture_output=True,
        text=True,
        check=False,
    )


def end_during_a_download(server: Server, path: str, directory: Path) -> None:
    """SIGTERM ends the jobs and Snakemake before the refresh, and leaves what has arrived."""
    server.faults[path] = [Fault(hold=1000)]
    with (directory / "ended.log").open("w") as log:
        run = subprocess.Popen(LINE, cwd=directory, stdout=log, stderr=log, start_new_session=True)
        wait_until(lambda: [each for each in server.gets(path) if each.sent], run)
        run.terminate()
        assert run.wait() == 128 + signal.SIGTERM, (directory / "ended.log").read_text()[-3000:]
    assert not runs_in(directory)
    server.released.set()


@pytest.mark.slow
def test_months_of_dumps_with_a_kill_in_each_give_what_one_build_gives(tmp_path):
    dumps = {date: tmp_path / f"{date}.json.gz" for date in MONTHS}
    for date, path in dumps.items():
        assert main(["sample", "render", "--date", date, "-o", str(path)]) == 0
    replay, chance = tmp_path / "replay", random.Random(19)
    replay.mkdir()
    with serving() as server:
        settings = {"listings": [server.url + HOME], "retention": 2}
        (replay / "refresh.yaml").write_text(
            json.dumps({**KEYS, "refresh": settings, "contact": "me@example.org"})
        )
        publish(server, MONTHS[0], dumps[MONTHS[0]].read_bytes())
        for date in MONTHS[1:]:
            if date == MONTHS[2]:
                publish(server, date, dumps[date].read_bytes()[:-9999])
                broken = refresh(replay)
                assert broken.returncode == 1, broken.stderr[-3000:]
                assert f"release {date} is not complete" in broken.stdout
                assert "the archive is truncated or corrupt" in broken.stdout + broken.stderr
            publish(server, date, dumps[date].read_bytes())
            place = chance.choice(PLACES).format(date=date)
            if date == MONTHS[1]:
                end_during_a_download(server, address(MONTHS[0]), replay)
            else:
                killed = refresh(replay, env=killing(tmp_path / "hook", place, "run"))
                assert killed.returncode == -signal.SIGKILL, (place, killed.stdout[-3000:])
            assert not (replay / "results/releases" / date).exists()
            done = refresh(replay)
            assert done.returncode == 0, (place, done.stdout[-3000:] + done.stderr[-3000:])
            assert f"results/releases/{date}: 6 files" in done.stdout
            # As if an update of the project had changed its tables: what is released is older than they are.
            for path in (replay / "results").glob(f"*_{date}/**/*"):
                os.utime(path, (0, 0))
        # Each dump was fetched once, or the rest of it after a kill, though old snapshots are gone.
        for date in MONTHS:
            assert len(server.gets(address(date))) <= (3 if date == MONTHS[2] else 2)
    kept = {path.name for path in (replay / "results/snapshots").iterdir()}
    assert kept == set(MONTHS[-2:])

    whole = tmp_path / "whole"
    pairs = [f"results/{old}_{new}" for old, new in itertools.pairwise(MONTHS)]
    snakemake(
        whole,
        "results/stream.parquet",
        *(f"{pair}/{name}" for pair in pairs for name in PRODUCTS),
        **KEYS,
        snapshots={"old": MONTHS[-2], "new": MONTHS[-1]},
        stream=MONTHS,
        dumps={date: str(path) for date, path in dumps.items()},
    )
    releases = [replay / "results/releases" / date for date in MONTHS[1:]]
    assert releases == sorted(path for path in releases[0].parent.iterdir() if path.is_dir())
    for release, pair in zip(releases, pairs, strict=True):
        for name in PRODUCTS:
            assert (release / name).read_bytes() == (whole / pair / name).read_bytes(), (release, name)
    assert (releases[-1] / "stream.parquet").read_bytes() == (whole / "results/stream.parquet").read_bytes()


def address(date: str) -> str:
    """The path of a dump on the server."""
    day = date.replace("-", "")
    return f"{HOME}{day}/wikidata-{day}-all.json.gz"
