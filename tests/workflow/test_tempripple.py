"""TempRIPPLE of the bundled sample, from the facts to results/tempripple.parquet."""

import json
import re
import shutil
from pathlib import Path

import pyarrow.parquet as pq
import pytest
from support.digests import Product
from support.rows import rows
from support.workflow import ROOT, copied, snakemake

PERIOD = {"window_start": "2012-01-01", "change_start": "2022-01-01", "change_end": "2023-01-01"}
PRODUCTS = ("results/tempripple.parquet", "results/tempripple.stats.json")
FOLDER = "results/2021-01-04_2023-02-27/tempripple"


@pytest.fixture(scope="module")
def made(tempripple: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return copied(tempripple, tmp_path_factory.mktemp("of-this-module"))


@pytest.fixture(scope="module", autouse=True)
def tables(made: Path) -> dict[str, bytes]:
    """All that the stage wrote from tables, by name, read before any test builds something else."""
    return {path.name: path.read_bytes() for path in (made / FOLDER).iterdir()}


def test_the_sample_is_large_enough_and_every_reason_to_drop_occurs(made):
    names = ("tr_facts", "tr_related", "tr_dropped")
    facts, related, dropped = (rows(made / FOLDER / f"{name}.parquet") for name in names)
    assert len({(fact["s"], fact["p"]) for fact in facts}) >= 120
    assert len(facts) >= 300
    assert len(related) >= 1500
    assert {row["hop"] for row in related} == {1, 2, 3}
    found = {(row["stage"], row["reason"]) for row in dropped}
    page = (ROOT / "docs" / "tables" / "tr_dropped.md").read_text(encoding="utf-8")
    named = re.findall(r"^\| (`.*?`) \| ((?:mutable|related).*?) \|", page, re.MULTILINE)
    wanted = {
        (at, each) for names, stages in named for at in stages.split(", ") for each in names.split(", ")
    }
    # Without a gap before it, a timeline of one holder cannot begin in the period; a cap is not set.
    missing = {("mutable", "`no_old`"), ("related", "`cap`")}
    assert {(stage, f"`{reason}`") for stage, reason in found} == wanted - missing


@pytest.mark.digests
def test_digests_of_tempripple(made, digests):
    names = ("tr_facts", "tr_related", "tr_items", "tr_dropped")
    account = Product("results/tempripple.stats.json", without=["snapshot"])
    tables = [f"{FOLDER}/{name}.parquet" for name in names]
    digests("tempripple", made, [*tables, "results/tempripple.parquet", account])


@pytest.mark.slow
def test_a_period_without_changes_gives_empty_tables(made):
    quiet = {"window_start": "1901-01-01", "change_start": "1911-01-01", "change_end": "1911-01-02"}
    said = snakemake(made, *PRODUCTS, tempripple=quiet)
    assert "nothing changed from 1911-01-01 to 1911-01-01" in said
    assert pq.read_table(made / "results" / "tempripple.parquet").num_rows == 0
    assert json.loads((made / "results" / "tempripple.stats.json").read_text())["sizes"]["items"] == 0


@pytest.mark.slow
def test_a_sparql_server_gives_the_same(made, tables):
    """Last of this module: what was made from tables is made again, byte by byte, from the local server."""
    shutil.rmtree(made / FOLDER)
    said = snakemake(made, "results/tempripple.parquet", tempripple={**PERIOD, "source": "sparql"})
    assert "rule tempripple_database" in said
    assert {path.name: path.read_bytes() for path in (made / FOLDER).iterdir()} == tables
