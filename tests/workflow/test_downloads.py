"""Dumps and page views that the workflow fetches itself, from a server on the loopback interface."""

import bz2
import hashlib
import os
import re
import signal
import subprocess

import pyarrow.parquet as pq
import pytest
from support.excerpt import EXCERPT, MONTHS, NEW, OLD, build, config, file_of
from support.server import Fault, serving
from support.waiting import wait_until
from support.workflow import command, copied, snakemake

from factdrift.cli import main

DUMP = "/files/excerpt.json.bz2"
VIEWS = {f"/views/{month[:4]}/{month}/{file_of(month)}": packed for month, packed in MONTHS.items()}
DOWNLOADED = f"results/snapshots/{NEW}/wikidata.json.bz2"
POPULARITY = f"results/{OLD}_{NEW}/popularity.parquet"


@pytest.fixture
def server():
    with serving() as server:
        server.files = {DUMP: EXCERPT.read_bytes(), **VIEWS}
        yield server


@pytest.mark.slow
def test_downloads_give_what_local_files_give(server, excerpt, tmp_path):
    """The same dump, and the same popularity from it and the page views; no stage reads anything else."""
    here, there = copied(excerpt, tmp_path / "here"), tmp_path / "there"
    # A changed file of page views makes the popularity again.
    month = here / "views" / file_of("2017-05")
    month.write_bytes(month.read_bytes() + bz2.compress(b"en.wikipedia X 1 desktop 1 A1\n"))
    planned = build(here, "-n", **config(str(EXCERPT), pageviews="views"))
    assert re.search(r"rule popularity:\n.*(\n.*)*reason: .*pageviews-201705-user", planned)

    digest = hashlib.sha1(EXCERPT.read_bytes()).hexdigest()
    server.faults[DUMP] = [Fault(cut=50_000), Fault(status=503, headers={"Retry-After": "1"})]
    downloading = config(
        f"{server.url}{DUMP}#sha1={digest}", pageviews=f"{server.url}/views", contact="me@example.org"
    )
    build(there, targets=(DOWNLOADED, POPULARITY), **downloading)
    assert (there / DOWNLOADED).read_bytes() == EXCERPT.read_bytes()
    assert (there / POPULARITY).read_bytes() == (excerpt / POPULARITY).read_bytes()
    assert set(pq.read_table(there / POPULARITY)["source"].to_pylist()) - {"sitelinks"}
    assert [asked.start for asked in server.gets(DUMP)] == [0, 50_000, 50_000]
    assert {len(server.gets(path)) for path in VIEWS} == {1}
    tables = {path.name for path in (there / "results/fetched/pageviews").iterdir()}
    assert tables == {f"{m}.parquet" for m in MONTHS}

    # Another contact fetches nothing again.
    before = len(server.asked)
    said = build(
        there, "-n", targets=(DOWNLOADED, POPULARITY), **downloading | {"contact": "you@example.org"}
    )
    assert "Nothing to be done" in said
    assert len(server.asked) == before


@pytest.mark.slow
def test_a_download_that_failed_and_was_killed_continues_in_the_next_run(server, tmp_path, monkeypatch):
    server.faults[DUMP] = [
        *(Fault(cut=50_000), Fault(status=429, headers={"Retry-After": "86400"})),
        Fault(hold=30_000),
    ]
    keys = config(f"{server.url}{DUMP}", contact="me@example.org")
    said = snakemake(tmp_path, DOWNLOADED, fails=True, **keys)
    assert "come back in 86,400 s" in said
    assert "Traceback" not in said
    part = tmp_path / f"{DOWNLOADED}.part"
    assert part.stat().st_size == 50_000
    run = subprocess.Popen(
        command(tmp_path, DOWNLOADED, **keys),
        start_new_session=True,
        cwd=tmp_path,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
    )
    wait_until(lambda: part.exists() and part.stat().st_size > 60_000, run)
    os.killpg(run.pid, signal.SIGKILL)
    run.wait()
    kept = part.stat().st_size
    monkeypatch.chdir(tmp_path)
    assert main(["unlock"]) == 0
    snakemake(tmp_path, DOWNLOADED, **keys)
    assert (tmp_path / DOWNLOADED).read_bytes() == EXCERPT.read_bytes()
    assert [asked.start for asked in server.gets(DUMP)] == [0, 50_000, 50_000, kept]
    assert server.gets(DUMP)[-1].sent == EXCERPT.stat().st_size - kept


def test_without_a_contact_no_request_is_sent(server, tmp_path, monkeypatch):
    monkeypatch.delenv("FACTDRIFT_CONTACT", raising=False)
    said = snakemake(tmp_path, DOWNLOADED, fails=True, **config(f"{server.url}{DUMP}"))
    assert "is no mail or web address" in said
    assert "configuration key 'contact'" in said
    # Before any job, and not where nothing is to be downloaded.
    assert "rule download_dump" not in said
    assert not (tmp_path / "logs" / "snapshots").exists()
    assert not server.asked
