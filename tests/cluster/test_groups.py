"""Groups of jobs that share a submission: none waits for a job that waits for it."""

import re
import subprocess
import sys
from collections import defaultdict
from pathlib import Path
from typing import Any

import pytest
import yaml
from support.workflow import ROOT, rules_of, snakemake

from factdrift.runs.estimate import read_quantities, read_submissions

TARGETS = ("manifest.json", "wfd_repl.parquet", "ripples.parquet", "klob_c.parquet", "KLoB-r.jsonl")
TARGETS += ("tempripple.stats.json",)
MODELS = ("edit_scores.parquet", "locate_scores.parquet", "answer_scores.parquet")
RECALL = {"filter": "on", "model": "any", "revision": "main", "dtype": "float32"}
CHAT: dict[str, Any] = {"verbalizer": "chat", "chat": {"model": "any"}, "klob": {"recall": RECALL}}

COUNT = """
import sys
from snakemake import cli, dag
update = dag.DAG._update_group_components
def count(self):
    update(self)  # what a dry run does not do: it submits nothing
    local = self.workflow._localrules
    alone = [job for job in self.needrun_jobs() if job.group is None and job.rule.name not in local]
    print("submissions:", len(alone) + len(set(self._group.values())), file=sys.stderr)
    sys.exit()
dag.DAG._update_group_components = count
cli.main(sys.argv[1:])
"""
"""Snakemake, which says how many submissions its plan has, and ends."""


def groups() -> dict[str, tuple[str, str]]:
    """Rule -> its group and its command."""
    pattern = re.compile(r'group:\s+together\("([\w{}]+)"\).*job\("([\w -]+)"', re.DOTALL)
    text = "".join(path.read_text(encoding="utf-8") for path in (ROOT / "rules").glob("*.smk"))
    found = {rule: (pattern.search(body), body) for rule, body in rules_of(text).items()}
    for rule, (group, body) in found.items():
        assert "together(" not in body or (group and "gpu=" not in body), rule
    return {rule: (group[1], group[2]) for rule, (group, _) in found.items() if group}


def test_groups_can_be_ordered(tmp_path: Path) -> None:
    """No job outside a group lies between two of its members, and no two groups wait for each other."""
    targets = [f"results/{name}" for name in (*TARGETS, *MODELS)]
    graph = snakemake(tmp_path, *targets, "--rulegraph", "dot", **CHAT)
    names = dict(re.findall(r'(\d+)\s*\[label *= *"(\w+)', graph))
    group_of = {rule: group for rule, (group, _) in groups().items()}
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


@pytest.mark.slow
def test_the_preset_has_few_submissions(tmp_path: Path) -> None:
    preset = ROOT / "config/presets/wikidata-2021-2023.yaml"
    line = ["--snakefile", str(ROOT / "Snakefile"), "--profile", str(ROOT / "profiles/slurm")]
    line += ["--quiet", "all", "--configfile", str(preset), "--config", "contact=a@b.org"]
    line += ["--", "results/wfd_repl.parquet"]
    command = [sys.executable, "-c", COUNT, *line]
    done = subprocess.run(command, capture_output=True, text=True, cwd=tmp_path, check=True)
    submissions = [int(found) for found in re.findall(r"submissions: (\d+)", done.stderr)]
    assert 0 < submissions[-1] <= 150


def test_the_estimate_knows_the_groups() -> None:
    group_of = {command: group for group, command in groups().values()}
    known = read_submissions()
    assert {command: each.group for command, each in known.items()}.items() <= group_of.items()
    profile = yaml.safe_load((ROOT / "profiles/slurm/config.yaml").read_text("utf-8"))
    entries = (entry.split("=") for entry in profile["group-components"])
    components = {name: int(number) for name, number in entries}
    once = {name: each for name, each in known.items() if name != "updates preprocess"}  # both dumps' at once
    numbers = {each.group: int(each.jobs_each) for each in once.values() if each.jobs_each.isdigit()}
    # With the vector space, which is in no bucket.
    assert components == {**numbers, "holding": numbers["holding"] + 1}
    default = yaml.safe_load((ROOT / "profiles/default/profile.yaml").read_text("utf-8"))
    assert f"lanes={read_quantities()['submission_lanes']:.0f}" in default["resources"]
