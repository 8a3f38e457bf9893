"""The workflow on a real SLURM of one node, which the test starts and stops (support/slurm.py)."""

import getpass
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import slurm
from support.cluster import FORGOTTEN, NEW, OLD, Run, same_files, stopping, submitted_by
from support.waiting import comes_true, wait_until
from support.workflow import copied, run_here

pytest.importorskip(
    "snakemake_executor_plugin_slurm", reason="what submits jobs is installed with `make cluster`"
)

QUICK = ("--slurm-init-seconds-before-status-checks", "1")
BASELINE = f"results/{OLD}_{NEW}/evaluation/tiny/updates/none/0-of-1.answers.parquet"
SAMPLE, SHARD = f"results/snapshots/{OLD}/sample.json.gz", f"results/snapshots/{OLD}/shards/0-of-1x1"
OTHER = {"old": "2015-01-01", "new": "2016-01-01"}


@pytest.fixture
def _cluster(tmp_path: Path) -> Iterator[None]:
    with slurm.cluster(tmp_path / "slurm"):
        yield


@pytest.mark.system
@pytest.mark.slow
@pytest.mark.skipif(bool(slurm.why_not()), reason=slurm.why_not())
@pytest.mark.usefixtures("_cluster")
def test_a_run_that_loses_jobs_and_is_interrupted_gives_what_one_machine_gives(built, tmp_path):
    """One job exceeds its memory, one is cancelled, one has a GPU, and small ones share submissions.

    The memory is said as docs/cluster.md says it, and grows nevertheless. Another run in the directory ends
    meanwhile, and removes no folder of logs of this one.
    """
    torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
    from support.tiny_models import tiny_model, tiny_tokenizer

    directory, hook = tmp_path / "run", tmp_path / "hook"
    tiny_model("llama", dtype=torch.float32).model.save_pretrained(directory / "tiny")
    tiny_tokenizer().save_pretrained(directory / "tiny")
    local = copied(directory, copied(built, tmp_path / "local"))
    config = {"models": ["tiny"], "edit": {"limit": 4, "length": 20}}
    env = stopping(hook, memory=SAMPLE, cancelled=SAMPLE, interrupted=SHARD)
    line = (directory, "slurm", "--set-resources", "render_sample:mem_mb=1500*attempt", *QUICK)
    run = Run(*line, "results/wfd_repl.parquet", BASELINE, env=env, **config)
    another = Run(*line, "results/snapshots/2015-01-01/sample.json.gz", snapshots=OTHER)
    run_here(local, BASELINE, **config)
    run.waits_for(hook / "cancelled")
    subprocess.run(["scancel", _renders()[1]["JobId"]], check=True)
    submitted = submitted_by(another.ends())
    run.waits_for(hook / "interrupted")
    made = (directory / SAMPLE).stat().st_mtime_ns
    said = run.interrupt()
    assert said.count("Trying to restart job") == 2
    assert "Terminating processes on user request" in said
    if not comes_true(lambda: not slurm.queued(), FORGOTTEN):
        subprocess.run(["scancel", f"--user={getpass.getuser()}"], check=True)
    wait_until(lambda: not slurm.queued())
    assert not (directory / SHARD).exists()
    continued = Run(*line, "results/wfd_repl.parquet", BASELINE, env=env, **config).ends()
    assert "steps (100%) done" in continued
    assert (directory / SAMPLE).stat().st_mtime_ns == made
    assert same_files(directory, local) > 10
    for name in ("results/wfd_repl.parquet", BASELINE):
        assert (directory / name).read_bytes() == (local / name).read_bytes()
    jobs = _jobs()
    assert submitted + submitted_by(said) + submitted_by(continued) == len(jobs)
    (with_gpu,) = [job["Comment"] for job in jobs if job.get("TresPerJob") == "gres:gpu:1"]
    assert with_gpu.startswith("rule_evaluate")
    (steps,) = set(re.findall(r"of (\d+) steps", said))
    assert len({job["Comment"] for job in jobs}) < 0.8 * int(steps)
    assert list((directory / ".snakemake/slurm_logs").rglob("*.log"))
    renders = _renders()
    assert [job["JobState"] for job in renders[1:]] == ["CANCELLED", "COMPLETED"]
    asked = [(job["MinMemoryNode"], job["TimeLimit"]) for job in renders]
    assert asked == [("1500M", "00:10:00"), ("3000M", "00:20:00"), ("4500M", "00:40:00")]
    if slurm.accounts():
        # What docs/cluster.md reads: the killed job's peak is above what it had asked for.
        options = ("--parsable2", "--noheader", "--units=M", "--format=MaxRSS")
        shown = slurm.asked("sacct", *options, f"--jobs={renders[0]['JobId']}")
        assert max(float(peak.rstrip("M")) for peak in shown.split()) > 1500


def _jobs() -> list[dict[str, str]]:
    """What the cluster says of each job, of those that have ended too, in the order of their numbers."""
    lines = slurm.asked("scontrol", "-o", "show", "job").splitlines()
    jobs = [dict(re.findall(r"(\w+)=(\S*)", line)) for line in lines if line.startswith("JobId=")]
    return sorted(jobs, key=lambda job: int(job["JobId"]))


def _renders() -> list[dict[str, str]]:
    """The attempts to render the sample of the first date."""
    return [job for job in _jobs() if f"render_sample_wildcards_{OLD}" in job["Comment"]]
