"""Builds of the odd dumps and of a drawn world, by all stages, in one process."""

from pathlib import Path
from typing import Any

from support.digests import Product
from support.odd_dumps import NEW, OLD, drawn, write_dumps
from support.workflow import run_here

PAIR = f"results/{OLD}_{NEW}"
UPDATES = (
    *("results/wikifactdiff.parquet", "results/wfd_repl.parquet"),
    *("results/wikifactdiff.stats.json", "results/funnel.parquet"),
)
BENCHMARKS = (
    *(f"results/klob_{part}.parquet" for part in "cru"),
    *(f"results/KLoB-{part}.jsonl" for part in "cru"),
    *(
        "results/tempripple.parquet",
        "results/ripples.parquet",
        "results/stream.parquet",
        "results/asof.parquet",
    ),
    *(f"results/{name}.parquet" for name in ("known", "half_life", "corpus", "corpus_questions")),
    *("results/retrieval.parquet", "results/retrieved.parquet"),
)
# The size of a packed dump depends on the library that packs it.
ACCOUNTS = (
    Product("results/klob_meta.json", without=["snapshot"]),
    Product("results/tempripple.stats.json", without=["snapshot"]),
)
SMALL: dict[str, Any] = {
    "shards": 1,
    "buckets": 1,
    "slice": True,
    "klob": {"r": {"min_pair_support": 1, "max_pair_share": 1}},
    "tempripple": {"slice": True, "change_start": "2021-06-01"},
}


def build_drawn(folder: Path) -> None:
    """All products of a drawn world, and their published folders."""
    config = SMALL | {"buckets": 2, "dumps": write_dumps(folder, drawn(1))}
    config["tempripple"] = SMALL["tempripple"] | {"distractors": {"same_timeline": "include"}}
    run_here(folder, *UPDATES, *BENCHMARKS, *(each.path for each in ACCOUNTS), "results/publish", **config)
