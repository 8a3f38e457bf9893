"""A refresh that is asked to end ends Snakemake and its jobs first, and keeps the lock until then."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
import pytest
from support.waiting import wait_until

from factdrift.core.owned import try_lock

REFRESH = """
import sys
from pathlib import Path
from factdrift.core.owned import try_lock
from factdrift.publish.releases import build

build.GRACE = float(sys.argv[2])
with open("lock", "w") as lock:
    assert try_lock(lock, Path("lock"))
    sys.exit(build.run([sys.executable, "snakemake.py", sys.argv[1]], lock))
"""

SNAKEMAKE = """
import os, signal, subprocess, sys, time

def interrupted(number, frame):
    global ending
    ending = True

ending = False
signal.signal(signal.SIGINT, signal.SIG_IGN if sys.argv[1] == "hangs" else interrupted)
job = subprocess.Popen(["sleep", "60"])
with open("pids.new", "w") as file:
    file.write(f"{os.getpid()} {job.pid}")
os.rename("pids.new", "pids")
while sys.argv[1] == "hangs" or not (ending and job.poll() is not None):
    time.sleep(0.05)
# As `scancel` does on a cluster; the lock is held meanwhile.
subprocess.run(["sh", "-c", "sleep 0.5; echo > cancelled"])
sys.exit(1)
"""


def start(folder: Path, how: str, grace: float = 30) -> subprocess.Popen[bytes]:
    (folder / "snakemake.py").write_text(SNAKEMAKE)
    line = [sys.executable, "-c", REFRESH, how, str(grace)]
    return subprocess.Popen(line, cwd=folder, start_new_session=True)


def pids(folder: Path) -> tuple[int, int]:
    wait_until(lambda: (folder / "pids").is_file())
    snakemake, job = map(int, (folder / "pids").read_text().split())
    return snakemake, job


def lives(pid: int) -> bool:
    return psutil.pid_exists(pid) and psutil.Process(pid).status() != psutil.STATUS_ZOMBIE


def locked(folder: Path) -> bool:
    with (folder / "lock").open("w") as file:
        return not try_lock(file, folder / "lock")


@pytest.mark.parametrize(("how", "number"), [("hangs", signal.SIGHUP), ("waits", signal.SIGINT)])
def test_a_signal_ends_snakemake_and_its_jobs_first(tmp_path: Path, how: str, number: int) -> None:
    """Ctrl-C in a terminal, which reaches all of them, counts once."""
    run = start(tmp_path, how, grace=30 if how == "waits" else 1)
    snakemake, job = pids(tmp_path)
    assert locked(tmp_path)
    (os.killpg if number == signal.SIGINT else os.kill)(run.pid, number)
    assert run.wait(60) == 128 + number
    assert not lives(snakemake)
    assert not lives(job)
    assert not locked(tmp_path)
    assert (tmp_path / "cancelled").is_file() == (how == "waits")


def test_the_lock_outlives_a_refresh_that_is_killed(tmp_path: Path) -> None:
    run = start(tmp_path, "waits")
    snakemake, job = pids(tmp_path)
    run.kill()
    run.wait(60)
    assert locked(tmp_path)
    for pid in (snakemake, job):
        os.kill(pid, signal.SIGKILL)
    wait_until(lambda: not locked(tmp_path))
