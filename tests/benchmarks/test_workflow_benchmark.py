"""What the benchmark of the whole workflow measures of the jobs of each command."""

import subprocess
import sys
from pathlib import Path

import pytest
from watch import Watch

BUSY = """
import sys, time
if sys.argv[1] == "statements":
    held = bytearray(200_000_000)
    while time.process_time() < 1.0:
        pass
time.sleep(2)  # the watch looks four times a second, and sees no job that has ended
"""


@pytest.mark.slow
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
