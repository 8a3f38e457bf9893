"""Results are the same to the byte for any cores, shards, buckets, blocks and compressions."""

import subprocess
import sys

import pytest
from support.workflow import snakemake

pytestmark = pytest.mark.slow

OLD, NEW = "2021-01-04", "2023-02-27"
PAIR = f"{OLD}_{NEW}"
TABLES = (
    *("preprocess_report.parquet", "neighbors.parquet", "random_neighbors.parquet", "templates.parquet"),
    *("literals.parquet", "popularity.parquet", "funnel.parquet", "wikifactdiff.parquet", "wfd_repl.parquet"),
)

RIPPLES = ("tr_facts", "tr_related", "tr_items", "tr_dropped")
KLOB = tuple(name for part in "cru" for name in (f"klob_{part}.parquet", f"KLoB-{part}.jsonl"))


@pytest.mark.parametrize(
    ("suffixes", "blocks", "options"),
    [
        (("json", "jsonl.gz"), 1, {"cores": 1, "shards": 1, "buckets": 1}),
        (("json.bz2", "json.zst"), 5, {"cores": 2, "shards": 4, "buckets": 3}),
    ],
    ids=["undivided", "divided"],
)
def test_cores_shards_buckets_blocks_and_compressions(klob, tempripple, tmp_path, suffixes, blocks, options):
    """The sample's dumps as files, each in another compression, give the tables of the default build."""
    dumps = {date: f"{date}.{suffix}" for date, suffix in zip((OLD, NEW), suffixes, strict=True)}
    program = "import sys; from factdrift.cli import main; sys.exit(main())"
    for date, file in dumps.items():
        render = ["sample", "render", "--date", date, "--output", str(tmp_path / file)]
        subprocess.run([sys.executable, "-c", program, *render], check=True)
    (tmp_path / "settings.yaml").write_text(f"neighbors: {{blocks: {blocks}}}\n")
    targets = ("all", "klob", "results/tempripple.parquet", "--configfile", "settings.yaml")
    snakemake(tmp_path, *targets, dumps=dumps, **options)
    made = tmp_path / "results"
    for name in (*(f"{PAIR}/{table}" for table in TABLES), *KLOB):
        assert (made / name).read_bytes() == (klob / name).read_bytes(), name
    for name in RIPPLES:
        path = f"{PAIR}/tempripple/{name}.parquet"
        assert (made / path).read_bytes() == (tempripple / "results" / path).read_bytes(), name
