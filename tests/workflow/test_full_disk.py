"""A full disk: a clear message, no unfinished output, and the same results once there is room."""

import base64
import json
import re
import subprocess
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from support import forked
from support.small_disk import small_disk
from support.workflow import command

pytestmark = [pytest.mark.system, pytest.mark.slow]


class Job(NamedTuple):
    """A job of a finished build: its rule, its shell command, its outputs and logs."""

    rule: str
    command: str
    outputs: list[str]
    logs: list[str]


def jobs_of(directory: Path) -> list[Job]:
    """The jobs of a finished build in the order in which they ended, from Snakemake's metadata."""
    found: dict[str, tuple[float, Job]] = {}
    for record in (directory / ".snakemake" / "metadata").iterdir():
        known: dict[str, Any] = json.loads(record.read_text())
        output = base64.b64decode(record.name).decode()
        _, job = found.setdefault(
            known["shellcmd"], (known["endtime"], Job(known["rule"], known["shellcmd"], [], known["log"]))
        )
        job.outputs.append(output)
    return [job for _, job in sorted(found.values(), key=lambda each: each[0])]


def run(job: Job, directory: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        ["bash", "-euo", "pipefail", "-c", job.command],
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        env=forked.with_forked_jobs(),
    )


def files(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes() for path in directory.rglob("*") if path.is_file()
    }


def made(job: Job, directory: Path) -> dict[str, bytes]:
    paths = [directory / output for output in job.outputs]
    whole = [each for path in paths for each in (path.rglob("*") if path.is_dir() else [path])]
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in whole
        if path.is_file() and path.name != ".snakemake_timestamp"
    }


def test_every_command_on_a_disk_that_is_full(built, tmp_path):
    """One job of each rule fails; what a job made is then copied, or made where it was temporary."""
    tried = set()
    with small_disk(tmp_path / "disk", 1 << 16) as disk:
        for job in jobs_of(built):
            if not job.command.count("factdrift "):
                continue
            for path in (*job.outputs, *job.logs):
                (disk.folder / path).parent.mkdir(parents=True, exist_ok=True)
            wanted = made(job, built)
            if job.rule not in tried:
                tried.add(job.rule)
                before = files(disk.folder).keys()
                disk.leave(sum(map(len, wanted.values())) // 8192 * 4096)  # half of it, whole pages
                failed = run(job, disk.folder)
                said = failed.stdout + failed.stderr
                assert failed.returncode == 1, said
                assert re.search(r"factdrift: the disk is full: .*/disk/results", said), said
                assert "Traceback" not in said
                left = {name: data for name, data in files(disk.folder).items() if name not in before}
                assert left.items() - {(log, left.get(log)) for log in job.logs} <= wanted.items()
            disk.leave(64 << 20)
            if not all((built / output).exists() for output in job.outputs):
                again = run(job, disk.folder)
                assert not again.returncode, again.stderr
            for name, data in wanted.items():
                (disk.folder / name).parent.mkdir(parents=True, exist_ok=True)
                (disk.folder / name).write_bytes(data)
    stages = {re.search(r"factdrift (\w+) ", job.command)[1] for job in jobs_of(built) if job.rule in tried}
    assert stages == {
        *("sample", "snapshots", "statements", "updates", "neighbors", "verbalize", "wikifactdiff", "publish")
    }


def test_the_whole_workflow_on_a_disk_that_fills_up_again_and_again(built, tmp_path):
    runs: list[str] = []
    with small_disk(tmp_path / "disk", 1 << 20) as disk:
        directory = disk.folder / "run"
        while True:
            disk.leave(9 << 20)
            line = command(directory)[2:]
            status, output, errors = forked.run(line, directory, forked.with_forked_jobs())
            if not status:
                break
            runs.append(output + errors)
            # Snakemake's own records may be the first to find no room; then it says so in its own words.
            assert re.search("the disk is full: |No space left on device", runs[-1]), runs[-1]
            assert "Traceback" not in runs[-1]
            assert len(runs) < 10
        assert len(runs) > 1
        results, wanted = files(directory / "results"), files(built / "results")
        assert results.keys() == wanted.keys()
        assert [name for name in wanted if results[name] != wanted[name]] == []
