"""At the start of a run: print the estimate, stop if the disk is too small, start progress reporting."""

import datetime
import math
import shutil
import sys
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import psutil

from factdrift.core.errors import InputError
from factdrift.core.progress import counted, size_text
from factdrift.core.settings import contact_of, dump_source
from factdrift.core.settings import scope as scope_of
from factdrift.runs.estimate import (
    SUFFIXES,
    Cluster,
    CostParts,
    Dump,
    Estimate,
    Machine,
    estimate,
    in_gb,
    in_hours,
    read_costs,
    read_quantities,
)
from factdrift.runs.leftovers import PROGRESS, hold, sweep
from factdrift.runs.stages import Follower, Job
from factdrift.wikidata.sizes import dump_bytes
from factdrift.wikidata.streams import compression

ASKING = frozenset({"snapshots download", "snapshots entities"})
"""Commands that name a contact to servers."""


class Input(NamedTuple):
    """The file of a date's dump, as the workflow reads it; of a derived one, that from which it is derived.

    `remote`: the workflow downloads it to `path`. `bytes`: its size, if the registry of dumps has it.
    """

    date: str
    path: Path
    remote: bool
    bytes: int | None


def begin(
    planned: Sequence[Job], dumps: Sequence[Dump], config: Mapping[str, Any], slots: int, here: bool
) -> Follower:
    """Prints what the run needs and starts reporting its progress.

    `planned`: the jobs that the workflow is going to run. `dumps`: those of the old and the new date; none
    where nothing is to be estimated. `slots`: how many jobs can run at once. `here`: they run on this
    machine, else on a cluster. First Snakemake's lock is held, so that `factdrift unlock` leaves it, and
    unfinished files of killed runs are removed. Raises InputError if a job is to ask Wikimedia's servers and
    no contact is configured, or, with the numbers, if the disk cannot hold the results.
    """
    hold()
    jobs = [job for job in planned if job.command]
    commands = Counter(job.command for job in jobs)
    if ASKING & commands.keys():
        contact_of(config["contact"])
    results = Path("results")
    number, freed = sweep(results)
    if number:
        print(f"Removed {counted(number, 'unfinished files')}, {size_text(freed)}", file=sys.stderr)
    scope = scope_of(dict(config))
    if dumps and read_costs(scope).keys() & commands.keys():
        # Of a dump whose tables are finished, nothing is downloaded again.
        fetching = " ".join(job.shell for job in jobs if job.command == "snapshots download")
        dumps = [dump._replace(to_come=dump.to_come if str(dump.path) in fetching else 0.0) for dump in dumps]
        folder = (results if results.is_dir() else Path()).resolve()  # it may be a link to another disk
        memory = float(psutil.virtual_memory().total) if here else math.inf
        # A node for each submission: how many the cluster has, and who else waits, is not known here.
        lanes = round(read_quantities()["submission_lanes"])
        machine = Machine(slots, memory, float(shutil.disk_usage(folder).free))
        cores = slots if here else Cluster(slots, lanes)
        parts = CostParts(config["shards"], config["buckets"], config["neighbors"]["blocks"])
        needs = estimate(dumps, cores, scope, parts, commands)
        print("\n".join(report(needs, machine, str(folder))), file=sys.stderr, flush=True)
        if config["check_disk"]:
            check_disk(needs, machine, str(folder))
    return Follower(jobs, PROGRESS).start()


def report(needs: Estimate, machine: Machine, folder: str) -> list[str]:
    """Lines that print the estimate beside what the machine has, and warnings where memory is too small."""
    where = f"on {machine.cores} cores"
    if needs.submissions:
        where = f"in {counted(needs.submissions, 'submissions')}, once each begins"
    time = f"{in_hours(needs.seconds)} {where}"
    if needs.download:
        time += f", after {in_hours(needs.download_seconds)} of downloads (one at a time from a server)"
    disk = f"{in_gb(needs.disk - needs.download)} of tables"
    if needs.download:
        disk += f" and {in_gb(needs.download)} of downloads"
    memory = "" if math.isinf(machine.memory) else f"; this machine has {in_gb(machine.memory)}"
    lines = [
        f"Estimate for {in_gb(needs.text)} of text in both dumps (give or take a half; docs/runs.md):",
        f"  time    {time}",
        f"  disk    {disk}; {in_gb(machine.disk)} free in {folder}",
        f"  memory  {in_gb(needs.at_once)} for the jobs that run at once, the largest "
        f"{in_gb(needs.memory)} ({needs.largest}){memory}",
    ]
    if needs.memory > machine.memory:
        lines.append(
            f"Warning: the memory cannot hold the largest job, `factdrift {needs.largest}`: it takes up to "
            f"{in_gb(needs.memory)} of {in_gb(machine.memory)}. It may be killed; take a machine with more, "
            "or more `buckets` and `neighbors.blocks`"
        )
    elif needs.at_once > machine.memory:
        most = 0.9 * machine.memory / 1e6
        lines.append(
            "Warning: the memory cannot hold as many jobs at once as there are cores; give Snakemake "
            f"--resources mem_mb={most:.0f}, and it runs fewer"
        )
    return lines


def check_disk(needs: Estimate, machine: Machine, folder: str) -> None:
    """Raises InputError with the numbers if the disk is too small."""
    if needs.disk > machine.disk:
        raise InputError(
            f"the disk cannot hold this build: it needs about {in_gb(needs.disk)}, of which "
            f"{in_gb(needs.download)} are downloads, and {folder} has {in_gb(machine.disk)} free. Make room; "
            "or work in a folder on a larger disk (snakemake --directory FOLDER, or make `results` a link to "
            "one); or, if you know better than the estimate, say --config check_disk=false"
        )


def known_dumps(sources: Sequence[Input], config: Mapping[str, Any]) -> list[Dump]:
    """What is known of both dumps; none for the bundled sample and for fetched entities, which are small.

    A derived dump is about as large as that from which it is derived, which is downloaded once for both.
    """
    if {"sample", "entities"} & {dump_source(dict(config), source.date) for source in sources}:
        return []
    dumps: list[Dump] = []
    for number, source in enumerate(sources):
        path = source.path
        if path.is_file():
            dumps.append(dump_of(path))
            continue
        kind = SUFFIXES.get(path.suffix.removeprefix("."), "none")
        dump = Dump(float(source.bytes or estimated_bytes(source.date, kind)), kind, path=path)
        if source.remote and source not in sources[:number]:
            part = path.with_name(f"{path.name}.part")
            arrived = part.stat().st_size if part.is_file() else 0
            dump = dump._replace(to_come=max(dump.bytes - arrived, 0.0), speed=speed_of(source.date))
        dumps.append(dump)
    return dumps


def dump_of(path: Path) -> Dump:
    """What a dump file is."""
    return Dump(path.stat().st_size, compression(path), path=path)


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
