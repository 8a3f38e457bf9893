"""After SIGKILL of a job or of the whole run, in any stage, the next run keeps all finished outputs."""

import base64
import json
import re
import subprocess
from pathlib import Path

import pytest
from support.kill import killing
from support.workflow import command, snakemake

from factdrift.cli import main

OLD, NEW = "2021-01-04", "2023-02-27"
PAIR = f"{OLD}_{NEW}"
# Stage -> the output at which it is killed. Each output depends on the one before.
AT = {
    "snapshots": f"snapshots/{NEW}/sample.json.gz",
    "statements": f"snapshots/{NEW}/shards/0-of-1x1",
    "updates": f"{PAIR}/updates/0-of-1.parquet",
    "neighbors": f"{PAIR}/neighbors/space",
    "verbalize": f"{PAIR}/templates.parquet",
    "wikifactdiff": f"{PAIR}/wikifactdiff.parquet",
}


def finished(directory: Path) -> dict[str, int]:
    """Output that Snakemake considers complete -> time of its last change, in nanoseconds."""
    found = {}
    for record in (directory / ".snakemake" / "metadata").iterdir():
        output = base64.b64decode(record.name).decode()
        path = directory / output
        if path.exists() and not json.loads(record.read_text())["incomplete"]:
            found[output] = path.stat().st_mtime_ns
    return found


@pytest.mark.slow
def test_a_kill_in_each_stage_loses_nothing_that_was_finished(built, tmp_path, monkeypatch):
    """The job is killed in every second stage, the whole run in the others."""
    directory = tmp_path / "run"
    directory.mkdir()
    monkeypatch.chdir(directory)
    kept: dict[str, int] = {}
    for number, output in enumerate(AT.values()):
        what = ("job", "run")[number % 2]
        killed = subprocess.run(
            command(directory),
            start_new_session=True,
            capture_output=True,
            text=True,
            check=False,
            env=killing(tmp_path / "hook", f"results/{output}", what),
        )
        said = killed.stdout + killed.stderr
        assert killed.returncode, f"{output}: {said}"
        assert not (directory / "results" / output).exists()
        assert list(directory.rglob(f".{Path(output).name}.*.part")), said
        assert (re.search(r"Removed \d+ unfinished files?, ", said) is not None) == (number > 0), said
        now = finished(directory)
        assert {path: now.get(path, kept[path]) for path in kept} == kept
        kept = now
        if number == 1:
            assert "--unlock" in snakemake(directory, fails=True)
        assert main(["unlock"]) == 0
    snakemake(directory)
    now = finished(directory)
    assert {path: now.get(path, kept[path]) for path in kept} == kept
    for path in (built / "results").rglob("*"):
        # Another test may have made the page in the folder that all share.
        if path.is_file() and path.name != "report.html":
            assert (directory / path.relative_to(built)).read_bytes() == path.read_bytes(), path
    assert not list(directory.rglob("*.part"))
