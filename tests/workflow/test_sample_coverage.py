"""Between the default dates the bundled sample exercises every filter, rule, step and scenario."""

import csv

import duckdb
import pytest
from support.workflow import ROOT, copied, snakemake

from factdrift.updates.after_rules import DROPS
from factdrift.updates.filters import FILTERS

pytestmark = pytest.mark.slow

PAIR = "results/2021-01-04_2023-02-27"


@pytest.fixture(scope="module")
def variants(built, tmp_path_factory):
    """Variant -> the directory of its labelled updates."""
    directories = {"paper": built}
    for variant in ("reference", "revised"):
        directories[variant] = copied(built, tmp_path_factory.mktemp(variant))
        targets = (f"{PAIR}/updates/0-of-1.parquet", f"{PAIR}/preprocess_report.parquet")
        snakemake(directories[variant], *targets, variant=variant)
    return {variant: directory / PAIR for variant, directory in directories.items()}


def occurring(directory, pattern, column):
    return {
        value
        for (value,) in duckdb.sql(f"SELECT DISTINCT {column} FROM '{directory}/{pattern}'").fetchall()
        if value is not None
    }


def test_every_rule_fires_in_some_variant(variants):
    with (ROOT / "resources" / "rules.tsv").open(encoding="utf-8") as file:
        rules = {row["rule"] for row in csv.DictReader(file, delimiter="\t")}
    found = set().union(*(occurring(path, "updates/*.parquet", "rule") for path in variants.values()))
    assert found == rules | {"replaced"}


@pytest.mark.parametrize("variant", ["paper", "reference", "revised"])
def test_every_filter_drops_something(variants, variant):
    # Objects without an article are kept in `reference`.
    expected = set(FILTERS) - ({"object"} if variant == "reference" else set())
    assert occurring(variants[variant], "preprocess_report.parquet", "filter") == expected | {"kept"}


@pytest.mark.parametrize("variant", ["paper", "reference", "revised"])
def test_every_scenario_occurs(variants, variant):
    assert occurring(variants[variant], "updates/*.parquet", "scenario") == {
        *("ReplaceObject", "Archive", "AddObject", "AddRelation", "AddEntity", "Other")
    }


def test_every_step_drops_something(variants):
    found = set().union(*(occurring(path, "updates/*.parquet", "dropped_by") for path in variants.values()))
    assert found == set(DROPS) - {"only"}
