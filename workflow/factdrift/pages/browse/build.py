"""The files of a pair of dates that the explorer reads, and how they are opened."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import duckdb

from factdrift.core.errors import InputError
from factdrift.core.manifests import read_manifest
from factdrift.core.tables import sql

SIDES = ("old", "new")


@dataclass(frozen=True)
class Build:
    """The folder of a pair (`results/<old>_<new>`) and the dates of its dumps."""

    pair: Path
    old: str
    new: str

    @classmethod
    def of(cls, pair: Path) -> Build:
        """Raises InputError if the folder is none of a pair, or lacks a table that every page needs."""
        name = re.fullmatch(r"(\d{4}-\d\d-\d\d)_(\d{4}-\d\d-\d\d)", pair.resolve().name)
        if name is None:
            raise InputError(f"{pair}: is no folder of a pair such as results/2021-01-04_2023-02-27")
        build = cls(pair.resolve(), name[1], name[2])
        needed = [build.dataset, *(build.filtered(side) for side in SIDES), build.pair / "updates"]
        needed += [path for side in SIDES for path in (build.entities(side), build.properties(side))]
        for path in needed:
            if not path.exists():
                raise InputError(f"{path}: no such file or folder; build it with `snakemake --cores all`")
        return build

    @property
    def dataset(self) -> Path:
        return self.pair / "wikifactdiff.parquet"

    def date(self, side: str) -> str:
        """The date of the `old` or the `new` dump."""
        return self.old if side == "old" else self.new

    def _snapshot(self, side: str) -> Path:
        return self.pair.parent / "snapshots" / self.date(side)

    def entities(self, side: str) -> Path:
        """The folder of a dump's items."""
        return self._snapshot(side) / "entities"

    def properties(self, side: str) -> Path:
        return self._snapshot(side) / "properties.parquet"

    def classes(self, side: str) -> Path:
        return self._snapshot(side) / "classes.parquet"

    def filtered(self, side: str) -> Path:
        """The folder of a dump's statements, with the filter that dropped them."""
        return self.pair / "filtered" / side

    def table(self, *names: str) -> Path | None:
        """A file of the pair; None if it has not been built."""
        path = self.pair.joinpath(*names)
        return path if path.is_file() else None

    def manifest(self) -> dict[str, Any]:
        """The account of the build; empty if it has not been written."""
        path = self.table("manifest.json")
        return {} if path is None else read_manifest(path)

    def bucket(self, folder: Path, subject: int) -> Path:
        """The table of a folder that has the rows of a subject."""
        number = buckets_of(folder)
        return folder / f"{subject % number}-of-{number}.parquet"

    def by_bucket(self, subjects: Iterable[int]) -> Iterator[list[int]]:
        """The subjects, those of a bucket together, ascending."""
        number = buckets_of(self.pair / "updates")
        groups: dict[int, list[int]] = {}
        for subject in sorted(subjects):
            groups.setdefault(subject % number, []).append(subject)
        for bucket in sorted(groups):
            yield groups[bucket]

    def inputs(self) -> Iterator[Path]:
        """The files from which the index is made."""
        yield self.dataset
        for side in SIDES:
            yield from parquet_files(self.entities(side))
            yield self.properties(side)
            yield self.classes(side)
            yield from parquet_files(self.filtered(side))
        yield self.pair / "popularity.parquet"

    def state(self) -> str:
        """A digest over names, sizes and times of change of the index's inputs."""
        return _digest(self.inputs())

    def version(self) -> str:
        """As `state`, over the tables of the subjects' pages, too. Raises InputError while one is missing."""
        return _digest([*self.inputs(), *parquet_files(self.pair / "updates")])


def _digest(paths: Iterable[Path]) -> str:
    digest = hashlib.sha256()
    for path in paths:
        with contextlib.suppress(FileNotFoundError):
            held = path.stat()
            digest.update(f"{path}\0{held.st_size}\0{held.st_mtime_ns}\n".encode())
    return digest.hexdigest()


def buckets_of(folder: Path) -> int:
    """The number of buckets of the tables in a folder; of several complete divisions that of the newest.

    Raises InputError if there is none.
    """
    held: dict[int, list[Path]] = {}
    for path in folder.glob("*-of-*.parquet"):
        if match := re.fullmatch(r"\d+-of-(\d+)\.parquet", path.name):
            held.setdefault(int(match[1]), []).append(path)
    whole = {number: paths for number, paths in held.items() if len(paths) == number}
    if not whole:
        raise InputError(f"{folder}: has no tables of all buckets; build them with `snakemake --cores all`")
    return max(whole, key=lambda number: (max(path.stat().st_mtime_ns for path in whole[number]), number))


def parquet_files(folder: Path) -> list[Path]:
    """The tables of all buckets in a folder. Raises InputError if there are none."""
    number = buckets_of(folder)
    return [folder / f"{bucket}-of-{number}.parquet" for bucket in range(number)]


def rows(
    db: duckdb.DuckDBPyConnection, files: Path | list[Path], columns: str, where: str
) -> list[dict[str, Any]]:
    """The rows of tables that fulfil a condition, as dicts."""
    found: list[dict[str, Any]] = (
        db.sql(f"SELECT {columns} FROM read_parquet({sql(files)}) WHERE {where}").to_arrow_table().to_pylist()
    )
    return found


def newest() -> Path:
    """The pair of the working directory's results whose dataset is newest; InputError if there is none."""
    found = list(Path("results").glob("*_*/wikifactdiff.parquet"))
    if not found:
        raise InputError(
            "results/*_*/wikifactdiff.parquet: no such file; build it with `snakemake --cores all`, or name "
            "a folder with --pair"
        )
    return max(found, key=lambda path: (path.stat().st_mtime_ns, path)).parent
