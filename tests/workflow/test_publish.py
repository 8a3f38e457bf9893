"""`snakemake results/publish/`: folders of what was built, and what makes them again."""

import json
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.workflow import jobs, snakemake


@pytest.mark.slow
def test_folders_of_what_was_built(klob: Path) -> None:
    said = snakemake(klob.parent, "results/publish/", jobs=False)
    assert "progress: publish_folders: 1 of 1 jobs" in said
    folders = klob / "publish"
    assert {path.name for path in folders.iterdir() if path.is_dir()} == {"wikifactdiff", "wfd_repl", "klob"}
    stats = json.loads((folders / "wikifactdiff" / "wikifactdiff.stats.json").read_text("utf-8"))
    updates = pq.read_metadata(klob / "wikifactdiff.parquet").num_rows
    assert stats["wikifactdiff"]["updates"] == updates
    assert "Nothing to be done" in snakemake(klob.parent, "results/publish/")
    # What is asked for in the same command is published too.
    plan = snakemake(klob.parent, "results/publish/", "results/tempripple.parquet", "--dry-run")
    assert jobs(plan)["publish_folders"] == 1
    assert "results/tempripple.parquet" in plan.partition("factdrift publish folders")[2]
