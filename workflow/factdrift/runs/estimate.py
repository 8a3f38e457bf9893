"""Estimate of the time, disk and memory that a run needs, and comparison with what the machine has.

The costs (`resources/costs`, `factdrift.runs.costs`) were measured on synthetic dumps of some gigabytes, and
are assumed to grow with the text of the dumps, and with the time that this machine takes to read them.
"""

import math
from collections.abc import Mapping, Sequence
from statistics import median_high
from typing import NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.progress import counted
from factdrift.runs.costs import (
    ALONE,
    job_count,
    read_archives,
    read_costs,
    read_quantities,
    read_submissions,
)
from factdrift.runs.pace import Pace

SUFFIXES = {"gz": "gzip", "bz2": "bzip2", "zst": "zstd"}
"""Suffix of a dump's name -> compression."""

READ = "statements extract"
"""The command that reads dumps, by whose pace that of the machine is judged."""

LATER, LATEST = 10, 180
"""Seconds by which Snakemake looks later for jobs of a cluster each time that none has ended, and the most
between two times: of its plugin for SLURM (2.8)."""

SEARCH = "neighbors search"
"""The command whose cost grows with the number of updated subjects times the number of items, and whose jobs
share what SPACE writes: it is mapped into memory."""

SPACE = "neighbors space"


class Dump(NamedTuple):
    """A dump: bytes of the file, compression, bytes still to be downloaded, bytes downloaded per second.

    `pace`: what was measured on pieces of the file, None if nothing was.
    """

    bytes: float
    compression: str
    to_come: float = 0.0
    speed: float = math.inf
    pace: Pace | None = None


class Machine(NamedTuple):
    """Cores for jobs, bytes of memory, bytes free on the disk of the results."""

    cores: int
    memory: float
    disk: float


class Cluster(NamedTuple):
    """Nodes to which jobs are submitted, and the cores of each."""

    nodes: int
    cores: int


class Parts(NamedTuple):
    """Into how many jobs the work on a dump is divided: `shards`, `buckets`, `neighbors.blocks`."""

    shards: int
    buckets: int
    blocks: int


PARTS = Parts(64, 64, 28)
"""Those of a whole dump, unless others are given."""


class JobFigures(NamedTuple):
    """Estimate for one job: CPU seconds, megabytes of memory, megabytes of output."""

    cpu: float
    memory: float
    output: float


class Stage(NamedTuple):
    """Estimate for one command: jobs to run, CPU seconds of all, seconds on the clock, megabytes of memory of
    one job and of the jobs that run at once, megabytes of output."""

    jobs: int
    cpu: float
    seconds: float
    memory: float
    at_once: float
    output: float


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
    measured: bool
    """Pieces of all dumps were read."""

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
    parts: Parts = PARTS,
    jobs: Mapping[str, int] | None = None,
) -> Estimate:
    """The estimate of a whole build from two dumps, or of `jobs` (command -> number).

    These may be a part of such a build, or more: of a sequence of dates, whose other dumps count as these.
    `cores`: of this machine, or the nodes of a cluster. How long jobs wait in a queue behind those of others
    is in no estimate.
    """
    slower = slowness(dumps, scope)
    machines, each = cores if isinstance(cores, Cluster) else Cluster(1, cores)
    stages = {}
    for command, cost in read_costs(scope).items():
        wanted = job_count(cost.split, *parts) if jobs is None else jobs.get(command, 0)
        if wanted:
            one = job_figures(command, dumps, scope, parts)
            stages[command] = _stage(one._replace(cpu=slower * one.cpu), wanted, machines * each)
    if SEARCH in stages and SPACE in read_costs(scope):
        space = job_figures(SPACE, dumps, scope, parts).output
        held = stages[SEARCH]
        stages[SEARCH] = held._replace(at_once=held.at_once + space * min(machines, held.jobs))
    overhead = _on_cluster(stages, cores) if isinstance(cores, Cluster) else _here(stages)
    to_come = sum(dump.to_come for dump in dumps)
    return Estimate(
        stages,
        sum(texts_of(dumps)) * 1e9,
        sum(stage.cpu for stage in stages.values()) + overhead.cpu,
        overhead.seconds,
        overhead.submissions,
        to_come,
        max(dump.to_come / dump.speed for dump in dumps),
        to_come + sum(stage.output for stage in stages.values()) * 1e6,
        all(dump.pace for dump in dumps),
    )


_PER_DUMP = ("dump", "shard", "dump_bucket")


