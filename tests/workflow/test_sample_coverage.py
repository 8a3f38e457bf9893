"""Between the default dates the bundled sample exercises every filter, rule, step and scenario."""

import csv
from pathlib import Path

import duckdb
import pytest
from support.workflow import ROOT, copied, snakemake

from factdrift.updates.after_rules import DROPS
from factdrift.updates.filters import FILTERS

pytestmark = pytest.mark.slow

PAIR = "results/2021-01-04_2023-02-27"


@pytest.fixture(scope="module")
def variants(built: Path, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    """Variant -> the folder of its labelled updates."""
    directories = {"paper": built}
    for variant in ("reference", "revised"):
        directories[variant] = copied(built, tmp_path_factory.mktemp(variant))
        targets = (f"{PAIR}/updates/0-of-1.parquet", f"{PAIR}/preprocess_report.parquet")
        snakemake(directories[variant], *targets, variant=variant)
    return {variant: directory / PAIR for variant, directory in directories.items()}


def occurring(folder: Path, column: str, tables: str = "updates/*.parquet") -> set[str]:
    found = duckdb.sql(f"SELECT DISTINCT {column} FROM '{folder}/{tables}' WHERE {column} IS NOT NULL")
    return {value for (value,) in found.fetchall()}


def test_every_rule_and_step_occurs_in_some_variant(variants: dict[str, Path]) -> None:
    with (ROOT / "resources" / "rules.tsv").open(encoding="utf-8") as file:
        rules = {row["rule"] for row in csv.DictReader(file, delimiter="\t")}
    for column, expected in (("rule", rules | {"replaced"}), ("dropped_by", set(DROPS) - {"only"})):
        assert set().union(*(occurring(path, column) for path in variants.values())) == expected


@pytest.mark.parametrize("variant", ["paper", "reference", "revised"])
def test_every_filter_and_scenario_occurs(variants: dict[str, Path], variant: str) -> None:
    # Objects without an article are kept in `reference`.
    expected = {*FILTERS, "kept"} - ({"object"} if variant == "reference" else set())
    assert occurring(variants[variant], "filter", "preprocess_report.parquet") == expected
    assert occurring(variants[variant], "scenario") == {
        *("ReplaceObject", "Archive", "AddObject", "AddRelation", "AddEntity", "Other")
    }
