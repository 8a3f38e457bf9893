"""Small builds as the benchmark makes them, one of them with hostile labels, and a server on each."""

from __future__ import annotations

import contextlib
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from browsing import Synthetic

from factdrift.browse.build import Build
from factdrift.browse.index import index_of

HOSTILE = (
    "</script><script>window.hacked = 1</script>",
    '<img src="https://example.org/x.png" onerror="window.hacked = 1">',
    "\u202egnirts\u202c \u200fright to left\u200f שלום",
    "{{ 7 * 7 }} {% raw %}",
    "x" * 1_000_000,
    "\x1b[2J\x07\u2028a & b \" ' `",
    "</a></bdi></li></ul><h1>not a heading</h1>",
)


class Hostile(Synthetic):
    """A build in which every label of entities and relations is hostile."""

    def labels(self, ids: np.ndarray) -> pa.Array:
        return pa.array([HOSTILE[number % len(HOSTILE)] for number in ids.tolist()])


@contextlib.contextmanager
def serving(pair: Path, index: Path) -> Iterator[str]:
    """The address of `factdrift browse`, run as users run it."""
    command = [sys.executable, "-c", "from factdrift.cli import main; raise SystemExit(main())", "browse"]
    command += ["--pair", str(pair), "--index", str(index), "--port", "0", "--no-browser"]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stderr is not None
        line = process.stdout.readline()
        try:
            assert line.startswith("http://127.0.0.1:"), process.stderr.read()
            yield line.split()[0]
        finally:
            process.terminate()


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


@pytest.fixture(scope="session")
def hostile(tmp_path_factory: pytest.TempPathFactory) -> Synthetic:
    folder = tmp_path_factory.mktemp("hostile")
    build = Hostile(folder / "results", 24, 14, 4, 2, 4)
    build.make()
    return build
