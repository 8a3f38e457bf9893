"""The files of a pair of dates that the explorer reads, and everything that they say of subjects."""

from __future__ import annotations

import contextlib
import hashlib
import re
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb

from factdrift.core.columns import Row
from factdrift.core.errors import InputError
from factdrift.core.tables import sql

SIDES = ("old", "new")

MOST = 20_000
"""Updates of a build that is exported, and of the table; a larger one is for the server."""

PROPERTIES, CLASSES = "properties.parquet", "classes.parquet"


_STATEMENT = (
    "subject, property, statement, position, rank, snak, datatype, object, key, json, start, start_unknown, "
    '"end", end_unknown, pit, qualifiers, revision, dropped_by'
)
_TRIPLE = (
    "subject, property, old_statement, new_statement, label, rule, announced, leaks, dropped_by, scenario, "
    "is_replace"
)
_FACT = "subject, property, rank_no, neighbor, similarity, relation, statement, object, datatype, json"
_SCORE = (
    "subject, relation, edit, model, method, kind, failed, p_new_before, p_obsolete_before, p_new, "
    "p_obsolete, efficacy_d, exact, said"
)
_ANSWER = "model, method, edit, number, role, object, prompt, target, logprob_before, logprob, exact, reason"
_PROBE = "subject, relation, criterion, kind, prompt, answers, stale, conditions"
_ASKED = ("update", "generalization")
"""Roles of the probes that are shown; those of neighbours are summed up in the scores."""

_IN_ORDER = " ORDER BY file_row_number"
"""SQL: rows as the table has them; several threads return those of a join in any order."""


@dataclass(frozen=True)
class Build:
    """The folder of a pair (`results/<old>_<new>`) and the dates of its dumps."""

    pair: Path
    old: str
    new: str

    @classmethod
    def of(cls, pair: Path | None) -> Build:
        """The build in a folder; of None the one in `results/` whose dataset is newest.

        Raises InputError if the folder is none of a pair, or lacks a table that every page needs.
        """
        if pair is None:
            datasets = list(Path("results").glob("*_*/wikifactdiff.parquet"))
            if not datasets:
                raise InputError(
                    "results/*_*/wikifactdiff.parquet: no such file; build it with `snakemake --cores all`, "
                    "or name a folder with --pair"
                )
            pair = max(datasets, key=lambda path: (path.stat().st_mtime_ns, path)).parent
        name = re.fullmatch(r"(\d{4}-\d\d-\d\d)_(\d{4}-\d\d-\d\d)", pair.resolve().name)
        if name is None:
            raise InputError(f"{pair}: is no folder of a pair such as results/2021-01-04_2023-02-27")
        build = cls(pair.resolve(), name[1], name[2])
        needed = [build.dataset, *(build.filtered(side) for side in SIDES), build.pair / "updates"]
        for side in SIDES:
            needed += [build.snapshot(side, name) for name in ("entities", PROPERTIES, CLASSES)]
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

    def snapshot(self, side: str, *names: str) -> Path:
        """A table, or a folder of tables, of the snapshot of a dump."""
        return self.pair.parent.joinpath("snapshots", self.date(side), *names)

    def filtered(self, side: str) -> Path:
        """The folder of a dump's statements, with the filter that dropped them."""
        return self.pair / "filtered" / side

    def table(self, *names: str) -> Path | None:
        """A file of the pair; None if it has not been built."""
        path = self.pair.joinpath(*names)
        return path if path.is_file() else None

    def bucket(self, folder: Path, subject: int) -> Path:
        """The table of a folder that has the rows of a subject."""
        number = buckets_of(folder)
        return folder / f"{subject % number}-of-{number}.parquet"

    def version(self) -> str:
        """A digest over names, sizes and times of change of the tables of the index and the subjects' pages.

        Raises InputError while one is missing.
        """
        files = [self.dataset, self.pair / "popularity.parquet", *parquet_files(self.pair / "updates")]
        for side in SIDES:
            files += [self.snapshot(side, PROPERTIES), self.snapshot(side, CLASSES)]
            files += parquet_files(self.snapshot(side, "entities"))
            files += parquet_files(self.filtered(side))
        digest = hashlib.sha256()
        for path in files:
            with contextlib.suppress(FileNotFoundError):
                state = path.stat()
                digest.update(f"{path}\0{state.st_size}\0{state.st_mtime_ns}\n".encode())
        return digest.hexdigest()


