"""What each scheduler is told, and what its answers mean."""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from typing import NamedTuple

RUNNING, SUCCESS, FAILED = "running", "success", "failed"


class Job(NamedTuple):
    """What a job asks for: cores, megabytes, minutes, GPUs; the folder in which it runs, and its log."""

    name: str
    threads: int
    mem_mb: int
    runtime: int
    gpu: int
    folder: str
    log: str


class Scheduler(NamedTuple):
    """How one scheduler is spoken to.

    `finds`: commands that only this one has. `submit`: the command for a job, before the script's path. `id`:
    where its answer has the job's number. `state`: the command whose answer contains one of the patterns of
    `states`; a job of which none is found, or that is not known any more, has failed.
    """

    finds: tuple[str, ...]
    submit: Callable[[Job], list[str]]
    id: str
    state: tuple[str, ...]
    states: Mapping[str, str]
    cancel: tuple[str, ...]


def _hours(minutes: int) -> str:
    return f"{minutes // 60:02d}:{minutes % 60:02d}:00"


def _pbs(job: Job) -> list[str]:
    gpus = f":ngpus={job.gpu}" if job.gpu else ""
    chunk = f"select=1:ncpus={job.threads}:mem={job.mem_mb}mb{gpus}"
    limits = ["-l", chunk, "-l", f"walltime={_hours(job.runtime)}"]
    return ["qsub", "-N", job.name[:15], *limits, "-j", "oe", "-o", job.log, "-V"]


def _lsf(job: Job) -> list[str]:
    gpus = ["-gpu", f"num={job.gpu}"] if job.gpu else []
    # Of a node's memory, LSF's limit is that of the whole job, and its reservation that of one slot.
    memory = ["-M", f"{job.mem_mb}MB", "-R", f"rusage[mem={-(-job.mem_mb // job.threads)}MB] span[hosts=1]"]
    limits = ["-n", str(job.threads), *memory, "-W", str(job.runtime), *gpus]
    return ["bsub", "-J", job.name, *limits, "-cwd", job.folder, "-o", job.log]


def _sge(job: Job) -> list[str]:
    slots = ["-pe", "smp", str(job.threads)] if job.threads > 1 else []
    # Grid Engine multiplies by the number of slots.
    memory = f"h_vmem={-(-job.mem_mb // job.threads)}M"
    gpus = ["-l", f"gpu={job.gpu}"] if job.gpu else []
    limits = [*slots, "-l", f"{memory},h_rt={_hours(job.runtime)}", *gpus]
    return ["qsub", "-terse", "-N", job.name, *limits, "-cwd", "-V", "-j", "y", "-o", job.log]


def _slurm(job: Job) -> list[str]:
    gpus = [f"--gpus={job.gpu}"] if job.gpu else []
    limits = [f"--cpus-per-task={job.threads}", f"--mem={job.mem_mb}", f"--time={job.runtime}", *gpus]
    return ["sbatch", "--parsable", f"--job-name={job.name}", *limits, f"--output={job.log}"]


SCHEDULERS = {
    "slurm": Scheduler(
        ("sbatch",),
        _slurm,
        r"^(\d+)",
        ("scontrol", "-o", "show", "job"),
        {
            r"JobState=COMPLETED\b": SUCCESS,
            r"JobState=(PENDING|RUNNING|CONFIGURING|COMPLETING|SUSPENDED|REQUEUED)\b": RUNNING,
        },
        ("scancel",),
    ),
    "lsf": Scheduler(
        ("bsub",),
        _lsf,
        r"Job <(\d+)>",
        ("bjobs", "-noheader", "-o", "stat"),
        {r"^DONE\b": SUCCESS, r"^(PEND|RUN|PROV|WAIT|PSUSP|USUSP|SSUSP|UNKWN)\b": RUNNING},
        ("bkill",),
    ),
    "pbs": Scheduler(
        ("qsub", "pbsnodes"),
        _pbs,
        r"^(\S+)",
        ("qstat", "-x", "-f"),
        {r"(?m)^\s*Exit_status = 0$": SUCCESS, r"(?m)^\s*job_state = [^FX\n]": RUNNING},
        ("qdel",),
    ),
    # Of a job that has ended, `qstat` says nothing and `qacct` the rest, a moment later; until then neither
    # knows it.
    "sge": Scheduler(
        ("qsub", "qhost"),
        _sge,
        r"^(\d+)",
        (
            *("bash", "-c"),
            'for wait in 0 1 5 20; do sleep $wait; qstat -j "$0" 2>/dev/null || qacct -j "$0" && exit; done',
        ),
        {
            r"(?m)^failed +0\b[\s\S]*^exit_status +0\b": SUCCESS,
            r"(?m)^job_number:": RUNNING,
        },
        ("qdel",),
    ),
}


def scheduler() -> Scheduler:
    """The scheduler of this machine."""
    named = os.environ.get("FACTDRIFT_SCHEDULER")
    if named:
        if named not in SCHEDULERS:
            sys.exit(f"FACTDRIFT_SCHEDULER={named} is none of {', '.join(SCHEDULERS)}")
        return SCHEDULERS[named]
    for each in SCHEDULERS.values():
        if all(map(shutil.which, each.finds)):
            return each
    sys.exit(
        "no scheduler is found: neither sbatch, nor bsub, nor qsub with pbsnodes or qhost; load its module, "
        f"or name it: FACTDRIFT_SCHEDULER={'|'.join(SCHEDULERS)}"
    )


def submitted(each: Scheduler, job: Job, script: str) -> str:
    """Submits a script and returns its number; a refusal ends the process with the scheduler's words."""
    own = shlex.split(os.environ.get("FACTDRIFT_SUBMIT_OPTIONS", ""))
    done = subprocess.run([*each.submit(job), *own, script], capture_output=True, text=True, check=False)
    found = re.search(each.id, done.stdout, re.MULTILINE)
    if done.returncode or not found:
        sys.exit(f"{each.submit(job)[0]} refuses {job.name}: {done.stdout}{done.stderr}")
    return found[1]


def state(each: Scheduler, number: str) -> str:
    """`running`, `success` or `failed`; `running` too while the scheduler does not answer."""
    done = subprocess.run([*each.state, number], capture_output=True, text=True, check=False)
    for pattern, meaning in each.states.items():
        if re.search(pattern, done.stdout):
            return meaning
    return RUNNING if _silent(done.stderr) else FAILED


def _silent(said: str) -> bool:
    """Whether the scheduler could not be asked, as opposed to not knowing the job."""
    patterns = r"timed out|[Uu]nable to contact|cannot connect|[Cc]onnection refused|LSF is down|Please wait"
    return bool(re.search(patterns, said))
