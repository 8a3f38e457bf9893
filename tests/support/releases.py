"""Releases made of tiny files, and a stand-in for Snakemake that makes them inside a refresh."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import IO, Any

import pyarrow as pa
import pyarrow.parquet as pq

from factdrift.publish.releases.release import RELEASED, Release, write_release
from factdrift.snapshots.registry import dump_at


def products(folder: Path, old: str, new: str, dumps: dict[str, str] | None = None) -> list[Path]:
    """The files of a release, whose manifest names the dumps with the digests in their addresses."""
    folder.mkdir(parents=True)
    stream = pa.table(
        {
            "interval": pa.array([1, 2, 2, 2], pa.int32()),
            "scenario": ["Archive", "AddObject", "Archive", "Archive"],
            "link": pa.array([1, 1, 2, 1], pa.int32()),
            "reverts": [False, False, True, None],
        }
    )
    for name in RELEASED:
        if name.endswith(".parquet"):
            pq.write_table(stream, folder / name)
        else:
            (folder / name).write_text("{}")
    used = {date: dump_at(date, (dumps or {}).get(date, "https://a/b.json.gz")) for date in (old, new)}
    manifest = {
        "dates": {"old": old, "new": new},
        "dumps": {date: {"bytes": dump.size, **dump.digests} for date, dump in used.items()},
    }
    (folder / "manifest.json").write_text(json.dumps(manifest))
    return sorted(folder.iterdir())


class Workflow:
    """Takes the place of `publish.releases.build.run`. `does`: what the next builds do, else `make`."""

    def __init__(self) -> None:
        self.lines: list[list[str]] = []
        self.does: list[Callable[[dict[str, Any]], int]] = []

    def __call__(self, line: list[str], lock: IO[str]) -> int:
        self.lines.append(line)
        start = line.index("--config") + 1
        config = {key: json.loads(value) for key, _, value in (each.partition("=") for each in line[start:])}
        return (self.does.pop(0) if self.does else self.make)(config)

    @staticmethod
    def make(config: dict[str, Any], configuration: dict[str, Any] | None = None) -> int:
        """Writes snapshots, the pair and the release, as the workflow does."""
        old, new = config["stream"][-2:]
        for date in (old, new):
            path = Path("results/snapshots", date, "wikidata.json.gz")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_bytes(b"dump")
        pair = Path("results", f"{old}_{new}")
        (pair / "filtered").mkdir(parents=True)
        (pair / "filtered/rows.parquet").touch()
        files = products(pair / "made", old, new, config["dumps"])
        (pair / "wikifactdiff.parquet").write_bytes((pair / "made/wikifactdiff.parquet").read_bytes())
        release = Release(config["stream"], config["dumps"], configuration or {})
        write_release(files, release, Path("results/releases", new))
        return 0
