"""A SLURM cluster of one node on loopback, with its own munge, memory limits, and GPUs that are not there.

Where slurmdbd and MariaDB are installed it keeps accounts, in a database of its own. SLURM looks for its
configuration under /etc/slurm, and Snakemake's job steps drop the variable that would name another place. So
links are made there, which is why a machine that is part of a cluster is left alone.
"""

import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import psutil

CONFIGURATION = Path("/etc/slurm")
PROGRAMS = ("slurmctld", "slurmd", "sbatch", "munged")
PACKAGES = "slurmctld slurmd slurm-client munge slurm-wlm-basic-plugins"
FILES = ("slurm.conf", "gres.conf", "slurmdbd.conf")
OWNER = "process-of-the-test"
ACCOUNTING = ("slurmdbd", "sacctmgr", "mariadbd", "mariadb-install-db")
"""Programs of Debian's packages slurmdbd, slurm-wlm-mysql-plugin and mariadb-server."""

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
{accounting}
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

NO_ACCOUNTS = "AccountingStorageType=accounting_storage/none"
ACCOUNTS = """AccountingStorageType=accounting_storage/slurmdbd
AccountingStorageHost=127.0.0.1
AccountingStoragePort={port}
AccountingStoragePass={state}/run/munge.socket
AccountingStoreFlags=job_comment"""

# MariaDB asks nobody for a password (--skip-grant-tables) and listens on the loopback device only.
DBD_CONF = """
AuthType=auth/munge
AuthInfo=socket={state}/run/munge.socket
DbdAddr=127.0.0.1
DbdHost=localhost
DbdPort={port}
SlurmUser=root
StorageType=accounting_storage/mysql
StorageHost=127.0.0.1
StoragePort={storage}
StorageUser=root
StoragePass=none
LogFile={state}/slurmdbd.log
PidFile={state}/run/slurmdbd.pid
"""


def accounts() -> bool:
    """Whether the cluster keeps accounts, which `sacct` reads."""
    return all(shutil.which(name) for name in ACCOUNTING)


def why_not() -> str:
    """Why no cluster can be started on this machine; empty if it can."""
    if any(shutil.which(name) is None for name in PROGRAMS):
        return f"SLURM is not installed (Debian: apt-get install {PACKAGES})"
    if os.geteuid() != 0:
        return "only root may start SLURM's daemons"
    for name in FILES:
        if (CONFIGURATION / name).exists() and _left_by_a_test(CONFIGURATION / name) is None:
            return f"{CONFIGURATION / name} is this machine's own, or a test's that runs; it is not touched"
    return ""


def _left_by_a_test(path: Path) -> Path | None:
    """The state folder of a cluster whose test was killed, if this file is a link into it."""
    owner = path.resolve().parent / OWNER
    if path.is_symlink() and owner.is_file() and not psutil.pid_exists(int(owner.read_text())):
        return owner.parent
    return None


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
    *ports, port, storage = free_ports(4)
    kept = ACCOUNTS.format(state=state, port=port) if accounts() else NO_ACCOUNTS
    values = {"host": host, "user": "root", "state": state, "ports": ports, "accounting": kept}
    text = CONF.format(**values, cpus=CPUS, memory=MEMORY_MB, gpus=GPUS)
    (state / "slurm.conf").write_text(text)
    (state / "slurmdbd.conf").write_text(DBD_CONF.format(state=state, port=port, storage=storage))
    (state / "slurmdbd.conf").chmod(0o600)
    (state / "gres.conf").write_text(f"NodeName={host} Name=gpu File=/dev/tty[0-{GPUS - 1}]\n")
    (state / OWNER).write_text(str(os.getpid()))
    links = [CONFIGURATION / name for name in FILES]
    for link in links:
        if left := _left_by_a_test(link):
            _stop(left)
    try:
        for link in links:
            link.unlink(missing_ok=True)
            link.symlink_to(state / link.name)
        _start(state, port, storage)
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


def _start(state: Path, port: int, storage: int) -> None:
    munge = ["munged", "--force", f"--key-file={state}/munge/munge.key"]
    munge += [f"--socket={state}/run/munge.socket", f"--pid-file={state}/run/munged.pid"]
    munge += [f"--log-file={state}/munge/munged.log", f"--seed-file={state}/munge/munged.seed"]
    _run(state, munge)
    if accounts():
        _start_accounting(state, port, storage)
    for daemon in ("slurmctld", "slurmd"):
        _run(state, [daemon, "-c"])
    _comes_true(state, lambda: "idle" in asked("sinfo", "-h", "-o", "%t"))


def _start_accounting(state: Path, port: int, storage: int) -> None:
    data = f"--datadir={state}/database"
    install = ["mariadb-install-db", "--no-defaults", "--auth-root-authentication-method=normal"]
    _run(state, [*install, "--skip-test-db", "--user=root", data])
    server = ["mariadbd", "--no-defaults", "--user=root", "--skip-grant-tables", "--bind-address=127.0.0.1"]
    server += [data, f"--port={storage}", f"--socket={state}/run/database.socket"]
    with (state / "start.log").open("ab") as log:
        subprocess.Popen(
            [*server, f"--pid-file={state}/run/mariadbd.pid"],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    _comes_true(state, lambda: _listens(storage))
    _run(state, ["slurmdbd"])
    _comes_true(state, lambda: _listens(port))
    _run(state, ["sacctmgr", "--immediate", "add", "cluster", "factdrift"])


def _listens(port: int) -> bool:
    with socket.socket() as one:
        return one.connect_ex(("127.0.0.1", port)) == 0


def _run(state: Path, line: list[str]) -> None:
    # Daemons keep what they inherit: a pipe would never be closed.
    with (state / "start.log").open("ab") as log:
        subprocess.run(line, check=True, stdin=subprocess.DEVNULL, stdout=log, stderr=log, timeout=120)


def _comes_true(state: Path, condition: Callable[[], bool]) -> None:
    end = time.monotonic() + 120
    while not condition():
        logs = "".join(path.read_text(errors="replace")[-3000:] for path in sorted(state.glob("*.log")))
        assert time.monotonic() < end, logs
        time.sleep(0.1)


def _stop(state: Path) -> None:
    for name in ("slurmd", "slurmctld", "slurmdbd", "mariadbd", "munged"):
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
