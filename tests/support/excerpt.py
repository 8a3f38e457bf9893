"""A build from a few hundred real entities: the later dump is a file, the earlier one is derived from it."""

import bz2
import os
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest

from support.workflow import ROOT, snakemake

DATA = ROOT / "tests" / "data"
SAMPLE = ROOT / "resources" / "sample"
EXCERPT = DATA / "real-excerpt.json.bz2"
LABELS = [
    str(path) for path in (DATA / "labels.tsv", SAMPLE / "entities/real.tsv", SAMPLE / "properties.tsv")
]
"""Names of entities that real dumps mention and do not hold."""

OLD, NEW = "2013-01-01", "2017-06-01"
MONTHS = {
    month: bz2.compress(
        f"""de.wikipedia Republican_Party_(United_States) 1 desktop 999 A9
en.wikipedia Democratic_Party_(United_States) 1 desktop {50 + k} A1
en.wikipedia Republican_Party_(United_States) 2 desktop {k} A1
en.wikipedia Republican_Party_(United_States) 2 mobile-web 7 A1
""".encode()
    )
    for k, month in enumerate(("2017-04", "2017-05"))
}
"""The page views of each month, as the file that Wikimedia publishes."""


def file_of(month: str) -> str:
    """The name of a month's file on Wikimedia's server."""
    return f"pageviews-{month.replace('-', '')}-user.bz2"


def real(name: str) -> Path:
    """A larger dump; skips the test where there is none."""
    folder = os.environ.get("FACTDRIFT_REAL_DATA")
    if folder is None:
        pytest.skip("FACTDRIFT_REAL_DATA names no folder of real dumps")
    return Path(folder) / "wikidata" / name


def config(source: str, **keys: Any) -> dict[str, Any]:
    """The configuration of a build whose later dump is `source`, a path or an address."""
    return {
        "snapshots": {"old": OLD, "new": NEW},
        "dumps": {OLD: "derive", NEW: source},
        "objects": "any",
        "labels": LABELS,
        "shards": 1,
        "buckets": 1,
        **keys,
    }


def build(
    directory: Path,
    *options: str,
    targets: Sequence[str] = ("results/wikifactdiff.parquet",),
    fails: bool = False,
    **keys: Any,
) -> str:
    """Builds the dataset, or other targets, with the page views of MONTHS; returns the output of the run."""
    directory.mkdir(exist_ok=True)
    (directory / "months.yaml").write_text(f"method: {{popularity_months: {len(MONTHS)}}}\n")
    return snakemake(directory, *targets, "--configfile", "months.yaml", *options, fails=fails, **keys)


def local_build(directory: Path) -> None:
    """Builds the dataset from the local excerpt; the page views are files in `directory/views`."""
    (directory / "views").mkdir(parents=True)
    for month, packed in MONTHS.items():
        (directory / "views" / file_of(month)).write_bytes(packed)
    targets = ("results/wikifactdiff.parquet", "results/manifest.json")
    build(directory, targets=targets, **config(str(EXCERPT), pageviews="views"))
