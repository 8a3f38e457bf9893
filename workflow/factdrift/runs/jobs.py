"""Commands about runs of the workflow: what one needs, and the lock that a killed one leaves."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal, NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job

if TYPE_CHECKING:
    from factdrift.runs.estimate import Dump


class TwoDumps(NamedTuple):
    """The two dumps of a build, in words."""

    old: str
    new: str


class Estimate(Job, command="estimate"):
    """Estimate what a build of two dumps needs, and what its jobs ask a cluster for.

    For example: factdrift estimate 92GB.gz 120GB.gz --cores 32
    """

    dumps: Annotated[
        TwoDumps,
        "a dump file, a size with a suffix (92GB.gz, 57.5GB.bz2), or a date (its .json.gz)",
        Flag("DUMP", by_place=True),
    ]
    cores: Annotated[tuple[int, ...], "of this machine, or of each node"] = (8, 16, 32, 64)
    nodes: Annotated[tuple[int, ...], "of a cluster; none for one machine"] = ()
    scope: Literal["enwiki", "anywiki", "all"] = "enwiki"
    shards: int = 64
    buckets: int = 64
    blocks: Annotated[int, "of the nearest-facts search"] = 28
    all: Annotated[bool, "also by command, and what each job asks a cluster for"] = False

    def run(self) -> str:
        from factdrift.runs.estimate import Parts, command_table, table
        from factdrift.runs.requests import request_table

        parts = Parts(self.shards, self.buckets, self.blocks)
        if not self.cores or min(*self.cores, *self.nodes, *parts) < 1:
            raise InputError("--cores, --nodes, --shards, --buckets and --blocks must be 1 or more")
        dumps = [_dump(text, self.scope) for text in self.dumps]
        found = table(dumps, self.cores, self.nodes, self.scope, parts)
        if not self.all:
            return f"{found}\n\nWith --all, by command, and what each job asks a cluster for."
        return (
            f"{found}\n\n{command_table(dumps, self.scope, parts)}\n\n"
            "What each job asks a cluster for at its first attempt; every further one asks for twice as much:"
            f"\n\n{request_table(dumps, self.scope, parts)}"
        )


class Unlock(Job, command="unlock"):
    """Clear the lock that a killed run has left on this directory."""

    def run(self) -> None:
        from factdrift.core.unlock import unlock

        unlock()


def _dump(text: str, scope: str) -> Dump:
    from factdrift.runs.begin import dump_of, estimated_bytes, speed_of
    from factdrift.runs.estimate import SUFFIXES, Dump

    if Path(text).is_file():
        return dump_of(Path(text), scope)
    sized = re.fullmatch(r"(\d+(?:\.\d+)?)GB(?:\.(gz|bz2|zst))?", text)
    if sized:
        return Dump(float(sized[1]) * 1e9, SUFFIXES.get(sized[2], "none"))
    try:
        size = estimated_bytes(text, "gzip")
        return Dump(size, "gzip", size, speed_of(text))
    except ValueError:
        raise InputError(f"{text}: neither a file nor a size such as 92GB.gz nor a date") from None
