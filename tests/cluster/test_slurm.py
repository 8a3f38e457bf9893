"""The workflow on a real SLURM of one node, which the tests start and stop (support/slurm.py)."""

from __future__ import annotations

import getpass
import re
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest
from support import slurm
from support.cluster import FORGOTTEN, NEW, OLD, Run, same_files, stopping, submitted_by
from support.waiting import comes_true, wait_until
from support.workflow import copied, snakemake

pytest.importorskip(
    "snakemake_executor_plugin_slurm", reason="what submits jobs is installed with `make cluster`"
)

PROFILE = "slurm"
QUICK = ("--slurm-init-seconds-before-status-checks", "1")
SHOWN = "--format=JobID,State,MaxRSS,ReqMem"
PAIR = f"results/{OLD}_{NEW}"
BASELINE = f"{PAIR}/evaluation/tiny/updates/none/0-of-1.answers.parquet"

pytestmark = [
    pytest.mark.system,
    pytest.mark.slow,
    pytest.mark.skipif(bool(slurm.why_not()), reason=slurm.why_not()),
]


@pytest.fixture(scope="module", autouse=True)
def _cluster(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    with slurm.cluster(tmp_path_factory.mktemp("slurm") / "state"):
        yield


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A directory with a model of a few thousand weights."""
    torch = pytest.importorskip("torch", reason="language models are installed with `make models`")
    from support.tiny_models import tiny_model, tiny_tokenizer

    tiny_model("llama", dtype=torch.float32).model.save_pretrained(tmp_path / "run/tiny")
    tiny_tokenizer().save_pretrained(tmp_path / "run/tiny")
    return tmp_path / "run"


def test_the_sample_and_a_job_with_a_gpu_as_on_one_machine(built: Path, model: Path, tmp_path: Path) -> None:
    edit = {"limit": 4, "length": 20}
    local = copied(model, copied(built, tmp_path / "local"))
    run = Run(model, PROFILE, *QUICK, "results/wfd_repl.parquet", BASELINE, models=["tiny"], edit=edit)
    snakemake(local, BASELINE, models=["tiny"], edit=edit)
    said = run.ends()
    assert same_files(model, local) > 10
    for name in ("results/wfd_repl.parquet", BASELINE):
        assert (model / name).read_bytes() == (local / name).read_bytes()
    shown = slurm.asked("scontrol", "-o", "show", "job").splitlines()
    with_gpu = [line for line in shown if "TresPerJob=gres:gpu:1" in line]
    assert len(with_gpu) == 1
    assert "Comment=rule_evaluate" in with_gpu[0]
    assert submitted_by(said) == len(shown)
    # Small jobs share submissions; on a starved machine some may have been sent twice.
    (steps,) = set(re.findall(r"of (\d+) steps", said))
    assert len({line.partition("Comment=")[2].split()[0] for line in shown}) < 0.8 * int(steps)
    assert "steps (100%) done" in said


def test_killed_jobs_come_back_with_more_and_two_runs_do_not_meet(tmp_path: Path) -> None:
    """Two runs in one directory. One loses a job to scancel, the other to the limit of its memory.

    The memory is said as docs/cluster.md says it, and grows nevertheless; the end of the first run removes no
    folder of logs of the other.
    """
    directory = tmp_path / "run"
    dates = [("2015-01-01", "2016-01-01"), ("2017-01-01", "2018-01-01")]
    files = [f"snapshots/{old}/sample.json.gz" for old, _ in dates]
    env = stopping(tmp_path / "hook", cancelled=files[0], memory=files[1])
    before = _known()
    memory = ("--set-resources", "render_sample:mem_mb=1500*attempt", *QUICK)
    runs = [
        Run(directory, PROFILE, *memory, f"results/{file}", env=env, snapshots={"old": old, "new": new})
        for file, (old, new) in zip(files, dates, strict=True)
    ]
    runs[0].waits_for(tmp_path / "hook/cancelled")
    (first,) = [job for job, line in _jobs().items() if job not in before and "2015-01-01" in line]
    subprocess.run(["scancel", first], check=True)
    for run, file in zip(runs, files, strict=True):
        assert "Trying to restart job" in run.ends()
        assert (directory / "results" / file).is_file()
    jobs = {job: line for job, line in _jobs().items() if job not in before}
    assert list((directory / ".snakemake/slurm_logs").rglob("*.log"))
    states = sorted(line.partition("JobState=")[2].split()[0] for line in jobs.values())
    assert len(states) == 4, states
    assert states.count("COMPLETED") == 2
    assert "CANCELLED" in states
    # The second attempts asked for twice as much memory and time.
    asked_memory = {line.partition("MinMemoryNode=")[2].split()[0] for line in jobs.values()}
    limits = {line.partition("TimeLimit=")[2].split()[0] for line in jobs.values()}
    assert (asked_memory, limits) == ({"1500M", "3000M"}, {"00:10:00", "00:20:00"})
    if slurm.accounts():
        # What docs/cluster.md reads: the killed job's peak is above what it had asked for.
        shown = slurm.asked(
            "sacct", "--parsable2", "--noheader", "--units=M", f"--jobs={','.join(jobs)}", SHOWN
        )
        rows = [line.split("|") for line in shown.splitlines()]
        asked = {job: float(memory.rstrip("M")) for job, _, _, memory in rows if memory}
        peaks = [(job, float(peak.rstrip("M"))) for job, _, peak, _ in rows if peak]
        assert any(peak > asked[job.partition(".")[0]] == 1500 for job, peak in peaks), shown
        assert {state for job, state, _, _ in rows if asked.get(job) == 3000} == {"COMPLETED"}


def test_a_run_that_was_interrupted_is_continued(tmp_path: Path) -> None:
    directory, target = tmp_path / "run", f"results/snapshots/{OLD}/shards/0-of-1x1"
    env = stopping(tmp_path / "hook", interrupted=f"{OLD}/shards/0-of-1x1")
    run = Run(directory, PROFILE, *QUICK, "--notemp", target, env=env)
    run.waits_for(tmp_path / "hook/interrupted")
    sample = directory / f"results/snapshots/{OLD}/sample.json.gz"
    made = sample.stat().st_mtime_ns
    assert "Terminating processes on user request" in run.interrupt()
    if not comes_true(lambda: not slurm.queued(), FORGOTTEN):
        subprocess.run(["scancel", f"--user={getpass.getuser()}"], check=True)
    wait_until(lambda: not slurm.queued())
    assert not (directory / target).exists()
    said = Run(directory, PROFILE, *QUICK, "--notemp", target, env=env).ends()
    assert (directory / target).is_dir()
    assert sample.stat().st_mtime_ns == made
    assert submitted_by(said) == 1


def _jobs() -> dict[str, str]:
    """Number -> what the cluster says of each job, of those that have ended too."""
    lines = slurm.asked("scontrol", "-o", "show", "job").splitlines()
    return {line.partition("JobId=")[2].split()[0]: line for line in lines if line.startswith("JobId=")}


def _known() -> set[str]:
    return set(_jobs())
