"""Estimate of the time, disk and memory that a run needs, and what its jobs ask a cluster for.

The costs (`resources/costs/*.tsv`) were measured on synthetic dumps of some gigabytes, and
are assumed to grow with the text of the dumps. What jobs ask for are these figures times a margin; for
commands whose costs have not been measured, a constant for a full dump (`resources/costs/requests.tsv`) times
the share that the dumps are of one.
"""

import math
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

from factdrift.core.files import read_tsv
from factdrift.core.paths import COSTS

SUFFIXES = {"gz": "gzip", "bz2": "bzip2", "zst": "zstd"}
"""Suffix of a dump's name -> compression."""

READ = "statements extract"
"""The command that unpacks dumps."""

SEARCH = "neighbors search"
"""The command whose cost grows with the number of updated subjects times the number of items."""


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
    numbers = [int(sent.jobs_each) for sent in read_submissions().values() if sent.group == group]
    return max(numbers) // min(numbers)


@cache
def read_archives() -> dict[str, float]:
    """Compression -> additional CPU seconds per gigabyte of text, compared with gzip."""
    return {row["compression"]: float(row["cpu_s_gb"]) for row in read_tsv(COSTS / "archives.tsv")}


@cache
def read_quantities(folder: Path = COSTS) -> dict[str, float]:
    """Name -> assumed sizes and speeds of dumps and servers."""
    return {row["name"]: float(row["value"]) for row in read_tsv(folder / "quantities.tsv")}


class Dump(NamedTuple):
    """A dump: bytes of the file, compression, bytes still to be downloaded, bytes downloaded per second, and
    where the file is, or is going to be."""

    bytes: float
    compression: str
    to_come: float = 0.0
    speed: float = math.inf
    path: Path = Path()


class Machine(NamedTuple):
    """Cores for jobs, bytes of memory, bytes free on the disk of the results."""

    cores: int
    memory: float
    disk: float


class Cluster(NamedTuple):
    """Nodes to which jobs are submitted, and the cores of each."""

    nodes: int
    cores: int


class CostParts(NamedTuple):
    """Into how many jobs the work on a dump is divided: `shards`, `buckets`, `neighbors.blocks`."""

    shards: int
    buckets: int
    blocks: int


PARTS = CostParts(64, 64, 28)
"""Those of a whole dump, unless others are given."""


class Stage(NamedTuple):
    """Estimate for one command: jobs to run, CPU seconds of all, seconds on the clock, megabytes of memory of
    one job and of the jobs that run at once, megabytes of output."""

    jobs: int
    cpu: float
    seconds: float
    memory: float
    at_once: float
    output: float


class Request(NamedTuple):
    """What a job asks for at its first attempt: megabytes of memory, minutes, and megabytes of scratch, which
    hold what queries spill."""

    mem_mb: int
    runtime: int
    disk_mb: int


class Estimate(NamedTuple):
    """Estimate for a run: bytes of text, of downloads and of disk (temporary files included), CPU seconds and
    seconds on the clock, Snakemake's own included, and the number of submissions to a cluster."""

    stages: dict[str, Stage]
    text: float
    cpu: float
    seconds: float
    submissions: int
    download: float
    download_seconds: float
    disk: float

    @property
    def largest(self) -> str:
        """The command whose jobs need the most memory."""
        return max(self.stages, key=lambda command: self.stages[command].memory)

    @property
    def memory(self) -> float:
        """Bytes of memory of the largest job."""
        return self.stages[self.largest].memory * 1e6

    @property
    def at_once(self) -> float:
        """Bytes of memory of the jobs of one command that run at once, for the command with the most."""
        return max(stage.at_once for stage in self.stages.values()) * 1e6


def estimate(
    dumps: Sequence[Dump],
    cores: int | Cluster,
    scope: str = "enwiki",
    parts: CostParts = PARTS,
    jobs: Mapping[str, int] | None = None,
) -> Estimate:
    """The estimate of a whole build from two dumps, or of `jobs` (command -> number).

    These may be a part of such a build, or more: of a sequence of dates, whose other dumps count as these.
    `cores`: of this machine, or the nodes of a cluster. How long jobs wait in a queue behind those of others
    is in no estimate.
    """
    lanes = cores.nodes * cores.cores if isinstance(cores, Cluster) else cores
    stages = {}
    for command, cost in read_costs(scope).items():
        count = job_count(cost.split, *parts) if jobs is None else jobs.get(command, 0)
        if count:
            cpu, memory, output = job_figures(command, dumps, scope, parts)
            turns, at_once = math.ceil(count / lanes), min(count, lanes)
            stages[command] = Stage(count, count * cpu, turns * cpu, memory, at_once * memory, count * output)
    wait, own, submissions = _of_snakemake(stages, lanes, isinstance(cores, Cluster))
    # A server sends one at a time; dumps of one server have one speed.
    queues: dict[float, float] = {}
    for dump in dumps:
        queues[dump.speed] = queues.get(dump.speed, 0.0) + dump.to_come / dump.speed
    to_come = sum(dump.to_come for dump in dumps)
    text = sum(texts_of(dumps)) * 1e9
    cpu = sum(stage.cpu for stage in stages.values()) + own
    seconds = wait + sum(stage.seconds for stage in stages.values())
    disk = to_come + sum(stage.output for stage in stages.values()) * 1e6
    return Estimate(stages, text, cpu, seconds, submissions, to_come, max(queues.values()), disk)


