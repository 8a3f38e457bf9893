"""`snakemake results/publish/`: folders of what was built, and what makes them again."""

import json

import duckdb
import pyarrow.parquet as pq
import pytest
from support.workflow import jobs, snakemake


@pytest.mark.slow
def test_folders_of_what_was_built(klob, tmp_path, monkeypatch):
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    import datasets

    directory = klob.parent
    snakemake(directory, "results/publish/", jobs=False)
    assert "publish_folders: 1 of 1 jobs" in (directory / "logs/progress.txt").read_text("utf-8")
    folders = klob / "publish"
    loaded = {
        path.name: datasets.load_dataset(str(path), cache_dir=str(tmp_path / "cache"))
        for path in folders.iterdir()
        if path.is_dir()
    }
    sizes = {name: sum(len(split) for split in found.values()) for name, found in loaded.items()}
    size = {path.stem: pq.read_metadata(path).num_rows for path in klob.glob("*.parquet")}
    assert sizes == {
        "wikifactdiff": size["wikifactdiff"],
        "wfd_repl": size["wfd_repl"],
        "klob": size["klob_c"] + size["klob_r"] + size["klob_u"],
    }
    splits = duckdb.sql(
        f"SELECT split, count(*) FROM '{klob}/wfd_repl.parquet' GROUP BY 1 ORDER BY 1"
    ).fetchall()
    assert sorted((name, len(split)) for name, split in loaded["wfd_repl"].items()) == splits
    stats = json.loads((folders / "wikifactdiff" / "wikifactdiff.stats.json").read_text("utf-8"))
    assert stats["wikifactdiff"]["updates"] == sizes["wikifactdiff"]
    assert "Nothing to be done" in snakemake(directory, "results/publish/")
    # What is asked for in the same command is published too.
    plan = snakemake(directory, "results/publish/", "results/tempripple.parquet", "--dry-run")
    assert jobs(plan)["publish_folders"] == 1
    assert "results/tempripple.parquet" in plan.partition("factdrift publish folders")[2]
