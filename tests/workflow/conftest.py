"""Builds that several tests share: each is made once a test run, by the first worker that needs it."""

from pathlib import Path

import pytest
from support.excerpt import local_build
from support.workflow import Once, copied, run_here, snakemake


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
def audited(tempripple: Path, once: Once) -> Path:
    """The `results` folder of the default configuration, with all products that the audit covers."""

    def make(directory: Path) -> None:
        names = ("counterfact", "easyedit", "rippleedits", "wikibigedit", "zsre", "mquake")
        products = [f"results/layouts/{name}.json" for name in names]
        products += ["results/ripples.parquet", "results/stream.parquet", "results/asof.parquet"]
        products += ["results/corpus.parquet", "results/corpus_questions.parquet"]
        stream = ["2021-01-04", "2023-02-27"]
        run_here(copied(tempripple, directory), "klob", *products, "results/publish/", stream=stream)

    return once("audited", make) / "results"


@pytest.fixture(scope="session")
def trained(klob: Path, once: Once) -> Path:
    """A directory with both bundled models."""
    return more("trained", klob.parent, once, "results/models/sample-llama", "results/models/sample-gpt2")
