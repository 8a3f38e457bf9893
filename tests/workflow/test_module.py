"""The workflow as a module of another one, and from the place where deployment tools look for it."""

import subprocess
import sys
from pathlib import Path

import pytest
import yaml
from support.workflow import ROOT

IMPORTED = """
module factdrift:
    snakefile: "{root}/Snakefile"
    {more}

use rule * from factdrift as factdrift_*
"""


def run(directory: Path, snakefile: Path, *arguments: str) -> str:
    line = [sys.executable, "-m", "snakemake", "--snakefile", str(snakefile), "--cores", "2", "--nocolor"]
    done = subprocess.run([*line, *arguments], capture_output=True, text=True, check=False, cwd=directory)
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout + done.stderr


@pytest.mark.parametrize("prefix", ["", "sub/"])
def test_another_workflow_imports_all_rules(tmp_path: Path, prefix: str):
    dates = {"old": "2019-01-01", "new": "2021-01-04"}
    more = f'prefix: "{prefix.rstrip("/")}"\n    config: {{"snapshots": {dates}}}' if prefix else ""
    snakefile = tmp_path / "Snakefile"
    snakefile.write_text(IMPORTED.format(root=ROOT, more=more), encoding="utf-8")
    names = ("manifest.json", "edit_scores.parquet", "klob_c.parquet", "tempripple.parquet")
    names += ("layouts/counterfact.json", "layouts/mquake.json", "lm_eval")
    targets = [f"{prefix}results/{name}" for name in names]
    plan = run(tmp_path, snakefile, "--dry-run", "--printshellcmds", *targets)
    assert "rule factdrift_publish:" in plan
    pair = "2019-01-01_2021-01-04" if prefix else "2021-01-04_2023-02-27"
    assert f"output: {prefix}results/{pair}/manifest.json" in plan
    if prefix:
        # Whatever a command reads or writes under results/ lies under the prefix.
        commands = [line for line in plan.splitlines() if line.startswith((" " * 12, "    --"))]
        assert commands
        assert not [line for line in commands if "results/" in line.replace("sub/results/", "")]


@pytest.mark.slow
def test_an_imported_workflow_builds_under_its_prefix(tmp_path: Path):
    snakefile = tmp_path / "Snakefile"
    text = IMPORTED.format(root=ROOT, more='prefix: "sub"')
    snakefile.write_text(text, encoding="utf-8")
    run(tmp_path, snakefile, "sub/results/manifest.json")
    assert {path.name for path in tmp_path.iterdir()} == {"Snakefile", ".snakemake", "sub"}


def test_the_workflow_is_found_where_deployment_tools_look(tmp_path: Path):
    plan = run(tmp_path, ROOT / "workflow" / "Snakefile", "--dry-run", "results/wfd_repl.parquet")
    assert "rule publish:" in plan
    catalog = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))
    assert catalog["usage"]["software-stack-deployment"]["apptainer"] is True
