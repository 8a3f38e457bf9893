"""The profiles for clusters: what they say, and what schedulers are told, with stand-ins for commands."""

import importlib
import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.workflow import ROOT

PROFILES = ROOT / "profiles"
sys.path.append(str(PROFILES / "cluster-generic"))
schedulers = importlib.import_module("schedulers")
JOB = schedulers.Job("edit_run", 4, 6001, 90, 1, "/shared/run", "/shared/run/logs/cluster/edit_run.7.txt")


def test_the_profiles_agree_in_what_they_share() -> None:
    slurm, generic = (
        yaml.safe_load((PROFILES / profile / "config.yaml").read_text(encoding="utf-8"))
        for profile in ("slurm", "cluster-generic")
    )
    shared = slurm.keys() & generic.keys() - {"executor"}
    assert len(shared) == 7
    assert {key: slurm[key] for key in shared} == {key: generic[key] for key in shared}


def test_what_each_scheduler_is_told() -> None:
    told = {name: " ".join(each.submit(JOB)) for name, each in schedulers.SCHEDULERS.items()}
    log = JOB.log
    assert told == {
        "slurm": "sbatch --parsable --job-name=edit_run --cpus-per-task=4 --mem=6001 --time=90 --gpus=1 "
        f"--output={log}",
        "lsf": "bsub -J edit_run -n 4 -M 6001MB -R rusage[mem=1501MB] span[hosts=1] -W 90 -gpu num=1 "
        f"-cwd /shared/run -o {log}",
        "pbs": "qsub -N edit_run -l select=1:ncpus=4:mem=6001mb:ngpus=1 -l walltime=01:30:00 -j oe "
        f"-o {log} -V",
        "sge": "qsub -terse -N edit_run -pe smp 4 -l h_vmem=1501M,h_rt=01:30:00 -l gpu=1 -cwd -V -j y "
        f"-o {log}",
    }
    small = JOB._replace(threads=1, gpu=0)
    assert not any("gpu" in " ".join(each.submit(small)) for each in schedulers.SCHEDULERS.values())
    assert "-pe" not in schedulers.SCHEDULERS["sge"].submit(small)


SLURM = {"COMPLETED": "success", "COMPLETING": "running", "OUT_OF_MEMORY": "failed"}
STATES = [
    *(("slurm", f"JobId=3 JobName=x JobState={state} Reason=None", "", now) for state, now in SLURM.items()),
    ("slurm", "", "slurm_load_jobs error: Invalid job id specified", "failed"),
    ("slurm", "", "slurm_load_jobs error: Unable to contact slurm controller", "running"),
    *(("lsf", "DONE", "", "success"), ("lsf", "SSUSP", "", "running"), ("lsf", "EXIT", "", "failed")),
    ("lsf", "", "Job <7> is not found", "failed"),
    ("lsf", "", "LSF is down. Please wait ...", "running"),
    ("pbs", "Job Id: 7.head\n    job_state = F\n    Exit_status = 0\n", "", "success"),
    ("pbs", "Job Id: 7.head\n    job_state = F\n    Exit_status = 271\n", "", "failed"),
    ("pbs", "Job Id: 7.head\n    job_state = R\n", "", "running"),
    ("sge", "job_number:                 7\nowner: me\n", "", "running"),
    ("sge", "jobname x\nfailed       0    \nexit_status  0\n", "", "success"),
    ("sge", "jobname x\nfailed       0    \nexit_status  137\n", "", "failed"),
    ("sge", "jobname x\nfailed       100 : assumedly after job\nexit_status  0\n", "", "failed"),
]


@pytest.mark.parametrize(("name", "out", "error", "meaning"), STATES)
def test_what_the_answers_mean(monkeypatch, name, out, error, meaning):
    done = subprocess.CompletedProcess([], 0, out, error)
    monkeypatch.setattr(schedulers.subprocess, "run", lambda *given, **options: done)
    assert schedulers.state(schedulers.SCHEDULERS[name], "7") == meaning


def command(folder: Path, name: str, script: str) -> None:
    """A stand-in for a command of a scheduler; `script` has the folder as $here."""
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(f'#!/bin/sh\nhere=$(dirname "$0")\n{script}\n', encoding="utf-8")
    (folder / name).chmod(0o755)


def test_a_job_of_grid_engine_that_has_just_ended_has_not_failed(tmp_path, monkeypatch):
    """Between the queue and the accounting, neither command knows it."""
    command(tmp_path / "bin", "qstat", "exit 1")
    later = 'test -e "$here/asked" || { touch "$here/asked"; exit 1; }'
    command(tmp_path / "bin", "qacct", f'{later}; echo "failed       0"; echo "exit_status  0"')
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    assert schedulers.state(schedulers.SCHEDULERS["sge"], "7") == "success"


def test_the_scheduler_is_found_by_its_commands(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("FACTDRIFT_SCHEDULER", raising=False)
    for name in schedulers.SCHEDULERS:
        found = schedulers.SCHEDULERS[name].finds
        monkeypatch.setattr(schedulers.shutil, "which", lambda program, found=found: program in found or None)
        assert schedulers.scheduler() is schedulers.SCHEDULERS[name]
    monkeypatch.setattr(schedulers.shutil, "which", lambda program: None)
    with pytest.raises(SystemExit, match="no scheduler is found"):
        schedulers.scheduler()
    monkeypatch.setenv("FACTDRIFT_SCHEDULER", "loadleveler")
    with pytest.raises(SystemExit, match="is none of slurm, lsf, pbs, sge"):
        schedulers.scheduler()


def test_own_options_and_a_refusal(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    command(tmp_path / "bin", "bsub", 'echo "$@" >> "$here/told"; echo "Job <12> is submitted"')
    command(tmp_path / "no", "bsub", 'echo "queue closed" >&2; exit 255')
    monkeypatch.setenv("FACTDRIFT_SUBMIT_OPTIONS", "-q long -P 'my project'")
    lsf = schedulers.SCHEDULERS["lsf"]
    monkeypatch.setenv("PATH", f"{tmp_path / 'bin'}:/bin:/usr/bin")
    assert schedulers.submitted(lsf, JOB, "job.sh") == "12"
    assert (tmp_path / "bin/told").read_text().endswith("-q long -P my project job.sh\n")
    monkeypatch.setenv("PATH", f"{tmp_path / 'no'}:/bin:/usr/bin")
    with pytest.raises(SystemExit, match="bsub refuses edit_run: queue closed"):
        schedulers.submitted(lsf, JOB, "job.sh")
