"""The sample in the layouts of other projects, and the facts that share an object in it."""

import json
from typing import Any

import pyarrow.parquet as pq
import pytest

LAYOUTS = ("counterfact", "easyedit", "wikibigedit", "zsre", "mquake")


@pytest.mark.slow
def test_the_sample_in_all_layouts(audited):
    records: dict[str, list[dict[str, Any]]] = {
        name: json.loads((audited / f"layouts/{name}.json").read_text(encoding="utf-8")) for name in LAYOUTS
    }
    updates = pq.read_table(audited / "wfd_repl.parquet").to_pylist()
    assert len(records["counterfact"]) == len(records["easyedit"]) == len(updates)
    pair = audited / "2021-01-04_2023-02-27"
    shared = {
        (row["subject"]["id"], row["relation"]["id"]): row
        for row in pq.read_table(pair / "shared_objects.parquet").to_pylist()
    }
    # The facts are in the old dump, of another subject, and have the object.
    stated = {
        (row["subject"], row["property"], row["object"])
        for path in (pair / "filtered" / "old").iterdir()
        for row in pq.read_table(path).to_pylist()
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
    assert any(record["mhop"] for record in records["wikibigedit"])
    assert all(len(case["new_single_hops"]) > 1 for case in records["mquake"])