def texts_of(dumps: Sequence[Dump]) -> list[float]:
    """Gigabytes of text in each dump."""
    assumed = read_quantities()
    return [
        dump.bytes
        / 1e9
        * (dump.pace.text_per_byte if dump.pace else assumed[f"text_per_byte_{dump.compression}"])
        for dump in dumps
    ]


def slowness(dumps: Sequence[Dump], scope: str) -> float:
    """CPU seconds that work takes here for one of the machine on which costs were measured.

    The mean over the dumps of which pieces were read; 1 if there is none.
    """
    read, archives = read_costs(scope)[READ].cpu_s_gb, read_archives()
    known = [each.pace.cpu_s_gb / (read + archives[each.compression]) for each in dumps if each.pace]
    return sum(known) / len(known) if known else 1.0


def job_figures(command: str, dumps: Sequence[Dump], scope: str, parts: Parts) -> JobFigures:
    """What one job of a command takes."""
    cost, texts = read_costs(scope)[command], texts_of(dumps)
    shards, buckets, blocks = parts
    divided = {"shard": shards, "dump_bucket": buckets, "bucket": buckets, "block": blocks}
    share = (sum(texts) / len(texts) if cost.split in _PER_DUMP else max(texts)) / divided.get(cost.split, 1)
    own = share / buckets if cost.split == "all_buckets" else share
    cpu = cost.cpu(own)
    if command == READ:
        slower = read_archives()
        unpack = [slower[dump.compression] * text for dump, text in zip(dumps, texts, strict=True)]
        cpu = max(cpu + sum(unpack) / len(unpack) / shards, 0.0)
    if command == SEARCH:
        cpu += _pairs(max(texts), scope) * read_quantities()["search_pairs"] / blocks
    return JobFigures(cpu, cost.memory(share), cost.output_mb_gb * own)


def _stage(one: JobFigures, jobs: int, cores: int) -> Stage:
    return Stage(
        jobs,
        jobs * one.cpu,
        math.ceil(jobs / cores) * one.cpu,
        one.memory,
        min(jobs, cores) * one.memory,
        jobs * one.output,
    )


class _Run(NamedTuple):
    """Seconds of a run on the clock, CPU seconds of Snakemake itself, and submissions."""

    seconds: float
    cpu: float
    submissions: int


def _here(stages: Mapping[str, Stage]) -> _Run:
    """The run on one machine: Snakemake starts once, and needs a moment for each job."""
    quantities = read_quantities()
    own = quantities["snakemake_start_s"]
    own += quantities["snakemake_job_s"] * sum(stage.jobs for stage in stages.values())
    return _Run(own + sum(stage.seconds for stage in stages.values()), own, 0)


