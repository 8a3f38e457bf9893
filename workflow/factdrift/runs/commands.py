"""Command line: `factdrift estimate`."""

from __future__ import annotations

import argparse
import re
from pathlib import Path
from typing import TYPE_CHECKING

from factdrift.core.errors import InputError

if TYPE_CHECKING:
    from factdrift.runs.estimate import Dump


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    help_ = "estimate what a build of two dumps needs, and what its jobs ask a cluster for"
    verb = commands.add_parser("estimate", help=help_, description=help_)
    verb.add_argument(
        "dumps",
        nargs=2,
        metavar="DUMP",
        help="a dump file, a size with a suffix (92GB.gz, 57.5GB.bz2), or a date (its .json.gz)",
    )
    verb.add_argument("--cores", type=int, nargs="+", default=[8, 16, 32, 64], help="default %(default)s")
    verb.add_argument("--scope", choices=["enwiki", "anywiki", "all"], default="enwiki")
    verb.add_argument("--shards", type=int, default=64, help="default %(default)s")
    verb.add_argument("--buckets", type=int, default=64, help="default %(default)s")
    verb.add_argument(
        "--blocks", type=int, default=28, help="of the nearest-facts search (default %(default)s)"
    )
    verb.set_defaults(run=_estimate)


def _estimate(options: argparse.Namespace) -> None:
    from factdrift.runs.estimate import Parts, table
    from factdrift.runs.requests import request_table

    numbers = (*options.cores, options.shards, options.buckets, options.blocks)
    if min(numbers) < 1:
        raise InputError("--cores, --shards, --buckets and --blocks must be 1 or more")
    dumps = [_dump(text) for text in options.dumps]
    parts = Parts(options.shards, options.buckets, options.blocks)
    print(table(dumps, options.cores, options.scope, *parts))
    print(
        "\nWhat each job asks a cluster for at its first attempt; every further one asks for twice as much:\n"
    )
    print(request_table(dumps, options.scope, parts))


def _dump(text: str) -> Dump:
    from factdrift.runs.begin import estimated_bytes
    from factdrift.runs.estimate import SUFFIXES, Dump
    from factdrift.wikidata.streams import compression

    if Path(text).is_file():
        return Dump(Path(text).stat().st_size, compression(Path(text)))
    size = re.fullmatch(r"(\d+(?:\.\d+)?)GB(?:\.(gz|bz2|zst))?", text)
    if size:
        return Dump(float(size[1]) * 1e9, SUFFIXES.get(size[2], "none"))
    try:
        return Dump(estimated_bytes(text, "gzip"), "gzip")
    except ValueError:
        raise InputError(f"{text}: neither a file nor a size such as 92GB.gz nor a date") from None
