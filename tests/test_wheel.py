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
    left_out = shutil.ignore_patterns(*kept_out)
    shutil.copytree(ROOT, source, symlinks=True, ignore=left_out)
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
        [str(installed / "python"), str(installed / "factdrift"), *arguments],
        capture_output=True,
        text=True,
        check=False,
        cwd=directory,
        env={**environment, "FACTDRIFT_CONTACT": ""},
    )


def test_what_describes_published_tables_is_in_the_wheel(installed: Path, tmp_path: Path):
    code = "import factdrift.core.paths as p; print(p.PACKAGE); print(p.DICTIONARY); print(p.CITATION)"
    done = subprocess.run(
        [str(installed / "python"), "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    package, dictionary, citation = map(Path, done.stdout.splitlines())
    assert (dictionary, citation) == (package / "docs" / "tables", package / "CITATION.cff")
    pages = {path.name for path in (ROOT / "docs" / "tables").iterdir()}
    assert {path.name for path in dictionary.iterdir()} == pages
    assert citation.read_bytes() == (ROOT / "CITATION.cff").read_bytes()


def test_the_package_is_that_of_the_wheel_with_all_its_data(installed: Path, tmp_path: Path):
    code = "import factdrift.core.paths as p; print(p.PACKAGE, *sorted(p.RESOURCES.rglob('*')), sep='\\n')"
    done = subprocess.run(
        [str(installed / "python"), "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path
    )
    package, *found = map(Path, done.stdout.splitlines())
    assert installed.parent in package.parents
    shipped = {path.relative_to(package / "resources") for path in found}
    assert shipped == {path.relative_to(ROOT / "resources") for path in (ROOT / "resources").rglob("*")}


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dumps", "list"], "2021-01-04"),
        (["estimate", "92GB.gz", "110GB.gz"], "cores"),
        (["klob", "templates"], "template"),
        (["klob", "score", "--help"], "usage"),
        (["chat", "ask", "--help"], "prices.yaml"),
        (["edit", "try", "--help"], "usage"),
    ],
)
def test_commands_work_in_any_folder(installed: Path, tmp_path: Path, arguments: list[str], said: str):
    done = run(installed, tmp_path, *arguments)
    assert done.returncode == 0, done.stderr
    assert said in done.stdout


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (["dumps", "download", "2021-01-04", "--output", "dump.json.gz"], "FACTDRIFT_CONTACT"),
        (["chat", "export", "store", "answers.parquet"], "store"),
    ],
)
def test_errors_are_messages(installed: Path, tmp_path: Path, arguments: list[str], said: str):
    done = run(installed, tmp_path, *arguments)
    assert done.returncode == 1
    assert said in done.stderr
    assert "Traceback" not in done.stderr


def test_the_bundled_sample_is_rendered(installed: Path, tmp_path: Path):
    done = run(installed, tmp_path, "sample", "render", "--date", "2021-01-04", "--output", "dump.json.gz")
    assert done.returncode == 0, done.stderr
    assert (tmp_path / "dump.json.gz").stat().st_size > 100_000
