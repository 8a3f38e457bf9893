"""Commands about runs of the workflow: what one needs, and the lock that a killed one leaves."""

import re
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Annotated, Literal, NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job
from factdrift.runs.estimate import SUFFIXES, Cluster, CostParts, Dump, estimate, in_gb, in_hours


class TwoDumps(NamedTuple):
    """The two dumps of a build, in words."""

    old: str
    new: str


class Estimate(Job, command="estimate"):
    """Estimate what a build of two dumps needs.

    For example: factdrift estimate 92GB.gz 120GB.gz --cores 32
    """

    dumps: Annotated[
        TwoDumps,
        "a dump file, a size with a suffix (92GB.gz, 57.5GB.bz2), or a date (its .json.gz)",
        Flag("DUMP", positional=True),
    ]
    cores: Annotated[tuple[int, ...], "of this machine, or of each node"] = (8, 16, 32, 64)
    nodes: Annotated[tuple[int, ...], "of a cluster; none for one machine"] = ()
    scope: Literal["enwiki", "anywiki", "all"] = "enwiki"
    shards: int = 64
    buckets: int = 64
    blocks: Annotated[int, "of the nearest-facts search"] = 28

    def run(self) -> str:
        parts = CostParts(self.shards, self.buckets, self.blocks)
        if not self.cores or min(*self.cores, *self.nodes, *parts) < 1:
            raise InputError("--cores, --nodes, --shards, --buckets and --blocks must be 1 or more")
        dumps = [_dump(text) for text in self.dumps]
        return "\n".join(_by_cores(dumps, self.cores, self.nodes, self.scope, parts))


class Unlock(Job, command="unlock"):
    """Clear the lock that a killed run has left on this directory."""

    def run(self) -> None:
        from factdrift.runs.leftovers import unlock

        unlock()


class Clean(Job, command="clean"):
    """Remove the files that the workflow has made in this directory and can make again.

    Releases, files from servers and files made by others stay.
    """

    def run(self) -> str:
        from factdrift.runs.leftovers import clean

        return "\n".join(clean())


def _by_cores(
    dumps: Sequence[Dump], cores: Sequence[int], nodes: Sequence[int], scope: str, parts: CostParts
) -> Iterator[str]:
    """A Markdown table of a whole build: one row per number of cores, and of nodes if there are any."""
    yield "| cores | CPU hours | time | memory of the jobs at once | disk beside the dumps |"
    yield "|--:|--:|--:|--:|--:|"
    for number in cores:
        for machines in nodes or [0]:
            needs = estimate(dumps, Cluster(machines, number) if machines else number, scope, parts)
            name = f"{machines} x {number}, {needs.submissions} submissions" if machines else number
            yield (
                f"| {name} | {needs.cpu / 3600:,.1f} | {in_hours(needs.seconds)} | {in_gb(needs.at_once)} "
                f"| {in_gb(needs.disk - needs.download)} |"
            )
    if needs.download:
        yield f"\nAfter {in_gb(needs.download)} of downloads, {in_hours(needs.download_seconds)}."


def _dump(text: str) -> Dump:
    from factdrift.runs.begin import dump_of, estimated_bytes, speed_of

    if Path(text).is_file():
        return dump_of(Path(text))
    if sized := re.fullmatch(r"(\d+(?:\.\d+)?)GB(?:\.(gz|bz2|zst))?", text):
        return Dump(float(sized[1]) * 1e9, SUFFIXES.get(sized[2], "none"))
    try:
        size = estimated_bytes(text, "gzip")
        return Dump(size, "gzip", size, speed_of(text))
    except ValueError:
        raise InputError(f"{text}: neither a file nor a size such as 92GB.gz nor a date") from None