def _on_cluster(stages: Mapping[str, Stage], cluster: Cluster) -> _Run:
    """The run on a cluster: groups of jobs one after the other, each with a Snakemake of its own.

    Jobs that need each other run `submission_lanes` at once, on as many cores of one node, under a second
    Snakemake of their submission. The others of a submission run one by one, each under its own.
    """
    known, quantities = read_submissions(), read_quantities()
    wait = quantities["submission_wait_s"]
    groups: dict[str, list[str]] = {}
    for command in stages:
        groups.setdefault(known[command].group if command in known else command, []).append(command)
    start, lanes = quantities["snakemake_start_s"], round(quantities["submission_lanes"])
    seconds, starts, submitted = start, 1, 0
    for commands in groups.values():
        sent = {each: known.get(each, ALONE) for each in commands}
        counts = {each: sent[each].count(stages[each].jobs) for each in commands}
        submissions = max(counts.values())
        shared = {each: math.ceil(stages[each].jobs / counts[each]) for each in commands}
        whole = all(each.whole for each in sent.values())
        # All but one command of a group have a job for each shard or bucket that it works on, or one a dump.
        parts = 1 if whole else median_high(shared.values())
        wide = min(lanes, cluster.cores, math.ceil(max(shared.values()) / parts))
        work = sum(
            math.ceil(number / (wide if number > parts else 1)) * stages[each].cpu / stages[each].jobs
            for each, number in shared.items()
        )
        turn = (1 + parts) * start + work
        turns = math.ceil(submissions / (cluster.nodes * max(cluster.cores // wide, 1)))
        seconds += (turns - 1) * turn + _seen(turn, wait)
        starts += submissions * (1 + parts)
        submitted += submissions
    # It ends when it would have looked for jobs again.
    seconds += submitted * quantities["submission_s"] + wait
    return _Run(seconds, start * starts, submitted)


def _seen(seconds: float, wait: float) -> float:
    """When Snakemake sees that a job of so many seconds has ended: it looks later and later for it."""
    looked = 0.0
    while looked < seconds:
        looked += wait
        wait = min(wait + LATER, LATEST)
    return looked


def _pairs(text: float, scope: str) -> float:
    """Pairs of an updated subject and an item that the search compares, in units of 10^9."""
    quantities = read_quantities()
    held = text * quantities["items_per_gb"] * quantities[f"held_{scope}"]
    return held * held * quantities["updated"] / 1e9


def report(found: Estimate, machine: Machine, folder: str) -> list[str]:
    """Lines that print the estimate beside what the machine has, and warnings where memory is too small."""
    where = f"on {machine.cores} cores"
    if found.submissions:
        where = f"in {counted(found.submissions, 'submissions')}, once each begins"
    time = f"{_clock(found.seconds)} {where}"
    if found.download:
        time += f", after {_clock(found.download_seconds)} of downloads (both dumps at once)"
    disk = f"{_gb(found.disk - found.download)} of tables"
    if found.download:
        disk += f" and {_gb(found.download)} of downloads"
    memory = "" if math.isinf(machine.memory) else f"; this machine has {_gb(machine.memory)}"
    # The nodes of a cluster are other machines than the one that read pieces of the dumps.
    sure = "give or take a quarter" if found.measured and not found.submissions else "give or take a half"
    lines = [
        f"Estimate for {_gb(found.text)} of text in both dumps ({sure}; docs/runs.md):",
        f"  time    {time}",
        f"  disk    {disk}; {_gb(machine.disk)} free in {folder}",
        f"  memory  {_gb(found.at_once)} for the jobs that run at once, the largest {_gb(found.memory)} "
        f"({found.largest}){memory}",
    ]
    if found.memory > machine.memory:
        lines.append(
            f"Warning: the memory cannot hold the largest job, `factdrift {found.largest}`: it takes up to "
            f"{_gb(found.memory)} of {_gb(machine.memory)}. It may be killed; take a machine with more, "
            "or more `buckets` and `neighbors.blocks`"
        )
    elif found.at_once > machine.memory:
        most = 0.9 * machine.memory / 1e6
        lines.append(
            "Warning: the memory cannot hold as many jobs at once as there are cores; give Snakemake "
            f"--resources mem_mb={most:.0f}, and it runs fewer"
        )
    return lines


def check_disk(found: Estimate, machine: Machine, folder: str) -> None:
    """Raises InputError with the numbers if the disk is too small."""
    if found.disk > machine.disk:
        raise InputError(
            f"the disk cannot hold this build: it needs about {_gb(found.disk)}, of which "
            f"{_gb(found.download)} are downloads, and {folder} has {_gb(machine.disk)} free. Make room; or "
            "work in a folder on a larger disk (snakemake --directory FOLDER, or make `results` a link to "
            "one); or, if you know better than the estimate, say --config check_disk=false"
        )


def table(dumps: Sequence[Dump], cores: Sequence[int], nodes: Sequence[int], scope: str, parts: Parts) -> str:
    """A Markdown table of a whole build: one row per number of cores, and of nodes if there are any."""
    rows = [
        "| cores | CPU hours | time | memory of the jobs at once | disk beside the dumps |",
        "|--:|--:|--:|--:|--:|",
    ]
    for each in cores:
        for number in nodes or [0]:
            one = estimate(dumps, Cluster(number, each) if number else each, scope, parts)
            beside = _gb(one.disk - one.download)
            name = f"{number} x {each}, {one.submissions} submissions" if number else each
            rows.append(
                f"| {name} | {one.cpu / 3600:,.1f} | {_clock(one.seconds)} | {_gb(one.at_once)} | {beside} |"
            )
    if one.download:
        rows += ["", f"After {_gb(one.download)} of downloads, {_clock(one.download_seconds)}."]
    return "\n".join(rows)


def command_table(dumps: Sequence[Dump], scope: str, parts: Parts) -> str:
    """A Markdown table of a whole build: one row per command."""
    heads = [
        "| command | jobs | CPU minutes | GB of memory, one job | GB of output |",
        "|---|--:|--:|--:|--:|",
    ]
    for command, stage in estimate(dumps, 1, scope, parts).stages.items():
        heads.append(
            f"| {command} | {stage.jobs} | {stage.cpu / 60:,.1f} | {stage.memory / 1e3:,.2f} "
            f"| {stage.output / 1e3:,.2f} |"
        )
    return "\n".join(heads)


def _gb(size: float) -> str:
    return f"{size / 1e9:,.1f} GB" if size >= 1e8 else f"{size / 1e6:,.0f} MB"


def _clock(seconds: float) -> str:
    hours, minutes = divmod(max(round(seconds / 60), 1), 60)
    return f"{hours}:{minutes:02d} h"
