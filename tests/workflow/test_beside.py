"""What the workflow builds of the sample beside its data set: probes, other layouts, published folders."""

import json
from collections import Counter
from typing import Any

import pytest
from support.rows import rows
from support.workflow import jobs, snakemake

from factdrift.ripples.tables import CRITERIA

PAIR = "2021-01-04_2023-02-27"
pytestmark = pytest.mark.slow


def test_each_criterion_has_probes(audited):
    found = rows(audited / "ripples.parquet")
    counts = Counter(row["criterion"] for row in found)
    assert all(counts[name] >= 40 for name in CRITERIA), counts
    assert sum(row["kind"] in ("inverse", "symmetric", "rule") for row in found) >= 20
    for criterion in counts:
        answers = Counter(row["answers"][0]["label"] for row in found if row["criterion"] == criterion)
        assert 4 * max(answers.values()) <= answers.total(), criterion


@pytest.mark.digests
def test_digests_of_ripples(audited, digests):
    digests("ripples", audited.parent, ["results/ripples.parquet", f"results/{PAIR}/ripples/dropped.parquet"])


LAYOUTS = ("counterfact", "easyedit", "wikibigedit", "zsre", "mquake")


@pytest.mark.slow
def test_the_sample_in_all_layouts(audited):
    records: dict[str, list[dict[str, Any]]] = {
        name: json.loads((audited / f"layouts/{name}.json").read_text(encoding="utf-8")) for name in LAYOUTS
    }
    updates = rows(audited / "wfd_repl.parquet")
    assert len(records["counterfact"]) == len(records["easyedit"]) == len(updates)
    pair = audited / "2021-01-04_2023-02-27"
    near_ones = rows(pair / "shared_objects.parquet")
    shared = {(row["subject"]["id"], row["relation"]["id"]): row for row in near_ones}
    # The facts are in the old dump, of another subject, and have the object.
    stated = {
        (row["subject"], row["property"], row["object"])
        for path in (pair / "filtered" / "old").iterdir()
        for row in rows(path)
        if row["dropped_by"] is None
    }
    before = after = 0
    for row, record in zip(updates, records["counterfact"], strict=True):
        objects = {each["decision"]: each["id"] for each in row["objects"]}
        found = shared[row["subject"]["id"], row["relation"]["id"]]
        for role, column in (("obsolete", "neighborhood"), ("new", "random_neighborhood")):
            for neighbor in found[column]:
                s, p = neighbor["subject"]["id"], neighbor["relation"]["id"]
                assert (int(s[1:]), int(p[1:]), int(objects[role][1:])) in stated
                assert (p, s != row["subject"]["id"]) == (row["relation"]["id"], True)
        near = [*row["neighborhood"], *row["random_neighborhood"]]
        labels = {fact["object"]["label"] for each in near for fact in each["objects"]}
        before += record["requested_rewrite"]["target_new"]["str"] in labels
        after += bool(record["attribute_prompts"])
        empty = record["factdrift"]["empty"]
        for field in ("neighborhood_prompts", "attribute_prompts"):
            assert (field in empty) == (not record[field])
            assert len(record[field]) <= 10
    assert after > 2 * before > 0
    assert any(record["portability"] for record in records["easyedit"])
    assert all(len(case["new_single_hops"]) > 1 for case in records["mquake"])


@pytest.mark.slow
def test_folders_of_what_was_built(klob):
    """That they load, tests/publish/test_loading.py says; the audit compares their rows (test_audit.py)."""
    directory = klob.parent
    snakemake(directory, "results/publish/", jobs=False)
    assert "publish_folders: 1 of 1 jobs" in (directory / "logs/progress.txt").read_text("utf-8")
    assert {path.name for path in (klob / "publish").glob("*/")} >= {"wikifactdiff", "wfd_repl", "klob"}
    assert "Nothing to be done" in snakemake(directory, "results/publish/")
    # What is asked for in the same command is published too.
    plan = snakemake(directory, "results/publish/", "results/tempripple.parquet", "--dry-run")
    assert jobs(plan)["publish_folders"] == 1
    assert "results/tempripple.parquet" in plan.partition("factdrift publish folders")[2]
