"""Runs in odd checkouts, and the workflow as a module of another one or as deployment tools find it."""

import json
import os
import re
import shutil
from pathlib import Path

import pytest
import yaml
from support import forked
from support.workflow import ROOT

SAMPLE = "results/snapshots/2021-01-04/sample.json.gz"


@pytest.fixture
def checkout(tmp_path):
    """A checkout in a folder with a space in its name."""
    folder = tmp_path / "a checkout"
    (folder / "envs").mkdir(parents=True)
    shutil.copy(ROOT / "Snakefile", folder)
    shutil.copy(ROOT / "envs" / "factdrift.def", folder / "envs")
    for name in ("rules", "config", "resources", "workflow"):
        (folder / name).symlink_to(ROOT / name)
    return folder


def snakemake(directory: Path, *arguments: str, fails: bool = False, **variables: str) -> str:
    """What a run in this folder, with its Snakefile, says; asserts that it ends as expected."""
    words = ["snakemake", "--cores", "2", "--nocolor", *arguments]
    status, output, errors = forked.run(words, directory, forked.quiet(**variables))
    said = output + errors
    assert (status != 0) == fails, said[-4000:]
    assert "Traceback" not in said
    return said


APPTAINER = """#!/bin/bash
if [ "$1" = --version ]; then echo "apptainer version 1.3.6"; exit; fi
printf '%s\\n' "$@" > {log}
exec "${{@: -3}}"
"""


@pytest.fixture
def apptainer(tmp_path):
    """A program that runs the command of `apptainer exec` without a container, and its arguments' log."""
    program, log = tmp_path / "bin" / "apptainer", tmp_path / "arguments"
    program.parent.mkdir()
    program.write_text(APPTAINER.format(log=log))
    program.chmod(0o755)
    return program, log


@pytest.mark.slow
def test_jobs_run_in_the_image_where_there_is_one(checkout, apptainer):
    program, log = apptainer
    path = f"{program.parent}:{os.environ['PATH']}"
    said = snakemake(checkout, SAMPLE, "--sdm", "apptainer", PATH=path, fails=True)
    assert "the container image has not been built; run `apptainer build" in said
    (checkout / "envs" / "factdrift.sif").write_text("an image\n")
    snakemake(checkout, SAMPLE, "--sdm", "apptainer", PATH=path)
    assert (checkout / SAMPLE).is_file()
    arguments = log.read_text().splitlines()
    (image,) = (each for each in arguments if each.endswith(".sif"))
    assert (checkout / image).read_text() == "an image\n"
    again = snakemake(checkout, SAMPLE, "--sdm", "apptainer", PATH=path)
    assert "Nothing to be done" in again


HOSTILE = "'; touch a; \"; touch b; $(touch c) `touch d` {config[scope]} {0} }{{ a\\ {"


@pytest.mark.slow
def test_a_contact_is_never_run_as_a_command(checkout, tmp_path):
    """The job's own environment holds the contact, unchanged; programs are found beside this Python.

    Without a container, and in a path with a space.
    """
    (tmp_path / "bin").mkdir()
    (tmp_path / "bin" / "factdrift").write_text("#!/bin/sh\nexit 3\n")
    (tmp_path / "bin" / "factdrift").chmod(0o755)
    seen = tmp_path / "seen"
    (tmp_path / "sitecustomize.py").write_text(
        "import os, sys\n"
        "if sys.orig_argv[1:2] and sys.orig_argv[1].endswith('/factdrift'):\n"
        f"    open({str(seen)!r}, 'w').write(os.environ['FACTDRIFT_CONTACT'])\n"
    )
    (tmp_path / "config.json").write_text(json.dumps({"contact": HOSTILE}))
    before = set(checkout.iterdir())
    path = f"{tmp_path / 'bin'}:{os.environ['PATH']}"
    packages = os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])])
    given = ("--configfile", str(tmp_path / "config.json"))
    said = snakemake(checkout, SAMPLE, *given, PATH=path, PYTHONPATH=packages)
    assert (checkout / SAMPLE).is_file()
    assert ".sif" not in said
    assert seen.read_text() == HOSTILE
    assert {path.name for path in set(checkout.iterdir()) - before} <= {"results", "logs", ".snakemake"}


