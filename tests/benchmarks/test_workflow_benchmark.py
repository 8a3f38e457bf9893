"""The benchmark of the whole workflow measures the jobs of each command and reports them."""

import subprocess
import sys
from pathlib import Path

import pytest
from watch import Stage, Watch, stage_of
from workflow import Outputs, Run, measure, report

from factdrift.runs.estimate import Estimate
from factdrift.runs.estimate import Stage as ForeseenStage

BUSY = """
import sys, time
if sys.argv[1] == "statements":
    held = bytearray(200_000_000)
    while time.process_time() < 1.0:
        pass
time.sleep(2)  # the watch looks four times a second, and sees no job that has ended
"""


def test_watch_sees_time_and_memory_of_every_job(tmp_path: Path) -> None:
    program = tmp_path / "factdrift"
    program.write_text(BUSY, "utf-8")
    run = f"{sys.executable} {program}"
    script = f"{run} statements extract --dump x & {run} statements extract & {run} updates report; wait"
    root = subprocess.Popen(["bash", "-c", script])
    watch = Watch(root.pid)
    assert root.wait() == 0
    stages = watch.stages()
    assert set(stages) == {"statements extract", "updates report"}
    extract, rest = stages["statements extract"], stages["updates report"]
    assert (extract.jobs, rest.jobs) == (2, 1)
    assert 1.7 < extract.cpu < 4
    assert extract.cpu < extract.seconds
    assert 200 < extract.megabytes < 300
    assert rest.megabytes < 100


def test_command_of_a_job() -> None:
    assert stage_of(["python", "/x/bin/factdrift", "updates", "report", "--old", "y"]) == "updates report"
    assert stage_of(["factdrift", "sample", "render"]) == "sample render"
    assert stage_of(["python", "-m", "snakemake", "factdrift"]) is None
    assert stage_of([]) is None
    assert stage_of(["factdrift", "show", "results/2015-01-01_2017-01-01/wfd_repl.parquet"]) is None


def test_report_has_slopes() -> None:
    stages = {"a": ForeseenStage(2, 80.0, 40.0, 120.0, 240.0, 7.0)}
    expected = Estimate(
        stages, 1.3e9, 84, 40, submissions=0, download=0, download_seconds=0, disk=7e6, measured=True
    )
    outputs = {"a": Outputs(2, 5_200_000, True)}
    small = {"a": Stage(2, 1.0, 1.0, 100.0), "b": Stage(1, 1.0, 0.0, 0.0)}
    large = {"a": Stage(2, 90.0, 100.0, 150.0), "b": Stage(1, 1.0, 2.0, 5.0)}
    runs = [
        Run(1000, 26.0, 20.0, 10.0, small, {}, expected, True),
        Run(100_000, 2600.0, 200.0, 1000.0, large, outputs, expected, False),
    ]
    text = report(runs, 2, {"variant": "paper"})
    assert "| slope | | 0.50 | 1.00 | | | |" in text
    assert "| a | 2 | 1.0 | 1.0 | 100 | 0.0 | 90.0 | 100.0 | 150 | 5.2 | 1.00 | 80.0 | 120 | 7.0 |" in text
    assert "| b | 1 | 1.0 | 0.0 | 0 | 0.0 | 1.0 | 2.0 | 5 | 0.0 |  | | | |" in text
    assert "| 100,000 | 2,600 | 200 | 1,000 | 150 | 5 | NOT exact |" in text
    assert text.count("| estimated | 1,300 | 40 | 84 | 120 | 7 | |") == 2
    tables = [line for line in text.splitlines() if line.startswith("|")]
    assert len({line.count("|") for line in tables[:7]}) == 1
    assert len({line.count("|") for line in tables[7:]}) == 1


def test_folder_that_is_no_pair(tmp_path: Path) -> None:
    with pytest.raises(SystemExit, match=r"synthesize\.py"):
        measure(tmp_path, 1, {})