def buckets_of(folder: Path) -> int:
    """The number of buckets of the tables in a folder; of several complete divisions that of the newest.

    Raises InputError if there is none.
    """
    divisions: dict[int, list[Path]] = {}
    for path in folder.glob("*-of-*.parquet"):
        if match := re.fullmatch(r"\d+-of-(\d+)\.parquet", path.name):
            divisions.setdefault(int(match[1]), []).append(path)
    whole = {number: paths for number, paths in divisions.items() if len(paths) == number}
    if not whole:
        raise InputError(f"{folder}: has no tables of all buckets; build them with `snakemake --cores all`")
    return max(whole, key=lambda number: (max(path.stat().st_mtime_ns for path in whole[number]), number))


def parquet_files(folder: Path) -> list[Path]:
    """The tables of all buckets in a folder. Raises InputError if there are none."""
    number = buckets_of(folder)
    return [folder / f"{bucket}-of-{number}.parquet" for bucket in range(number)]


class Subject:
    """What the tables say of one subject.

    `parts`: `old` and `new` (statements), `triples`, `nearest`, `random` (facts), `answers` (rows of
    `edit_scores`, each with its probes under `probes`), `ripples` -> relation -> rows, which are dicts of the
    tables' columns.
    """

    def __init__(self, id: int):
        self.id = id
        self.parts: dict[str, dict[int, list[Row]]] = defaultdict(lambda: defaultdict(list))

    def add(self, part: str, row: Row) -> None:
        number = row["property"] if "property" in row else int(row["relation"][1:])
        self.parts[part][number].append(row)

    def rows(self, *parts: str) -> Iterator[Row]:
        """Yields the rows of parts, of all relations."""
        return (row for part in parts for rows in self.parts[part].values() for row in rows)


class Tables:
    """The tables of a build over one DuckDB connection."""

    def __init__(self, build: Build, db: duckdb.DuckDBPyConnection):
        self.build, self.db = build, db
        db.execute("SET parquet_metadata_cache = true")
        self.untouched: dict[int, list[Row]] = defaultdict(list)
        """Property -> the rows of `untouched`: what was decided about groups without a change or a date."""
        folder = build.pair / "untouched"
        if folder.is_dir():
            columns = "property, rule, label, dropped_by, sum(triples) AS triples"
            for row in self.rows(parquet_files(folder), columns, "true GROUP BY ALL ORDER BY ALL"):
                self.untouched[row["property"]].append(row)

    def rows(self, files: Path | list[Path], columns: str, where: str) -> list[Row]:
        """The rows of tables that fulfil a condition, as dicts. Can be called in any thread."""
        query = f"SELECT {columns} FROM read_parquet({sql(files)}) WHERE {where}"
        rows: list[Row] = self.db.cursor().sql(query).to_arrow_table().to_pylist()
        return rows

    def read(self, subjects: Sequence[int]) -> dict[int, Subject]:
        """The subjects of one bucket, with all of their statements: one query a table."""
        build, records = self.build, {subject: Subject(subject) for subject in subjects}
        numbered = _among("subject", subjects) + _IN_ORDER
        named = _among("subject", [f"Q{number}" for number in subjects]) + _IN_ORDER
        made: dict[tuple[str, str, str], Row] = {}
        for part, path, columns, where in (
            *(
                (side, build.bucket(build.filtered(side), subjects[0]), _STATEMENT, numbered)
                for side in SIDES
            ),
            ("triples", build.bucket(build.pair / "updates", subjects[0]), _TRIPLE, numbered),
            ("nearest", build.table("neighbors.parquet"), _FACT, numbered),
            ("random", build.table("random_neighbors.parquet"), _FACT, numbered),
            ("ripples", build.table("ripples.parquet"), _PROBE, named),
            ("answers", build.table("edit_scores.parquet"), _SCORE, named),
        ):
            for row in self.rows(path, columns, where) if path else ():
                subject = row["subject"]
                records[subject if isinstance(subject, int) else int(subject[1:])].add(part, row)
                if part == "answers":
                    row["probes"] = []
                    made[row["model"], row["method"], row["edit"]] = row
        probes = build.table("edit", "probes.parquet")
        if made and probes is not None:
            edits = _among("edit", list(dict.fromkeys(edit for _, _, edit in made)))
            for row in self.rows(probes, _ANSWER, f"{edits} AND {_among('role', _ASKED)}{_IN_ORDER}"):
                if score := made.get((row["model"], row["method"], row["edit"])):
                    score["probes"].append(row)
        return records


def _among(column: str, values: Sequence[int] | Sequence[str]) -> str:
    """SQL: the column is one of the values, so put that DuckDB can skip row groups by their statistics."""
    if len(values) == 1:
        return f"{column} = {sql(values[0])}"
    low, high = min(values), max(values)
    within = f"{column} BETWEEN {sql(low)} AND {sql(high)}"
    return f"{within} AND {column} IN (SELECT unnest({sql(values)}))"
