"""The probes of the sample: counts by criterion, and the same bytes however the build is divided."""

from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.digests import Check
from support.workflow import copied, snakemake

from factdrift.ripples.tables import CRITERIA

PAIR = "2021-01-04_2023-02-27"
pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def probes(built: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    directory = copied(built, tmp_path_factory.mktemp("ripples") / "run")
    snakemake(directory, "results/ripples.parquet")
    return directory


def test_each_criterion_has_probes(probes: Path) -> None:
    rows = pq.read_table(probes / "results" / "ripples.parquet").to_pylist()
    counts: dict[str, int] = {}
    for row in rows:
        counts[row["criterion"]] = counts.get(row["criterion"], 0) + 1
    assert all(counts[name] >= 40 for name in CRITERIA), counts
    assert sum(row["kind"] in ("inverse", "symmetric", "rule") for row in rows) >= 20
    for criterion in counts:
        answers = [row["answers"][0]["label"] for row in rows if row["criterion"] == criterion]
        assert 4 * max(map(answers.count, set(answers))) <= len(answers), criterion


@pytest.mark.digests
def test_digests_of_ripples(probes: Path, digests: Check) -> None:
    digests("ripples", probes, ["results/ripples.parquet", f"results/{PAIR}/ripples/dropped.parquet"])
