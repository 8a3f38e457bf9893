"""The workflow through the commands of a scheduler, with a stand-in for LSF (support/fake_lsf.py)."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from support import fake_lsf
from support.cluster import FORGOTTEN, NEW, OLD, Run, stopping, submitted_by
from support.nodes import why_no_nodes
from support.waiting import comes_true, wait_until

pytest.importorskip(
    "snakemake_executor_plugin_cluster_generic", reason="what submits jobs is installed with `make cluster`"
)

PROFILE = "cluster-generic"
SNAPSHOT = f"results/snapshots/{OLD}"
pytestmark = pytest.mark.slow


@pytest.mark.system
@pytest.mark.skipif(bool(why_no_nodes()), reason=why_no_nodes())
def test_nodes_that_share_one_folder_give_what_one_machine_gives(built: Path, tmp_path: Path) -> None:
    """Two nodes have their own names, processes, scratch and homes, and share the working directory."""
    directory, scheduler = tmp_path / "run", tmp_path / "lsf"
    env = fake_lsf.install(scheduler, nodes=True)
    target = f"{SNAPSHOT}/properties.parquet"
    shared = ["input-output", "persistence", "software-deployment", "sources", "storage-local-copies"]
    said = Run(directory, PROFILE, target, "--shared-fs-usage", *shared, env=env).ends()
    for name in (target, f"{SNAPSHOT}/sample.json.gz"):
        assert (directory / name).read_bytes() == (built / name).read_bytes()
    jobs = fake_lsf.asked(scheduler)
    assert [job["state"] for job in jobs] == ["DONE"] * 3
    assert submitted_by(said) == 3
    assert not list((scheduler / "scratch").iterdir())


def test_killed_jobs_come_back_with_more(tmp_path: Path) -> None:
    directory, scheduler = tmp_path / "run", tmp_path / "lsf"
    files = [f"snapshots/{date}/sample.json.gz" for date in (OLD, NEW)]
    env = stopping(tmp_path / "hook", fake_lsf.install(scheduler), cancelled=files[0], memory=files[1])
    run = Run(directory, PROFILE, *(f"results/{file}" for file in files), env=env)
    run.waits_for(tmp_path / "hook/cancelled")
    first = next(place for place, job in enumerate(fake_lsf.asked(scheduler), 1) if OLD in job["text"])
    subprocess.run([str(scheduler / "bin/bkill"), str(first)], check=True)
    assert "Trying to restart job" in run.ends()
    jobs = fake_lsf.asked(scheduler)
    assert sorted(job["state"] for job in jobs) == ["DONE", "DONE", "EXIT", "EXIT"]
    assert sorted(job["M"] for job in jobs) == ["1500MB", "1500MB", "3000MB", "3000MB"]
    assert sorted(job["W"] for job in jobs) == ["10", "10", "20", "20"]
    logs = [Path(job["o"]).read_text(encoding="utf-8") for job in jobs]
    assert any("TERM_MEMLIMIT" in log for log in logs)
    assert all((directory / "results" / file).is_file() for file in files)


def test_a_run_that_was_interrupted_is_continued(tmp_path: Path) -> None:
    directory, scheduler = tmp_path / "run", tmp_path / "lsf"
    target = f"{SNAPSHOT}/shards/0-of-1x1"
    env = stopping(tmp_path / "hook", fake_lsf.install(scheduler), interrupted=f"{OLD}/shards/0-of-1x1")
    run = Run(directory, PROFILE, "--notemp", target, env=env)
    run.waits_for(tmp_path / "hook/interrupted")
    made = (directory / f"{SNAPSHOT}/sample.json.gz").stat().st_mtime_ns
    assert "Terminating processes on user request" in run.interrupt()
    if not comes_true(lambda: _ended(scheduler), FORGOTTEN):
        subprocess.run([str(scheduler / "bin/bkill"), "2"], check=True)
    wait_until(lambda: _ended(scheduler))
    assert not (directory / target).exists()
    said = Run(directory, PROFILE, "--notemp", target, env=env).ends()
    assert (directory / target).is_dir()
    assert (directory / f"{SNAPSHOT}/sample.json.gz").stat().st_mtime_ns == made
    assert submitted_by(said) == 1


def _ended(scheduler: Path) -> bool:
    return {job["state"] for job in fake_lsf.asked(scheduler)} == {"DONE", "EXIT"}
