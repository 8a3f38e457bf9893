"""What is made again after a change of the code: a comment nothing, a constant what it can change."""

import os
import re
import shutil
from pathlib import Path

import pytest
from support.workflow import ROOT, snakemake

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
    inherited = os.environ.get("PYTHONPATH", "")
    monkeypatch.setenv("PYTHONPATH", os.pathsep.join(filter(None, [str(copy.parent), inherited])))
    return copy


def test_a_comment_or_docstring_anywhere_makes_nothing_again(built: Path, package: Path):
    for path in package.rglob("*.py"):
        text = path.read_text(encoding="utf-8")
        text = text.replace('"""', '"""Reworded: ', 1) if text.startswith('"""') else text
        path.write_text(f"# A comment.\n{text}\n# Another.\n", encoding="utf-8")
    assert "Nothing to be done" in snakemake(built, "--dry-run")


def test_a_changed_constant_makes_again_what_depends_on_it(built: Path, package: Path):
    path = package / "words" / "dates.py"
    path.write_text(path.read_text(encoding="utf-8") + "\nMORE = 1\n", encoding="utf-8")
    plan = snakemake(built, "--dry-run")
    reasons = re.findall(r"rule (\w+):.*?reason: ([^\n]*)", plan, re.DOTALL)
    planned = {rule for rule, _ in reasons}
    changed = {rule for rule, reason in reasons if "Params have changed" in reason}
    # The rules of the default target, with the commands that they run.
    ran = dict(re.findall(r'^rule (\w+):.*?\*\*given\(\s*"([^"]+)"', _rules(), re.MULTILINE | re.DOTALL))
    made = _made(built)
    expected = {
        rule
        for rule, command in ran.items()
        if "factdrift.words.dates" in fingerprint.modules_of(job_of(command)) and rule in made
    }
    # Where inputs are made again, too, Snakemake names that reason only.
    assert changed
    assert changed <= expected <= planned


def _rules() -> str:
    return "\n".join(path.read_text(encoding="utf-8") for path in sorted((ROOT / "rules").glob("*.smk")))


def _made(built: Path) -> set[str]:
    """The rules of the jobs of the default target."""
    said = snakemake(built, "--dry-run", "--forceall")
    return set(re.findall(r"^rule (\w+):", said, re.MULTILINE))
