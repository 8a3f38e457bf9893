"""Runs in odd checkouts: a space in the path, a container image, hostile contacts, a hidden package."""

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
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


def snakemake(checkout: Path, *arguments: str, fails: bool = False, **variables: str) -> str:
    """What a run says; asserts that it ends as expected."""
    done = subprocess.run(
        [sys.executable, "-m", "snakemake", "--cores", "1", "--nocolor", *arguments],
        cwd=checkout,
        env={**os.environ, "PYTHONWARNINGS": "ignore", **variables},
        capture_output=True,
        text=True,
        check=False,
    )
    said = done.stdout + done.stderr
    assert (done.returncode != 0) == fails, said[-4000:]
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
    said = snakemake(
        checkout,
        SAMPLE,
        "--configfile",
        str(tmp_path / "config.json"),
        PATH=f"{tmp_path / 'bin'}:{os.environ['PATH']}",
        PYTHONPATH=os.pathsep.join([str(tmp_path), *filter(None, [os.environ.get("PYTHONPATH")])]),
    )
    assert (checkout / SAMPLE).is_file()
    assert ".sif" not in said
    assert seen.read_text() == HOSTILE
    assert {path.name for path in set(checkout.iterdir()) - before} <= {"results", "logs", ".snakemake"}


def test_a_file_that_hides_the_package_is_named(checkout, tmp_path):
    hiding = tmp_path / "factdrift.py"
    hiding.write_text("")
    said = snakemake(checkout, "--dry-run", fails=True, PYTHONPATH=str(tmp_path))
    assert f"{hiding} hides the package factdrift; rename it" in said