def test_a_file_that_hides_the_package_is_named(checkout, tmp_path):
    hiding = tmp_path / "factdrift.py"
    hiding.write_text("")
    said = snakemake(checkout, "--dry-run", fails=True, PYTHONPATH=str(tmp_path))
    assert f"{hiding} hides the package factdrift; rename it" in said


IMPORTED = """
module factdrift:
    snakefile: "{root}/Snakefile"
    {more}

use rule * from factdrift as factdrift_*
"""


@pytest.mark.slow
def test_another_workflow_imports_all_rules(tmp_path):
    more = 'prefix: "sub"\n    config: {"snapshots": {"old": "2019-01-01", "new": "2021-01-04"}}'
    (tmp_path / "Snakefile").write_text(IMPORTED.format(root=ROOT, more=more), encoding="utf-8")
    names = ("manifest.json", "edit_scores.parquet", "klob_c.parquet", "tempripple.parquet")
    names += ("layouts/counterfact.json", "layouts/mquake.json", "lm_eval")
    targets = [f"sub/results/{name}" for name in names]
    plan = snakemake(tmp_path, "--dry-run", "--printshellcmds", *targets)
    assert "rule factdrift_publish:" in plan
    assert "output: sub/results/2019-01-01_2021-01-04/manifest.json" in plan
    # Whatever a command reads or writes under results/ lies under the prefix.
    commands = [line for line in plan.splitlines() if line.startswith((" " * 12, "    --"))]
    assert commands
    assert not [line for line in commands if "results/" in line.replace("sub/results/", "")]


@pytest.mark.slow
def test_an_imported_workflow_builds_under_its_prefix(tmp_path):
    text = IMPORTED.format(root=ROOT, more='prefix: "sub"')
    (tmp_path / "Snakefile").write_text(text, encoding="utf-8")
    table = "sub/results/2021-01-04_2023-02-27/preprocess_report.parquet"
    snakemake(tmp_path, table, **forked.with_forked_jobs())
    assert {path.name for path in tmp_path.iterdir()} == {"Snakefile", ".snakemake", "sub"}


DEPLOYED = """
configfile: "config/config.yaml"

module factdrift:
    snakefile: "{root}/workflow/Snakefile"
    config: config

use rule * from factdrift
"""


def test_a_deployed_copy_has_the_configuration_and_the_targets_that_its_page_names(tmp_path):
    """As snakedeploy makes it, on whose page the catalog shows config/README.md."""
    shutil.copytree(ROOT / "config", tmp_path / "config")
    (tmp_path / "workflow").mkdir()
    (tmp_path / "workflow/Snakefile").write_text(DEPLOYED.format(root=ROOT), encoding="utf-8")
    page = (ROOT / "config/README.md").read_text(encoding="utf-8")
    targets = re.findall(r"^snakemake --cores 2 (\S+)", page, re.MULTILINE)
    assert targets == ["results/wfd_repl.parquet", "all"]
    plan = snakemake(tmp_path, "--dry-run", *targets)
    assert "rule all:" in plan
    changed = yaml.safe_load(page.partition("```yaml\n")[2].partition("```")[0])
    (tmp_path / "config/config.yaml").write_text(yaml.safe_dump(changed), encoding="utf-8")
    for file in changed["dumps"].values():
        (tmp_path / file).write_text("not read while the jobs are planned")
    assert "old.json.bz2" in snakemake(tmp_path, "--dry-run", "results/wfd_repl.parquet")
    catalog = yaml.safe_load((ROOT / ".snakemake-workflow-catalog.yml").read_text(encoding="utf-8"))
    assert catalog["usage"]["software-stack-deployment"]["apptainer"] is True
    keys = yaml.safe_load((ROOT / "config/config.schema.yaml").read_text(encoding="utf-8"))["properties"]
    assert {*re.findall(r"^\| `(\w+)`", page, re.MULTILINE)} <= {*keys}
