"""At the start of a run: print the estimate, stop if the disk is too small, start progress reporting."""

import datetime
import math
import re
import shutil
import sys
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from factdrift.core.progress import counted, size_text
from factdrift.core.settings import contact_of, dump_source, scope
from factdrift.core.unlock import hold
from factdrift.runs.costs import read_costs, read_quantities
from factdrift.runs.estimate import SUFFIXES, Cluster, Dump, Machine, Parts, check_disk, estimate, report
from factdrift.runs.pace import pace_of
from factdrift.runs.stages import Follower, Job
from factdrift.runs.sweep import sweep
from factdrift.wikidata.sizes import dump_bytes
from factdrift.wikidata.streams import compression

PROGRESS = Path("logs/progress.txt")

ASKING = frozenset({"dumps download", "pageviews download", "snapshots entities"})
"""Commands that name a contact to servers."""

_COMMAND = re.compile(r"\bfactdrift ([\w-]+(?: \w[\w-]*)?)")


class Planned(NamedTuple):
    """A job that the workflow is going to run: rule, shell command, log files, benchmark file."""

    rule: str
    shell: str
    logs: Sequence[str]
    benchmark: str | None


class Source(NamedTuple):
    """The file of a date's dump, as the workflow reads it; of a derived one, that from which it is derived.

    `remote`: the workflow downloads it to `path`. `bytes`: its size, if the registry of dumps has it.
    """

    date: str
    path: Path
    remote: bool
    bytes: int | None


def begin(
    planned: Sequence[Planned], sources: Sequence[Source], config: Mapping[str, Any], slots: int, here: bool
) -> Follower:
    """Prints what the run needs and starts reporting its progress.

    `sources`: the dumps of the old and the new date; none where nothing is to be estimated. `slots`: how many
    jobs can run at once. `here`: they run on this machine, else on a cluster. First Snakemake's lock is held,
    so that `factdrift unlock` leaves it, and unfinished files of killed runs are removed. Raises InputError
    if a job is to ask Wikimedia's servers and no contact is configured, or, with the numbers, if the disk
    cannot hold the results.
    """
    hold()
    jobs = followed(planned)
    if any(job.command in ASKING for job in jobs):
        contact_of(config["contact"])
    results = Path("results")
    number, freed = sweep(results)
    if number:
        print(f"Removed {counted(number, 'unfinished files')}, {size_text(freed)}", file=sys.stderr)
    dumps, kept = known_dumps(sources, config), scope(dict(config))
    if dumps and read_costs(kept).keys() & {job.command for job in jobs}:
        paths = {source.path for source in sources if source.path.is_file()}
        paces = {path: pace_of(path, kept) for path in paths}
        # Of a dump whose tables are finished, nothing is downloaded again.
        fetching = " ".join(job.shell for job in planned if "factdrift dumps download" in job.shell)
        dumps = [
            dump._replace(
                pace=paces.get(source.path), to_come=dump.to_come if str(source.path) in fetching else 0.0
            )
            for dump, source in zip(dumps, sources, strict=True)
        ]
        folder = (results if results.is_dir() else Path()).resolve()  # it may be a link to another disk
        memory = float(psutil.virtual_memory().total) if here else math.inf
        # A node for each submission: how many the cluster has, and who else waits, is not known here.
        lanes = round(read_quantities()["submission_lanes"])
        machine = Machine(slots, memory, float(shutil.disk_usage(folder).free))
        found = estimate(
            dumps,
            slots if here else Cluster(slots, lanes),
            kept,
            Parts(config["shards"], config["buckets"], config["neighbors"]["blocks"]),
            Counter(job.command for job in jobs),
        )
        print("\n".join(report(found, machine, str(folder))), file=sys.stderr, flush=True)
        if config["check_disk"]:
            check_disk(found, machine, str(folder))
    return Follower(jobs, PROGRESS)


def followed(planned: Iterable[Planned]) -> list[Job]:
    """The planned jobs that are followed: those with a factdrift command, a log and a benchmark file."""
    return [
        Job(job.rule, command[1], Path(job.logs[0]), Path(job.benchmark))
        for job in planned
        if (command := _COMMAND.search(job.shell)) and job.logs and job.benchmark
    ]


def known_dumps(sources: Sequence[Source], config: Mapping[str, Any]) -> list[Dump]:
    """What is known of both dumps; none for the bundled sample and for fetched entities, which are small.

    A derived dump is about as large as that from which it is derived, which is downloaded once for both.
    """
    if {"sample", "entities"} & {dump_source(dict(config), source.date) for source in sources}:
        return []
    dumps = {source: _dump(source) for source in sources}
    return [
        dumps[source]._replace(to_come=0.0) if source in sources[:place] else dumps[source]
        for place, source in enumerate(sources)
    ]


def _dump(source: Source) -> Dump:
    if source.path.is_file():
        return Dump(source.path.stat().st_size, compression(source.path))
    kind = SUFFIXES.get(source.path.suffix.removeprefix("."), "none")
    size = float(source.bytes or estimated_bytes(source.date, kind))
    if not source.remote:
        return Dump(size, kind)
    part = source.path.with_name(f"{source.path.name}.part")
    to_come = max(size - (part.stat().st_size if part.is_file() else 0), 0.0)
    return Dump(size, kind, to_come, speed_of(source.date))


def dump_of(path: Path, kept: str) -> Dump:
    """What a dump file is, and how fast this machine reads it as a snapshot of the scope `kept`."""
    return Dump(path.stat().st_size, compression(path), pace=pace_of(path, kept))


def speed_of(date: str) -> float:
    """Bytes a second of the download of a date's dump: from Wikimedia, or from an archive if it is older."""
    age = (datetime.date.today() - datetime.date.fromisoformat(date)).days
    quantities = read_quantities()
    server = "wikimedia" if age <= quantities["wikimedia_keeps_days"] else "archive"
    return quantities[f"{server}_mb_s"] * 1e6


def estimated_bytes(date: str, kind: str) -> float:
    """About how large Wikidata's dump of a date is in a compression (`gzip`, `bzip2`, `zstd` or `none`)."""
    quantities = read_quantities()
    return dump_bytes(date) * quantities["text_per_byte_gzip"] / quantities[f"text_per_byte_{kind}"]
