"""`factdrift unlock` clears the lock of a dead run and respects that of a living one."""

import os
import re
import signal
import subprocess
import sys

import pytest

from factdrift.cli import main


@pytest.fixture
def lock(here):
    path = here / ".snakemake" / "locks" / "0.input.lock"
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
SNAKEMAKE = "import time\nprint('up', flush=True)\ntime.sleep(600)\n"


@pytest.mark.parametrize(
    ("name", "program", "advice"),
    [
        # On another machine, for example; here it is a process that does not look like Snakemake.
        ("run", BEGINNING, "is at work in this directory, on another machine"),
        (
            "snakemake",
            SNAKEMAKE,
            r"\(process {}\); wait for it or stop it, with `kill -KILL {}` where it hangs",
        ),
    ],
)
def test_the_lock_of_a_living_run_stays(lock, tmp_path, capsys, name, program, advice):
    (tmp_path / name).write_text(program)
    how = {"cwd": tmp_path, "env": {**os.environ, "TMPDIR": str(tmp_path)}, "start_new_session": True}
    run = subprocess.Popen([sys.executable, name], stdout=subprocess.PIPE, text=True, **how)
    try:
        assert run.stdout is not None
        assert run.stdout.readline() == "up\n"
        assert main(["unlock"]) == 1
        said = capsys.readouterr().err
        assert re.search(advice.replace("{}", str(run.pid)), said), said
        assert lock.exists()
    finally:
        os.killpg(run.pid, signal.SIGKILL)
        run.communicate()
    assert main(["unlock"]) == 0
    assert not lock.exists()
