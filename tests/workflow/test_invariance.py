"""Results are the same to the byte for any cores, shards, buckets, blocks and compressions."""

import pytest
from support.workflow import snakemake

from factdrift.cli import main

OLD, NEW = "2021-01-04", "2023-02-27"
PAIR = f"results/{OLD}_{NEW}"
TABLES = (
    *("preprocess_report", "neighbors", "random_neighbors", "templates"),
    *("literals", "popularity", "funnel", "wikifactdiff", "wfd_repl"),
)
NAMES = (
    *(f"{PAIR}/{table}.parquet" for table in TABLES),
    *(f"{PAIR}/tempripple/{table}.parquet" for table in ("tr_facts", "tr_related", "tr_items", "tr_dropped")),
    *(f"{PAIR}/ripples.parquet", f"{PAIR}/ripples/dropped.parquet"),
    *(name for part in "cru" for name in (f"results/klob_{part}.parquet", f"results/KLoB-{part}.jsonl")),
)


@pytest.mark.slow
def test_cores_shards_buckets_blocks_and_compressions(audited, tmp_path):
    """The sample's dumps as files, each in another compression and divided, give the tables of the default
    build, which is not divided."""
    dumps = {OLD: "old.jsonl.gz", NEW: "new.json.zst"}
    for date, file in dumps.items():
        assert main(["sample", "render", "--date", date, "--output", str(tmp_path / file)]) == 0
    (tmp_path / "settings.yaml").write_text("neighbors: {blocks: 2}\n")
    targets = ("all", "klob", "results/tempripple.parquet", "results/ripples.parquet")
    options = {"cores": 2, "shards": 3, "buckets": 2}
    snakemake(tmp_path, *targets, "--configfile", "settings.yaml", dumps=dumps, **options)
    for name in NAMES:
        assert (tmp_path / name).read_bytes() == (audited.parent / name).read_bytes(), name
