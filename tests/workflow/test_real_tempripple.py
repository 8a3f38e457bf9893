"""TempRIPPLE of real entities: the local SPARQL server gives what the tables give.

The excerpt in tests/data is built for everybody, the larger slice where FACTDRIFT_REAL_DATA names its folder.
"""

import json
import os
from pathlib import Path
from typing import Any

import pytest
from support.workflow import ROOT, snakemake

DATA = ROOT / "tests" / "data"
SAMPLE = ROOT / "resources" / "sample"
LABELS = [
    str(path) for path in (DATA / "labels.tsv", SAMPLE / "entities/real.tsv", SAMPLE / "properties.tsv")
]
OLD, NEW = "2013-01-01", "2017-06-01"
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
@pytest.mark.parametrize("name", ["excerpt", "slice"])
def test_both_sources_agree_on_real_entities(name: str, tmp_path: Path) -> None:
    dump = DATA / "real-excerpt.json.bz2"
    if name == "slice":
        folder = os.environ.get("FACTDRIFT_REAL_DATA")
        if folder is None:
            pytest.skip("FACTDRIFT_REAL_DATA names no folder of real dumps")
        dump = Path(folder) / "wikidata" / "entities.json.bz2"
    tables = built(tmp_path, dump)
    for path in tmp_path.glob(f"results/{OLD}_{NEW}/tempripple/*"):
        path.unlink()
    assert built(tmp_path, dump, source="sparql") == tables
    stats = json.loads(tables["tr_stats.json"])
    assert stats["presence"]["missing"]
    assert stats["dropped"]["mutable"]
    if name == "slice":
        assert stats["sizes"]["mutable_facts"] > 0
