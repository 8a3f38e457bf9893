"""`factdrift unlock` clears the lock of a dead run and respects that of a living one."""

from __future__ import annotations

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


def test_the_lock_of_a_run_that_is_gone_is_cleared(lock):
    assert main(["unlock"]) == 0
    assert not lock.exists()


def test_the_lock_of_a_running_snakemake_stays(lock, tmp_path, capsys):
    (tmp_path / "snakemake").write_text("import time\nprint('up', flush=True)\ntime.sleep(60)\n")
    run = subprocess.Popen([sys.executable, "snakemake"], cwd=tmp_path, stdout=subprocess.PIPE, text=True)
    try:
        assert run.stdout is not None
        assert run.stdout.readline() == "up\n"
        assert main(["unlock"]) == 1
        assert f"process {run.pid}" in capsys.readouterr().err
        assert lock.exists()
    finally:
        run.kill()
        run.communicate()


def test_nothing_to_clear(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["unlock"]) == 0
    assert capsys.readouterr().out == ""
