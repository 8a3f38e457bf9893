"""Results are the same to the byte for any cores, shards, buckets, blocks and compressions."""

from pathlib import Path

import pytest
from support.workflow import snakemake

from factdrift.cli import main

OLD, NEW = "2021-01-04", "2023-02-27"
PAIR = f"results/{OLD}_{NEW}"
TABLES = (
    *("preprocess_report", "neighbors", "random_neighbors", "templates"),
    *("literals", "popularity", "funnel", "wikifactdiff", "wfd_repl"),
)
RIPPLES = ("ripples.parquet", "ripples/dropped.parquet")
QUESTIONS = ("tr_facts", "tr_related", "tr_items", "tr_dropped")
KLOB = tuple(name for part in "cru" for name in (f"klob_{part}.parquet", f"KLoB-{part}.jsonl"))


@pytest.mark.slow
def test_cores_shards_buckets_blocks_and_compressions(
    klob: Path, tempripple: Path, probes: Path, tmp_path: Path
) -> None:
    """The sample's dumps as files, each in another compression and divided, give the tables of the default
    build, which is not divided."""
    dumps = {OLD: "old.jsonl.gz", NEW: "new.json.zst"}
    for date, file in dumps.items():
        assert main(["sample", "render", "--date", date, "--output", str(tmp_path / file)]) == 0
    (tmp_path / "settings.yaml").write_text("neighbors: {blocks: 5}\n")
    targets = ("all", "klob", "results/tempripple.parquet", "results/ripples.parquet")
    options = {"cores": 2, "shards": 4, "buckets": 3}
    snakemake(tmp_path, *targets, "--configfile", "settings.yaml", dumps=dumps, **options)
    for build, names in (
        (
            klob.parent,
            [*(f"{PAIR}/{table}.parquet" for table in TABLES), *(f"results/{name}" for name in KLOB)],
        ),
        (tempripple, [f"{PAIR}/tempripple/{name}.parquet" for name in QUESTIONS]),
        (probes, [f"{PAIR}/{name}" for name in RIPPLES]),
    ):
        for name in names:
            assert (tmp_path / name).read_bytes() == (build / name).read_bytes(), name
