"""TempRIPPLE of real entities: the local SPARQL server gives what the tables give."""

import json
from pathlib import Path
from typing import Any

import pytest
from support.excerpt import LABELS, NEW, OLD, real
from support.workflow import snakemake

PERIOD = {"window_start": "2006-01-01", "change_start": "2014-01-01", "change_end": "2017-06-01"}


def built(directory: Path, dump: Path, **ripple: Any) -> dict[str, bytes]:
    snakemake(
        directory,
        "results/tempripple.parquet",
        snapshots={"old": OLD, "new": NEW},
        dumps={OLD: "derive", NEW: str(dump)},
        labels=LABELS,
        scope="all",
        shards=1,
        buckets=1,
        tempripple={**PERIOD, "slice": True, **ripple},
    )
    return {
        path.name: path.read_bytes() for path in (directory / f"results/{OLD}_{NEW}/tempripple").iterdir()
    }


@pytest.mark.slow
def test_both_sources_agree_on_real_entities(tmp_path):
    dump = real("entities.json.bz2")
    tables = built(tmp_path, dump)
    for path in tmp_path.glob(f"results/{OLD}_{NEW}/tempripple/*"):
        path.unlink()
    assert built(tmp_path, dump, source="sparql") == tables
    stats = json.loads(tables["tr_stats.json"])
    assert stats["presence"]["missing"]
    assert stats["dropped"]["mutable"]
    assert stats["sizes"]["mutable_facts"] > 0
