"""Small builds as the benchmark makes them, one of them with hostile labels, and a server."""

from collections.abc import Iterator
from functools import partial
from pathlib import Path

import pytest
from browsing import Synthetic
from support.explorer import Hostile, serving
from support.workflow import Once

from factdrift.cli import main
from factdrift.pages.browse.build import Build
from factdrift.pages.browse.index import index_of


@pytest.fixture(scope="session")
def made(tmp_path_factory: pytest.TempPathFactory) -> Synthetic:
    """400 items in 3 buckets; 60 have an update, of which 10 were edited."""
    build = Synthetic(tmp_path_factory.mktemp("browse") / "results", 400, 60, 5, 3, 10)
    build.make()
    return build


@pytest.fixture(scope="session")
def build(made: Synthetic) -> Build:
    return Build.of(made.pair)


@pytest.fixture(scope="session")
def index(build: Build, tmp_path_factory: pytest.TempPathFactory) -> Path:
    return index_of(build, tmp_path_factory.mktemp("index") / "index.sqlite")


@pytest.fixture(scope="session")
def served(made: Synthetic, index: Path) -> Iterator[str]:
    with serving(made.pair, index) as address:
        yield address


def explored(pair: Path, folder: Path) -> None:
    assert main(["browse", "--pair", str(pair), "-o", str(folder / "explorer")]) == 0


@pytest.fixture(scope="session")
def files(made: Synthetic, once: Once) -> Path:
    """The explorer as files."""
    return once("explorer", partial(explored, made.pair)) / "explorer"


@pytest.fixture(scope="session")
def hostile_files(hostile: Synthetic, once: Once) -> Path:
    return once("hostile-explorer", partial(explored, hostile.pair)) / "explorer"


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Synthetic:
    folder = tmp_path_factory.mktemp("hostile")
    build = Hostile(folder / "results", 24, 14, 4, 2, 4)
    build.make()
    return build
