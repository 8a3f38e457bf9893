"""Builds that several tests share: each is made once a test run, by the first worker that needs it."""

from pathlib import Path

import pytest
from support.excerpt import local_build
from support.workflow import Once, copied, snakemake


@pytest.fixture(scope="session")
def excerpt(once: Once) -> Path:
    """A directory with the build from a few hundred real entities (support/excerpt.py)."""
    return once("excerpt", local_build)


@pytest.fixture(scope="session")
def klob(built: Path, once: Once) -> Path:
    """The `results` folder of the default configuration, with KLoB."""

    def make(directory: Path) -> None:
        snakemake(copied(built, directory), "klob")

    return once("klob", make) / "results"


@pytest.fixture(scope="session")
def tempripple(built: Path, once: Once) -> Path:
    """A directory with the default configuration and TempRIPPLE."""

    def make(directory: Path) -> None:
        snakemake(copied(built, directory), "results/tempripple.parquet", "results/tempripple.stats.json")

    return once("tempripple", make)


@pytest.fixture(scope="session")
def trained(built: Path, once: Once) -> Path:
    """A copy of `built` with both bundled models."""
    pytest.importorskip("torch", reason="language models are installed with `make models`")

    def make(directory: Path) -> None:
        snakemake(copied(built, directory), "results/models/sample-llama", "results/models/sample-gpt2")

    return once("trained", make)