def texts_of(dumps: Sequence[Dump]) -> list[float]:
    """Gigabytes of text in each dump."""
    assumed = read_quantities()
    return [dump.bytes / 1e9 * assumed[f"text_per_byte_{dump.compression}"] for dump in dumps]


def job_figures(
    command: str, dumps: Sequence[Dump], scope: str, parts: CostParts
) -> tuple[float, float, float]:
    """What one job of a command takes: CPU seconds, megabytes of memory, megabytes of output."""
    cost, texts = read_costs(scope)[command], texts_of(dumps)
    shards, buckets, blocks = parts
    divided = {"shard": shards, "dump_bucket": buckets, "bucket": buckets, "block": blocks}
    text = sum(texts) / len(texts) if cost.split in ("dump", "shard", "dump_bucket") else max(texts)
    share = text / divided.get(cost.split, 1)
    own = share / buckets if cost.split == "all_buckets" else share
    cpu = cost.cpu(own)
    if command == READ:
        slower = read_archives()
        unpack = [slower[dump.compression] * text for dump, text in zip(dumps, texts, strict=True)]
        cpu = max(cpu + sum(unpack) / len(unpack) / shards, 0.0)
    if command == SEARCH:
        # Of 10^9 pairs of an updated subject and an item.
        quantities = read_quantities()
        kept_items = max(texts) * quantities["items_per_gb"] * quantities[f"held_{scope}"]
        cpu += kept_items * kept_items * quantities["updated"] / 1e9 * quantities["search_pairs"] / blocks
    return cpu, cost.memory(share), cost.output_mb_gb * own


def _of_snakemake(stages: Mapping[str, Stage], lanes: int, on_cluster: bool) -> tuple[float, float, int]:
    """Seconds on the clock and CPU seconds of Snakemake itself, and submissions of a run on a cluster.

    On one machine it starts once, and needs a moment for each job. On a cluster it starts again in each
    submission and for each job, which `lanes` cores share, and looks late whether a group of jobs has ended.
    """
    known, quantities = read_submissions(), read_quantities()
    start, jobs = quantities["snakemake_start_s"], sum(stage.jobs for stage in stages.values())
    if not on_cluster:
        own = start + quantities["snakemake_job_s"] * jobs
        return own, own, 0
    groups: dict[str, int] = {}
    for command, stage in stages.items():
        submission = known.get(command, ALONE)
        group = submission.group or command
        groups[group] = max(groups.get(group, 0), submission.count(stage.jobs))
    submissions = sum(groups.values())
    starts = (submissions + jobs) * start
    wait = len(groups) * quantities["submission_wait_s"] + submissions * quantities["submission_s"]
    return start + starts / lanes + wait, start + starts, submissions


def first_requests(dumps: Sequence[Dump], scope: str, parts: CostParts) -> dict[str, Request]:
    """Command (`statements extract`) -> the request of a job's first attempt.

    `dumps`: both dumps, or none for the bundled sample and other small ones.
    """
    dumps = dumps or [Dump(0.0, "none")] * 2
    quantities, costs = read_quantities(), read_costs(scope)
    full = min(max(texts_of(dumps)) / quantities["full_gb"], 1.0)
    requests = {}
    for row in read_tsv(COSTS / "requests.tsv"):
        command, most = row["command"], float(row["most_mb"])
        if command in costs:
            cpu, memory, output = job_figures(command, dumps, scope, parts)
            minutes, disk = cpu / 60 * quantities["request_time"], output + memory
            memory *= quantities["request_memory"]
        else:
            memory = max(most * full, min(quantities["request_least_mb"], most))
            minutes, disk = float(row["minutes"] or 0) * full, float(row["disk_mb"] or 0) * full
        requests[command] = Request(
            math.ceil((memory + quantities["request_job_mb"]) / 100) * 100,
            math.ceil(max(minutes, quantities["request_least_minutes"])),
            math.ceil(max(disk, quantities["request_least_disk_mb"]) / 100) * 100,
        )
    return requests


def in_gb(size: float) -> str:
    """Bytes as text."""
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.0f} MB"


def in_hours(seconds: float) -> str:
    """Seconds as hours and minutes, at least one minute."""
    hours, minutes = divmod(max(round(seconds / 60), 1), 60)
    return f"{hours}:{minutes:02d} h"
