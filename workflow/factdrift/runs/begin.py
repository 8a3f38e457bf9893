"""At the start of a run: print the estimate, stop if the disk is too small, start progress reporting."""

import contextlib
import datetime
import io
import math
import shutil
import statistics
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple, cast

import psutil

from factdrift.core.errors import InputError
from factdrift.core.owned import scratch
from factdrift.core.progress import counted, size_text
from factdrift.core.settings import contact_of, dump_source, scope
from factdrift.runs.estimate import (
    SUFFIXES,
    Cluster,
    Dump,
    Estimate,
    Machine,
    Pace,
    Parts,
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

ASKING = frozenset({"dumps download", "pageviews download", "snapshots entities"})
"""Commands that name a contact to servers."""

PIECES = (8_000_000, 128_000_000)
"""Bytes of the file in a piece; the second if no member begins in pieces of the first (those of Wikidata have
about 70 MB)."""

PLACES = (0.3, 0.5, 0.8)
"""Where in the file the pieces begin: not at its beginning, where the best known items stand."""


class Source(NamedTuple):
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
    kept = scope(dict(config))
    if dumps and read_costs(kept).keys() & commands.keys():
        paces = {path: pace_of(path, kept) for path in {dump.path for dump in dumps} if path.is_file()}
        # Of a dump whose tables are finished, nothing is downloaded again.
        fetching = " ".join(job.shell for job in jobs if job.command == "dumps download")
        dumps = [
            dump._replace(
                pace=paces.get(dump.path), to_come=dump.to_come if str(dump.path) in fetching else 0.0
            )
            for dump in dumps
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
            commands,
        )
        print("\n".join(report(found, machine, str(folder))), file=sys.stderr, flush=True)
        if config["check_disk"]:
            check_disk(found, machine, str(folder))
    return Follower(jobs, PROGRESS).start()


def report(found: Estimate, machine: Machine, folder: str) -> list[str]:
    """Lines that print the estimate beside what the machine has, and warnings where memory is too small."""
    where = f"on {machine.cores} cores"
    if found.submissions:
        where = f"in {counted(found.submissions, 'submissions')}, once each begins"
    time = f"{in_hours(found.seconds)} {where}"
    if found.download:
        time += f", after {in_hours(found.download_seconds)} of downloads (one at a time from a server)"
    disk = f"{in_gb(found.disk - found.download)} of tables"
    if found.download:
        disk += f" and {in_gb(found.download)} of downloads"
    memory = "" if math.isinf(machine.memory) else f"; this machine has {in_gb(machine.memory)}"
    # The nodes of a cluster are other machines than the one that read pieces of the dumps.
    sure = "give or take a quarter" if found.measured and not found.submissions else "give or take a half"
    lines = [
        f"Estimate for {in_gb(found.text)} of text in both dumps ({sure}; docs/runs.md):",
        f"  time    {time}",
        f"  disk    {disk}; {in_gb(machine.disk)} free in {folder}",
        f"  memory  {in_gb(found.at_once)} for the jobs that run at once, the largest "
        f"{in_gb(found.memory)} ({found.largest}){memory}",
    ]
    if found.memory > machine.memory:
        lines.append(
            f"Warning: the memory cannot hold the largest job, `factdrift {found.largest}`: it takes up to "
            f"{in_gb(found.memory)} of {in_gb(machine.memory)}. It may be killed; take a machine with more, "
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
            f"the disk cannot hold this build: it needs about {in_gb(found.disk)}, of which "
            f"{in_gb(found.download)} are downloads, and {folder} has {in_gb(machine.disk)} free. Make room; "
            "or work in a folder on a larger disk (snakemake --directory FOLDER, or make `results` a link to "
            "one); or, if you know better than the estimate, say --config check_disk=false"
        )


def known_dumps(sources: Sequence[Source], config: Mapping[str, Any]) -> list[Dump]:
    """What is known of both dumps; none for the bundled sample and for fetched entities, which are small.

    A derived dump is about as large as that from which it is derived, which is downloaded once for both.
    """
    if {"sample", "entities"} & {dump_source(dict(config), source.date) for source in sources}:
        return []
    dumps: list[Dump] = []
    for place, source in enumerate(sources):
        path = source.path
        if path.is_file():
            dumps.append(Dump(path.stat().st_size, compression(path), path=path))
            continue
        kind = SUFFIXES.get(path.suffix.removeprefix("."), "none")
        dump = Dump(float(source.bytes or estimated_bytes(source.date, kind)), kind, path=path)
        if source.remote and source not in sources[:place]:
            part = path.with_name(f"{path.name}.part")
            arrived = part.stat().st_size if part.is_file() else 0
            dump = dump._replace(to_come=max(dump.bytes - arrived, 0.0), speed=speed_of(source.date))
        dumps.append(dump)
    return dumps


def dump_of(path: Path, kept: str) -> Dump:
    """What a dump file is, and how fast this machine reads it as a snapshot of the scope `kept`."""
    return Dump(path.stat().st_size, compression(path), pace=pace_of(path, kept))


def pace_of(dump: Path, scope: str) -> Pace | None:
    """Reads PLACES of a dump, which takes some seconds.

    None if the file has fewer than ten pieces or cannot be divided, or if it is damaged there, which is for
    the run to say.
    """
    # Only here, so that Snakemake starts without what reads dumps.
    from factdrift.statements.extract import extract
    from factdrift.statements.jobs import Extract
    from factdrift.wikidata.shares import Share

    size, kept = dump.stat().st_size, cast(Any, scope)
    found: list[Pace] = []
    for pieces in (size // each for each in PIECES):
        if found or pieces < 10:
            break
        with scratch() as folder, contextlib.redirect_stderr(io.StringIO()):
            try:
                if not Share(dump, 0, pieces).account.divided:
                    return None
                for shard in (int(place * pieces) for place in PLACES):
                    output = folder / str(shard)
                    job = Extract(
                        dump=dump, shard=shard, shards=pieces, scope=kept, names="held", output=output
                    )
                    start = time.process_time()
                    share = extract(job)["share"]
                    cpu = time.process_time() - start
                    if text := share["text_bytes"]:
                        found.append(Pace(text / (share["stop"] - share["first"]), cpu / text * 1e9))
            except InputError:
                return None
    # The first piece also takes what is done once in a process.
    return Pace(*map(statistics.median, zip(*found, strict=True))) if found else None


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
