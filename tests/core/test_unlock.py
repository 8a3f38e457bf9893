"""`factdrift unlock` clears the lock of a dead run and respects that of a living one."""

import os
import re
import signal
import subprocess
import sys

import pytest

from factdrift.cli import main


@pytest.fixture
def lock(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    path = tmp_path / ".snakemake" / "locks" / "0.input.lock"
    path.parent.mkdir(parents=True)
    path.write_text("results/a.parquet\n")
    return path


def test_the_lock_of_a_run_that_is_gone_is_cleared(lock, capsys):
    assert main(["unlock"]) == 0
    assert not lock.exists()
    assert "is gone" in capsys.readouterr().out
    assert main(["unlock"]) == 0
    assert capsys.readouterr().out == ""


BEGINNING = """
import time
from factdrift.runs.begin import begin

follower = begin([], [], {"variant": "paper", "scope": "enwiki"}, 1, True)
print("up", flush=True)
time.sleep(600)
"""


def test_the_lock_of_a_run_that_cannot_be_seen_from_here_stays(lock, tmp_path, capsys):
    """On another machine, for example; here it is a process that does not look like Snakemake."""
    run = subprocess.Popen(
        [sys.executable, "-c", BEGINNING],
        stdout=subprocess.PIPE,
        text=True,
        env={**os.environ, "TMPDIR": str(tmp_path)},
    )
    try:
        assert run.stdout is not None
        assert run.stdout.readline() == "up\n"
        assert main(["unlock"]) == 1
        assert "is at work in this directory, on another machine" in capsys.readouterr().err
        assert lock.read_text() == "results/a.parquet\n"
    finally:
        run.kill()
        run.communicate()
    assert main(["unlock"]) == 0
    assert not lock.exists()


BUSY = "import subprocess\nchild = subprocess.Popen(['sleep', '60'])\n"


@pytest.mark.parametrize(
    ("job", "advice"),
    [
        (BUSY, r"with 1 child processes\); wait for it or stop it"),
        ("", "none of its jobs is at work on this machine. .* it hangs, .* end it with `kill -KILL {}` and"),
    ],
)
def test_the_lock_of_a_running_snakemake_stays(lock, tmp_path, capsys, job, advice):
    (tmp_path / "snakemake").write_text(f"import time\n{job}print('up', flush=True)\ntime.sleep(600)\n")
    run = subprocess.Popen(
        [sys.executable, "snakemake"], cwd=tmp_path, stdout=subprocess.PIPE, text=True, start_new_session=True
    )
    try:
        assert run.stdout is not None
        assert run.stdout.readline() == "up\n"
        assert main(["unlock"]) == 1
        said = capsys.readouterr().err
        assert f"(process {run.pid}" in said
        assert re.search(advice.format(run.pid), said), said
        assert lock.exists()
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
