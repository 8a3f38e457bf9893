"""Builds that several tests share: each is made once a test run, by the first worker that needs it."""

from pathlib import Path

import pytest
from support.excerpt import local_build
from support.workflow import Once, copied, snakemake


@pytest.fixture(scope="session")
def excerpt(once: Once) -> Path:
    """A directory with the build from a few hundred real entities (support/excerpt.py)."""
    return once("excerpt", local_build)


def more(name: str, built: Path, once: Once, *targets: str) -> Path:
    """A directory with the default configuration and these targets."""
    return once(name, lambda directory: snakemake(copied(built, directory), *targets))


@pytest.fixture(scope="session")
def klob(built: Path, once: Once) -> Path:
    """The `results` folder of the default configuration, with KLoB."""
    return more("klob", built, once, "klob") / "results"


@pytest.fixture(scope="session")
def tempripple(built: Path, once: Once) -> Path:
    """A directory with TempRIPPLE."""
    return more("tempripple", built, once, "results/tempripple.parquet", "results/tempripple.stats.json")


@pytest.fixture(scope="session")
def probes(built: Path, once: Once) -> Path:
    """A directory with the probes of ripples."""
    return more("ripples", built, once, "results/ripples.parquet")


@pytest.fixture(scope="session")
def trained(built: Path, once: Once) -> Path:
    """A directory with both bundled models."""
    pytest.importorskip("torch", reason="language models are installed with `make models`")
    return more("trained", built, once, "results/models/sample-llama", "results/models/sample-gpt2")
