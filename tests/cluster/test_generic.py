"""The workflow through the commands of a scheduler, with a stand-in for LSF (support/fake_lsf.py)."""

import subprocess
from pathlib import Path

import pytest
from support import fake_lsf
from support.cluster import FORGOTTEN, OLD, Run, stopping, submitted_by
from support.nodes import why_no_nodes
from support.waiting import comes_true, wait_until

pytest.importorskip(
    "snakemake_executor_plugin_cluster_generic", reason="what submits jobs is installed with `make cluster`"
)

NAMES = ("sample.json.gz", "shards/0-of-1x1", "properties.parquet")
SAMPLE, SHARD, TARGET = (f"results/snapshots/{OLD}/{name}" for name in NAMES)
SHARED = ("input-output", "persistence", "software-deployment", "sources", "storage-local-copies")


@pytest.mark.slow
def test_a_run_that_loses_jobs_and_is_interrupted_gives_what_one_machine_gives(built, tmp_path):
    """Where the kernel allows it, on two nodes with own names, processes, scratch and homes."""
    directory, scheduler, hook = (tmp_path / name for name in ("run", "lsf", "hook"))
    env = fake_lsf.install(scheduler, nodes=not why_no_nodes())
    env = stopping(hook, env, memory=SAMPLE, cancelled=SAMPLE, interrupted=SHARD)
    line = (directory, "cluster-generic", "--notemp", TARGET, "--shared-fs-usage", *SHARED)
    run = Run(*line, env=env)
    run.waits_for(hook / "cancelled")
    subprocess.run([str(scheduler / "bin/bkill"), "2"], check=True)
    run.waits_for(hook / "interrupted")
    made = (directory / SAMPLE).stat().st_mtime_ns
    said = run.interrupt()
    assert said.count("Trying to restart job") == 2
    assert "Terminating processes on user request" in said

    def ended() -> bool:
        return {job["state"] for job in fake_lsf.asked(scheduler)} == {"DONE", "EXIT"}

    if not comes_true(ended, FORGOTTEN):
        subprocess.run([str(scheduler / "bin/bkill"), "4"], check=True)
    wait_until(ended)
    assert not (directory / SHARD).exists()
    assert submitted_by(Run(*line, env=env).ends()) == 2
    jobs = fake_lsf.asked(scheduler)
    assert [job["state"] for job in jobs] == ["EXIT", "EXIT", "DONE", "EXIT", "DONE", "DONE"]
    asked = [(job["M"], job["W"]) for job in jobs[:3]]
    assert asked == [("1500MB", "10"), ("3000MB", "20"), ("6000MB", "40")]
    assert "TERM_MEMLIMIT" in Path(jobs[0]["o"]).read_text(encoding="utf-8")
    assert (directory / SAMPLE).stat().st_mtime_ns == made
    for name in (SAMPLE, TARGET):
        assert (directory / name).read_bytes() == (built / name).read_bytes()
    assert not list((scheduler / "scratch").glob("*"))
