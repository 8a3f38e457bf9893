"""`snakemake results/publish/`: folders of what was built, and what makes them again."""

import json
from pathlib import Path

import duckdb
import pyarrow.parquet as pq
import pytest
from support.workflow import jobs, snakemake


@pytest.mark.slow
def test_folders_of_what_was_built(klob: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HF_HUB_OFFLINE", "HF_DATASETS_OFFLINE"):
        monkeypatch.setenv(name, "1")
    import datasets

    directory = klob.parent
    said = snakemake(directory, "results/publish/", jobs=False)
    assert "progress: publish_folders: 1 of 1 jobs" in said
    folders = klob / "publish"
    assert {path.name for path in folders.iterdir() if path.is_dir()} == {"wikifactdiff", "wfd_repl", "klob"}
    for name, products in {
        "wikifactdiff": ["wikifactdiff"],
        "wfd_repl": ["wfd_repl"],
        "klob": ["klob_c", "klob_r", "klob_u"],
    }.items():
        found = datasets.load_dataset(str(folders / name), cache_dir=str(tmp_path / "cache"))
        rows = [pq.read_metadata(klob / f"{product}.parquet").num_rows for product in products]
        assert sum(len(split) for split in found.values()) == sum(rows)
    splits = duckdb.sql(
        f"SELECT split, count(*) FROM '{klob}/wfd_repl.parquet' GROUP BY 1 ORDER BY 1"
    ).fetchall()
    loaded = datasets.load_dataset(str(folders / "wfd_repl"), cache_dir=str(tmp_path / "cache"))
    assert sorted((name, len(split)) for name, split in loaded.items()) == splits
    stats = json.loads((folders / "wikifactdiff" / "wikifactdiff.stats.json").read_text("utf-8"))
    assert stats["wikifactdiff"]["updates"] == sum(
        len(split)
        for split in datasets.load_dataset(
            str(folders / "wikifactdiff"), cache_dir=str(tmp_path / "cache")
        ).values()
    )
    assert "Nothing to be done" in snakemake(directory, "results/publish/")
    # What is asked for in the same command is published too.
    plan = snakemake(directory, "results/publish/", "results/tempripple.parquet", "--dry-run")
    assert jobs(plan)["publish_folders"] == 1
    assert "results/tempripple.parquet" in plan.partition("factdrift publish folders")[2]
