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
@pytest.mark.parametrize(
    ("suffixes", "blocks", "options"),
    [
        (("json", "jsonl.gz"), 1, {"cores": 1, "shards": 1, "buckets": 1}),
        (("json.bz2", "json.zst"), 5, {"cores": 2, "shards": 4, "buckets": 3}),
    ],
    ids=["undivided", "divided"],
)
def test_cores_shards_buckets_blocks_and_compressions(
    klob: Path,
    tempripple: Path,
    probes: Path,
    tmp_path: Path,
    suffixes: tuple[str, str],
    blocks: int,
    options: dict,
) -> None:
    """The sample's dumps as files, each in another compression, give the tables of the default build."""
    dumps = {date: f"{date}.{suffix}" for date, suffix in zip((OLD, NEW), suffixes, strict=True)}
    for date, file in dumps.items():
        assert main(["sample", "render", "--date", date, "--output", str(tmp_path / file)]) == 0
    (tmp_path / "settings.yaml").write_text(f"neighbors: {{blocks: {blocks}}}\n")
    targets = ("all", "klob", "results/tempripple.parquet", "results/ripples.parquet")
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
