"""What is made again after a change of the code: a comment nothing, a constant what it can change."""

import os
import re
import shutil
from pathlib import Path

import pytest
from support.workflow import ROOT, STAGES, snakemake

from factdrift.cli import job_of
from factdrift.core import fingerprint
from factdrift.core.paths import PACKAGE


@pytest.fixture
def package(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the package from which the workflow runs, with the data files of the original."""
    copy = tmp_path / "code" / "factdrift"
    shutil.copytree(PACKAGE, copy, ignore=shutil.ignore_patterns("__pycache__", "resources", "config"))
    for name in ("resources", "config", "docs", "CITATION.cff"):
        (copy / name).symlink_to(ROOT / name)
    monkeypatch.setenv("PYTHONPATH", str(copy.parent), prepend=os.pathsep)
    return copy


@pytest.mark.slow
def test_a_comment_makes_nothing_again_and_a_constant_what_depends_on_it(built, package):
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        text = text.replace('"""', '"""Reworded: ', 1) if text.startswith('"""') else text
        path.write_text(f"# A comment.\n{text}\n# Another.\n", encoding="utf-8")
    assert "Nothing to be done" in snakemake(built, "--dry-run")
    path = package / "words" / "dates.py"
    path.write_text(path.read_text(encoding="utf-8") + "\nMORE = 1\n", encoding="utf-8")
    plan = snakemake(built, "--dry-run")
    reasons = re.findall(r"rule (\w+):.*?reason: ([^\n]*)", plan, re.DOTALL)
    planned = {rule for rule, _ in reasons}
    changed = {rule for rule, reason in reasons if "Params have changed" in reason}
    # The rules of the default target, with the commands that they run.
    text = "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "rules").glob("*.smk")))
    ran = dict(re.findall(r'^rule (\w+):\n(?:    .*\n|\n)*?        job\("([^"]+)"', text, re.MULTILINE))
    made = set(re.findall(r"^(\w+): ", (built / STAGES).read_text("utf-8"), re.MULTILINE))
    expected = {
        rule
        for rule, command in ran.items()
        if "factdrift.words.dates" in fingerprint.modules_of(job_of(command)) and rule in made
    }
    # Where inputs are made again, too, Snakemake names that reason only.
    assert changed
    assert changed <= expected <= planned


@pytest.mark.slow
def test_keys_on_which_no_result_depends_make_nothing_again(built):
    """Shards and blocks that were never made are for what is still to be made; the other keys are of other
    products."""
    targets = ("--dry-run", "all", "results/manifest.json")
    free = {"shards": 5, "max_bad_lines": 0.5, "contact": "a@b.org", "strict": True, "audit": {"rows": 7}}
    said = snakemake(
        built,
        *targets,
        **{**free, "methods": ["none", "rome"], "rome": {"steps": 3}, "ripples": {"per_criterion": 3}},
        **{"neighbors": {"blocks": 5}, "edit": {"limit": 7}},
    )
    assert "Nothing to be done" in said
    # What was made of one part is made again of one.
    said = snakemake(built, *targets, "--forcerun", "neighbor_space", neighbors={"blocks": 3})
    assert said.count("rule nearest_facts:") == 1
    assert snakemake(built, *targets, buckets=3).count("rule classify:") == 3
