"""All tests: threads, compiled modules, hypothesis without time limits, the order of files, shared builds."""

import functools
import os
import shutil
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from support.digests import Check, check
from support.examples import examples
from support.odd_builds import build_drawn
from support.workflow import STAGES, TERMINAL, Once, copied, snakemake

from factdrift.cli import main
from factdrift.core import commands, paths
from factdrift.core.exhausted import collect_seldom
from factdrift.core.owned import file_lock

# Set before numpy and PyTorch are loaded, and inherited by the processes that tests start. Threads that wait
# by spinning slow each other down where there are more of them than cores, and each core has a worker.
os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1", OMP_WAIT_POLICY="PASSIVE")

# Tests start hundreds of processes, which would each compile all modules again where images forbid Python to
# keep them (two of the four seconds in which Snakemake reads the workflow).
os.environ.pop("PYTHONDONTWRITEBYTECODE", None)
sys.dont_write_bytecode = False

collect_seldom()  # as programs do: collecting the tests makes millions of objects, and no cycles

settings.register_profile(
    "tests", max_examples=examples(100), deadline=None, suppress_health_check=[HealthCheck.too_slow]
)
settings.load_profile("tests")

FIRST = ("workflow", "benchmarks")
"""Folders with files that take minutes."""


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--renew-digests",
        action="store_true",
        help="write the digests of products that tests would compare (tests/support/digests.py)",
    )


def pytest_make_parametrize_id(val: object) -> str | None:
    """Bytes in no name of a test: those of gzip hold the second, and all workers must collect the same."""
    return "bytes" if isinstance(val, bytes) else None


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Files that take long run first: one begun last would leave the other worker idle."""
    here = Path(__file__).parent
    slow = {item.path for item in items if item.get_closest_marker("slow")}
    items.sort(key=lambda item: (item.path not in slow, item.path.relative_to(here).parts[0] not in FIRST))


@pytest.fixture(scope="session", autouse=True)
def without_folders(tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Messages name programs without their folder, and what commands keep is not that of the user."""
    cache = tmp_path_factory.mktemp("cache")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(paths, "cache_folder", lambda: cache)
        patch.setattr(commands, "program", lambda name: name)
        yield


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of a test, which is its working directory."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


@pytest.fixture
def refused(capsys: pytest.CaptureFixture[str]) -> Callable[..., str]:
    """`refused(*words)` is what the command line says to words that it refuses."""

    def said(*words: object) -> str:
        capsys.readouterr()
        assert main([*map(str, words)]) == 1
        return capsys.readouterr().err

    return said


@pytest.fixture(scope="session")
def once(tmp_path_factory: pytest.TempPathFactory) -> Once:
    """`once(name, make)` returns this worker's own copy of a folder that `make(folder)` fills.

    The first worker that asks for `name` calls `make`; the others wait for it. Each may run Snakemake in its
    copy.
    """
    base = tmp_path_factory.getbasetemp()
    shared = base.parent if "PYTEST_XDIST_WORKER" in os.environ else base

    def get(name: str, make: Callable[[Path], object]) -> Path:
        folder = shared / f"shared-{name}"
        with file_lock(folder.with_suffix(".lock")):
            if not folder.exists():
                unfinished = folder.with_suffix(".unfinished")
                shutil.rmtree(unfinished, ignore_errors=True)
                unfinished.mkdir()
                make(unfinished)
                unfinished.rename(folder)
        return copied(folder, tmp_path_factory.mktemp(name) / "run")

    return get


@pytest.fixture(scope="session")
def built(once: Once) -> Path:
    """A directory in which the default configuration has been built; what the run printed is in TERMINAL, its
    stages are in STAGES."""

    def make(directory: Path) -> None:
        (directory / TERMINAL).write_text(snakemake(directory, jobs=False), encoding="utf-8")
        shutil.copy(directory / "logs" / "progress.txt", directory / STAGES)

    return once("built", make)


@pytest.fixture(scope="session")
def drawn_world(once: Once) -> Path:
    """A directory with all products of two drawn dumps."""
    return once("drawn", build_drawn)


@pytest.fixture(scope="session")
def digests(pytestconfig: pytest.Config) -> Check:
    """`digests(build, folder, products)` compares products with their digests, or renews these."""
    return functools.partial(check, renew=pytestconfig.getoption("--renew-digests"))
