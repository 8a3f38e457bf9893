"""The installed package: a wheel in an environment of its own, outside the checkout and without its files.

The wheel is built from the sdist, so that both are whole.
"""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[1]

pytestmark = pytest.mark.slow


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of a fresh environment with the wheel; it shares the dependencies of the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    kept_out = (".git", ".venv*", "results", "logs", ".snakemake", "tests", "*.egg-info", "build")
    shutil.copytree(ROOT, source, symlinks=True, ignore=shutil.ignore_patterns(*kept_out))
    code = "import sys; from setuptools.build_meta import build_sdist; build_sdist(sys.argv[1])"
    subprocess.run([sys.executable, "-c", code, str(folder)], check=True, cwd=source, capture_output=True)
    (sdist,) = folder.glob("factdrift-*.tar.gz")
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(sdist)], check=True)
    shutil.rmtree(source)
    (wheel,) = folder.glob("factdrift-*.whl")
    venv.create(folder / "env", with_pip=False)
    (site,) = (folder / "env" / "lib").glob("python*/site-packages")
    # Lines of a .pth file are added as they are, so the editable installation of the checkout stays out.
    (site / "dependencies.pth").write_text(sysconfig.get_path("purelib") + "\n", encoding="utf-8")
    install = [sys.executable, "-m", "pip", "--python", str(folder / "env" / "bin" / "python"), "install"]
    subprocess.run([*install, "--quiet", "--no-deps", "--no-index", str(wheel)], check=True)
    return folder / "env" / "bin"


def run(installed: Path, directory: Path, *arguments: str) -> subprocess.CompletedProcess[str]:
    environment = {key: value for key, value in os.environ.items() if key != "PYTHONPATH"}
    how = {"cwd": directory, "env": {**environment, "FACTDRIFT_CONTACT": ""}, "text": True}
    return subprocess.run([str(installed / "python"), *arguments], capture_output=True, check=False, **how)


def test_the_package_is_that_of_the_wheel_with_all_its_data(installed: Path, tmp_path: Path):
    names = "p.PACKAGE, p.RESOURCES, p.DICTIONARY, p.CITATION"
    code = f"import factdrift.core.paths as p; print({names}, sep='\\n')"
    lines = run(installed, tmp_path, "-c", code).stdout.splitlines()
    package, resources, dictionary, citation = map(Path, lines)
    assert installed.parent in package.parents
    assert citation == package / "CITATION.cff"
    assert citation.read_bytes() == (ROOT / "CITATION.cff").read_bytes()
    for folder, original in ((resources, "resources"), (dictionary, "docs/tables")):
        assert folder == package / original
        tops = (folder, ROOT / original)
        shipped, wanted = ({path.relative_to(top) for path in top.rglob("*")} for top in tops)
        assert shipped == wanted


def test_the_package_says_what_it_is_about_and_who_made_it(installed: Path, tmp_path: Path):
    code = "import importlib.metadata as m; print(m.metadata('factdrift'))"
    said = run(installed, tmp_path, "-c", code).stdout
    for line in (
        "Author: factdrift developers",
        "License-Expression: MIT",
        "Classifier: Intended Audience :: Science/Research",
        "Project-URL: Paper: WikiFactDiff, https://arxiv.org/abs/2403.14364",
    ):
        assert line in said.splitlines(), said[:3000]
    assert "wikidata" in next(line for line in said.splitlines() if line.startswith("Keywords: "))


def test_what_releases_build_stops_before_the_upload():
    jobs = yaml.safe_load((ROOT / ".github/workflows/package.yml").read_text("utf-8"))["jobs"]
    steps = [step for job in jobs.values() for step in job["steps"]]
    assert not any("publish" in step.get("uses", "") for step in steps)
    assert not any("upload dist" in step.get("run", "") for step in steps)
    tried = " ".join(step.get("run", "") for step in jobs["install"]["steps"])
    assert "venv empty" in tried
    assert "factdrift --version" in tried


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("estimate 92GB.gz 110GB.gz", 0, "cores"),
        ("half-life P6 --table half_life.parquet", 1, "half_life"),
        ("sample render --date 2021-01-04 --output dump.json.gz", 0, ""),
    ],
)
def test_commands_work_in_any_folder(installed: Path, tmp_path: Path, line: str, status: int, said: str):
    done = run(installed, tmp_path, str(installed / "factdrift"), *line.split())
    assert done.returncode == status, done.stderr
    assert said in (done.stderr if status else done.stdout)
    assert "Traceback" not in done.stderr
    if line.startswith("sample render"):
        assert (tmp_path / "dump.json.gz").stat().st_size > 100_000
