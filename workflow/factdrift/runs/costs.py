"""What jobs cost, as measured: resources/costs/*.tsv."""

import math
from functools import cache
from pathlib import Path
from typing import NamedTuple

from factdrift.core.files import read_tsv
from factdrift.core.paths import COSTS


class Cost(NamedTuple):
    """Measured costs of the jobs of one command.

    `split`: how the work is divided into jobs (SPLITS). `cpu_s` (seconds) and `memory_mb` are the fixed part
    of a job, `*_gb` the part per gigabyte of text in its share of a dump. `most_mb`: the most
    that a job takes, because its queries spill above. `kept`: the output is not temporary.
    """

    split: str
    cpu_s: float
    cpu_s_gb: float
    memory_mb: float
    memory_mb_gb: float
    most_mb: float
    output_mb_gb: float
    kept: bool

    def cpu(self, gb: float) -> float:
        return self.cpu_s + self.cpu_s_gb * gb

    def memory(self, gb: float) -> float:
        return min(self.memory_mb + self.memory_mb_gb * gb, self.most_mb)


_FIGURES = [name for name in Cost._fields if name not in ("split", "kept")]

SPLITS = {
    "whole": (1, 0, 0, 0),
    "dump": (2, 0, 0, 0),
    "shard": (0, 2, 0, 0),
    "dump_bucket": (0, 0, 2, 0),
    "bucket": (0, 0, 1, 0),
    "all_buckets": (0, 0, 1, 0),
    "block": (0, 0, 0, 1),
}
"""Numbers of jobs: in all, plus per shard, per bucket and per block of the nearest-facts search. Of
`all_buckets`, each job has the tables of all buckets in reach, and so memory for a whole dump, and works on
one."""


def job_count(split: str, shards: int, buckets: int, blocks: int) -> int:
    """How many jobs of a command a whole build of two dumps has."""
    parts = (1, shards, buckets, blocks)
    return sum(factor * part for factor, part in zip(SPLITS[split], parts, strict=True))


@cache
def read_costs(scope: str, folder: Path = COSTS) -> dict[str, Cost]:
    """The costs of each command (`statements extract`) where snapshots hold the items of a scope.

    Measured for `enwiki` and `all`; `anywiki` lies between them as its share of the items does.
    """
    quantities = read_quantities(folder)
    low, here, high = (quantities[f"held_{kept}"] for kept in ("enwiki", scope, "all"))
    weight = (here - low) / (high - low)
    rows = {(row["scope"], row["command"]): row for row in read_tsv(folder / "jobs.tsv")}
    costs = {}
    for command, few in ((command, row) for (of, command), row in rows.items() if of == "enwiki"):
        many = rows["all", command]
        figures = ((1 - weight) * float(few[name]) + weight * float(many[name]) for name in _FIGURES)
        costs[command] = Cost._make([few["split"], *figures, few["kept"] == "yes"])
    return costs


class Submission(NamedTuple):
    """The group of a command on a cluster, and how many of its jobs share a submission: a number or `all`."""

    group: str
    jobs_each: str

    @property
    def whole(self) -> bool:
        """One submission has all jobs, which need each other."""
        return self.jobs_each == "all"

    def count(self, jobs: int) -> int:
        """How many submissions so many jobs take."""
        return 1 if self.whole else math.ceil(jobs / int(self.jobs_each))


ALONE = Submission("", "1")
"""Of a job that is in no group."""


@cache
def read_submissions() -> dict[str, Submission]:
    """Command -> its submissions; a job of any other command has one of its own (ALONE)."""
    rows = read_tsv(COSTS / "submissions.tsv")
    return {row["command"]: Submission(row["group"], row["jobs_each"]) for row in rows}


def width_of(group: str) -> int:
    """How many jobs of a group need no other one and are needed by the same: both dumps' of a bucket."""
    numbers = [int(each.jobs_each) for each in read_submissions().values() if each.group == group]
    return max(numbers) // min(numbers)


@cache
def read_archives() -> dict[str, float]:
    """Compression -> additional CPU seconds per gigabyte of text, compared with gzip."""
    return {row["compression"]: float(row["cpu_s_gb"]) for row in read_tsv(COSTS / "archives.tsv")}


@cache
def read_quantities(folder: Path = COSTS) -> dict[str, float]:
    """Name -> assumed sizes and speeds of dumps and servers."""
    return {row["name"]: float(row["value"]) for row in read_tsv(folder / "quantities.tsv")}
