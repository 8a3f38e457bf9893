"""The installed package: a wheel in an environment of its own, outside the checkout and without its files."""

import os
import shutil
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The `bin` of a fresh environment with the wheel; it shares the dependencies of the tests."""
    folder = tmp_path_factory.mktemp("wheel")
    source = folder / "source"
    kept_out = (".git", ".venv*", "results", "logs", ".snakemake", "tests", "*.egg-info", "build")
    shutil.copytree(ROOT, source, symlinks=True, ignore=shutil.ignore_patterns(*kept_out))
    build = [sys.executable, "-m", "pip", "wheel", "--quiet", "--no-deps", "--no-build-isolation"]
    subprocess.run([*build, "--wheel-dir", str(folder), str(source)], check=True)
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
    return subprocess.run(
        [str(installed / "python"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        env={**environment, "FACTDRIFT_CONTACT": ""},
    )


def test_the_package_is_that_of_the_wheel_with_all_its_data(installed: Path, tmp_path: Path):
    code = (
        "import factdrift.core.paths as p; print(p.PACKAGE, p.RESOURCES, p.DICTIONARY, p.CITATION, sep='\\n')"
    )
    package, resources, dictionary, citation = map(
        Path, run(installed, tmp_path, "-c", code).stdout.splitlines()
    )
    assert installed.parent in package.parents
    assert citation == package / "CITATION.cff"
    assert citation.read_bytes() == (ROOT / "CITATION.cff").read_bytes()
    for folder, original in ((resources, "resources"), (dictionary, "docs/tables")):
        assert folder == package / original
        shipped, wanted = (
            {path.relative_to(top) for path in top.rglob("*")} for top in (folder, ROOT / original)
        )
        assert shipped == wanted


@pytest.mark.parametrize(
    ("line", "status", "said"),
    [
        ("estimate 92GB.gz 110GB.gz", 0, "cores"),
        ("klob export klob_c.parquet -o KLoB-c.jsonl", 1, "klob_c"),
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
