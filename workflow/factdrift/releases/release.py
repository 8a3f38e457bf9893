"""One release: a folder named by the newest date, with copies of the products and an account of them."""

from __future__ import annotations

import hashlib
import json
import re
import shutil
from collections.abc import Sequence
from importlib.metadata import version
from pathlib import Path
from typing import NamedTuple

import pyarrow.parquet as pq

from factdrift.errors import InputError
from factdrift.tables import atomic_path, database, sql

ACCOUNT = "release.json"


class Release(NamedTuple):
    """What the next release has to know of one: its sequence of dates, and where each dump came from."""

    dates: list[str]
    dumps: dict[str, str]


def write_release(files: Sequence[Path], release: Release, output: Path) -> None:
    """Copies `files`, of which one is stream.parquet, to the folder `output`, with release.json beside them.

    The folder appears when it is complete. release.json says nothing of the time or the machine.
    """
    (stream,) = [path for path in files if path.name == "stream.parquet"]
    with atomic_path(output) as folder:
        folder.mkdir()
        for path in files:
            shutil.copyfile(path, folder / path.name)
        account = {
            "date": release.dates[-1],
            "dates": release.dates,
            "dumps": release.dumps,
            "factdrift": version("factdrift"),
            "files": {path.name: _described(path) for path in sorted(files)},
            **_counts(stream, len(release.dates) - 1),
        }
        (folder / ACCOUNT).write_text(json.dumps(account, indent=2) + "\n", encoding="utf-8")


def last_release(folder: Path) -> tuple[Release, dict[str, object]] | None:
    """The newest complete release in a folder of releases, and its account; None if there is none.

    Raises InputError that names an account which cannot be read.
    """
    found = [
        path for path in folder.glob(f"*/{ACCOUNT}") if re.fullmatch(r"\d{4}-\d{2}-\d{2}", path.parent.name)
    ]
    if not found:
        return None
    path = max(found, key=lambda each: each.parent.name)
    try:
        account = json.loads(path.read_text("utf-8"))
        release = Release([str(date) for date in account["dates"]], dict(account["dumps"]))
        if release.dates[-1:] != [path.parent.name] or not release.dumps.keys() >= set(release.dates):
            raise ValueError("its dates are not those of the folder and the dumps")
    except (ValueError, KeyError, TypeError) as error:
        raise InputError(
            f"{path}: not the account of a release ({error}); put the file back, or move the folder away to "
            "begin from the release before it"
        ) from None
    return release, account


def _described(path: Path) -> dict[str, object]:
    with path.open("rb") as file:
        digest = hashlib.file_digest(file, "sha256").hexdigest()
    rows = {"rows": pq.read_metadata(path).num_rows} if path.suffix == ".parquet" else {}
    return {"bytes": path.stat().st_size, "sha256": digest, **rows}


def _counts(stream: Path, interval: int) -> dict[str, object]:
    """Updates of the newest interval, by scenario, and what they do to those before."""
    with database() as db:
        rows = f"FROM read_parquet({sql(stream)})"
        newest = f"{rows} WHERE interval = {interval}"
        scenarios = db.sql(f"SELECT scenario, count(*) {newest} GROUP BY 1 ORDER BY 2 DESC, 1").fetchall()
        (further, reverts) = db.sql(
            f"SELECT count(*) FILTER (link > 1), count(*) FILTER (reverts) {newest}"
        ).fetchall()[0]
        (total,) = db.sql(f"SELECT count(*) {rows}").fetchall()[0]
    return {
        "updates": total,
        "new": {
            "updates": sum(count for _, count in scenarios),
            "scenarios": dict(scenarios),
            "of_chains_before": further,
            "reverts": reverts,
        },
    }
