"""A SLURM cluster of one node on loopback, with its own munge, memory limits, and GPUs that are not there.

SLURM looks for its configuration under /etc/slurm, and Snakemake's job steps drop the variable that would
name another place. So links are made there, which is why a machine that is part of a cluster is left alone.
"""

from __future__ import annotations

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path

CONFIGURATION = Path("/etc/slurm")
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")
PACKAGES = "slurmctld slurmd slurm-client munge slurm-wlm-basic-plugins"
MEMORY_MB = 6000
CPUS = 4
GPUS = 2

# A job that takes more memory than it asked for is killed by what gathers its accounts, which looks every
# second: control groups would do it at once, but not every container may make one. The device files stand in
# for those of GPUs.
CONF = """
ClusterName=factdrift
SlurmctldHost={host}(127.0.0.1)
SlurmUser={user}
SlurmdUser=root
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={state}/run/munge.socket
MpiDefault=none
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
SwitchType=switch/none
JobAcctGatherType=jobacct_gather/linux
JobAcctGatherFrequency=task=1
JobAcctGatherParams=OverMemoryKill
AccountingStorageType=accounting_storage/none
JobCompType=jobcomp/none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU_Memory
SchedulerType=sched/backfill
SchedulerParameters=sched_min_interval=200000,batch_sched_delay=0,bf_interval=1
GresTypes=gpu
ReturnToService=2
MinJobAge=3600
InactiveLimit=0
KillWait=2
SlurmdParameters=config_overrides
StateSaveLocation={state}/ctld
SlurmdSpoolDir={state}/d
SlurmctldPidFile={state}/run/slurmctld.pid
SlurmdPidFile={state}/run/slurmd.pid
SlurmctldLogFile={state}/slurmctld.log
SlurmdLogFile={state}/slurmd.log
SlurmctldPort={ports[0]}
SlurmdPort={ports[1]}
NodeName={host} NodeAddr=127.0.0.1 CPUs={cpus} RealMemory={memory} Gres=gpu:{gpus} State=UNKNOWN
PartitionName=main Nodes={host} Default=YES MaxTime=INFINITE State=UP
"""


def why_not() -> str:
    """Why no cluster can be started on this machine; empty if it can."""
    if any(shutil.which(name) is None for name in PROGRAMS):
        return f"SLURM is not installed (Debian: apt-get install {PACKAGES})"
    if os.geteuid() != 0:
        return "only root may start SLURM's daemons"
    for name in ("slurm.conf", "gres.conf"):
        if (CONFIGURATION / name).exists():
            return f"{CONFIGURATION / name} is this machine's own; it is not touched"
    return ""


@contextlib.contextmanager
def cluster(state: Path) -> Iterator[None]:
    """The cluster runs inside the `with`; jobs that are left are cancelled at its end."""
    for folder in ("ctld", "d", "run", "munge"):
        (state / folder).mkdir(parents=True)
    state.chmod(0o755)
    (state / "munge").chmod(0o700)
    key = state / "munge" / "munge.key"
    key.write_bytes(secrets.token_bytes(1024))
    key.chmod(0o400)
    host = socket.gethostname().partition(".")[0]
    values = {"host": host, "user": "root", "state": state, "ports": free_ports(2)}
    text = CONF.format(**values, cpus=CPUS, memory=MEMORY_MB, gpus=GPUS)
    (state / "slurm.conf").write_text(text)
    (state / "gres.conf").write_text(f"NodeName={host} Name=gpu File=/dev/tty[0-{GPUS - 1}]\n")
    links = [CONFIGURATION / name for name in ("slurm.conf", "gres.conf")]
    try:
        for link in links:
            link.unlink(missing_ok=True)  # of a test that was killed: it leads nowhere
            link.symlink_to(state / link.name)
        _start(state)
        yield
    finally:
        with contextlib.suppress(OSError, subprocess.SubprocessError):
            subprocess.run(["scancel", "--user=root"], check=False, timeout=20, capture_output=True)
        _stop(state)
        for link in links:
            link.unlink(missing_ok=True)


def free_ports(count: int) -> list[int]:
    """Ports of the loopback device on which nobody listens."""
    with contextlib.ExitStack() as stack:
        sockets = [stack.enter_context(socket.socket()) for _ in range(count)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [int(each.getsockname()[1]) for each in sockets]


def _start(state: Path) -> None:
    munge = ["munged", "--force", f"--key-file={state}/munge/munge.key"]
    munge += [f"--socket={state}/run/munge.socket", f"--pid-file={state}/run/munged.pid"]
    munge += [f"--log-file={state}/munge/munged.log", f"--seed-file={state}/munge/munged.seed"]
    for line in (munge, ["slurmctld", "-c"], ["slurmd", "-c"]):
        # Daemons keep what they inherit: a pipe would never be closed.
        with (state / "start.log").open("ab") as log:
            subprocess.run(line, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=60)
    end = time.monotonic() + 60
    while "idle" not in asked("sinfo", "-h", "-o", "%t"):
        assert time.monotonic() < end, (state / "slurmctld.log").read_text()[-3000:]
        time.sleep(0.1)


def _stop(state: Path) -> None:
    for name in ("slurmd", "slurmctld", "munged"):
        with contextlib.suppress(FileNotFoundError, ValueError, ProcessLookupError):
            process = int((state / "run" / f"{name}.pid").read_text())
            os.kill(process, signal.SIGTERM)


def asked(*command: str) -> str:
    """What one of SLURM's commands prints; empty while nobody answers it."""
    return subprocess.run(command, capture_output=True, text=True, check=False, timeout=60).stdout


def queued() -> dict[str, str]:
    """Job -> state, of all that have not ended."""
    lines = asked("squeue", "--noheader", "--format=%A %T").splitlines()
    return dict(line.split() for line in lines)
