"""The manifest: inputs, configuration, versions and counts of a build, without times, so that equal builds
give equal bytes.
"""

from __future__ import annotations

import importlib.metadata
import json
import platform
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pyarrow.parquet as pq

from factdrift.core.errors import InputError
from factdrift.core.files import write_json
from factdrift.core.tables import database
from factdrift.wikifactdiff.funnel import by_stage

if TYPE_CHECKING:
    from factdrift.wikifactdiff.jobs import Manifest

PACKAGES = (
    *("factdrift", "duckdb", "pyarrow", "numpy", "scipy", "scikit-learn", "babel", "stringzilla", "nltk"),
    *("english-words", "snakemake"),
)


def write_manifest(job: Manifest) -> None:
    """Writes the manifest; the rows of tables are counted under the paths given.

    Raises InputError if a sample's account or date is missing.
    """
    if len(job.samples) != len(job.sample_dates):
        raise InputError(f"--samples: {len(job.samples)} files, but --sample-dates: {len(job.sample_dates)}")
    dates = (job.old_date, job.new_date)
    manifest: dict[str, Any] = {
        "dates": dict(zip(("old", "new"), dates, strict=True)),
        "dumps": {day: _json(path) for day, path in zip(dates, job.dumps, strict=True)},
        "snapshots": {day: _json(path) for day, path in zip(dates, job.snapshots, strict=True)},
        "sample": {day: _json(path) for day, path in zip(job.sample_dates, job.samples, strict=True)},
        "configuration": job.configuration,
        "versions": versions(),
        "rows": {str(path): pq.read_metadata(path).num_rows for path in sorted(job.tables)},
    }
    with database() as db:
        manifest["triples"] = by_stage(db, job.funnel)
    write_json(manifest, job.output, indent=2)


def versions() -> dict[str, str]:
    """The versions of Python and of the packages that can change results."""
    return {"python": platform.python_version()} | {
        name: importlib.metadata.version(name) for name in PACKAGES
    }


def _json(path: Path) -> Any:
    return json.loads(path.read_text(encoding="utf-8"))
