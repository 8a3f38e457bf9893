"""Groups of jobs that share a submission: none waits for a job that waits for it."""

from __future__ import annotations

import re
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
from support.workflow import ROOT, rules_of, snakemake

TARGETS = ("manifest.json", "wfd_repl.parquet", "klob_c.parquet", "KLoB-r.jsonl", "tempripple.stats.json")
MODELS = ("edit_scores.parquet", "locate_scores.parquet", "answer_scores.parquet")
RECALL = {"filter": "on", "model": "any", "revision": "main", "dtype": "float32"}
CONFIGURATIONS: list[dict[str, Any]] = [
    {},
    {"verbalizer": "chat", "chat": {"model": "any"}, "klob": {"recall": RECALL}},
]


def groups() -> dict[str, set[str]]:
    """Group -> its rules."""
    found: dict[str, set[str]] = defaultdict(set)
    for path in (ROOT / "rules").glob("*.smk"):
        for rule, body in rules_of(path.read_text(encoding="utf-8")).items():
            named = re.search(r'group:\s+together\("(\w+)"\)', body)
            if named:
                assert "gpu=" not in body, rule
                found[named[1]].add(rule)
    return found


@pytest.mark.parametrize("config", CONFIGURATIONS, ids=["plain", "chat"])
def test_groups_can_be_ordered(tmp_path: Path, config: dict[str, Any]) -> None:
    """No job outside a group lies between two of its members, and no two groups wait for each other."""
    targets = [f"results/{name}" for name in (*TARGETS, *MODELS)]
    graph = snakemake(tmp_path, *targets, "--rulegraph", "dot", **config)
    names = dict(re.findall(r'(\d+)\s*\[label *= *"(\w+)', graph))
    group_of = {rule: group for group, rules in groups().items() for rule in rules}
    after: dict[str, set[str]] = defaultdict(set)
    for first, second in re.findall(r"(\d+) -> (\d+)", graph):
        ends = [group_of.get(names[each], names[each]) for each in (first, second)]
        if ends[0] != ends[1]:
            after[ends[0]].add(ends[1])
    assert set(group_of.values()) <= after.keys()
    for start in after:
        reached: set[str] = set()
        front = [start]
        while front:
            new = after.get(front.pop(), set()) - reached
            reached |= new
            front += new
        assert start not in reached, start
