"""`factdrift browse`: look at a build in a browser; `factdrift explorer`: the same as files."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

from factdrift.core.errors import InputError


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    help_ = "look at a build in a browser: both dumps side by side, decisions, neighbours, answers"
    verb = commands.add_parser("browse", help=help_, description=help_)
    _pair(verb.add_argument, "--pair", default=None, help="folder of the pair of dates (default: the newest)")
    verb.add_argument("--port", type=int, default=8765, help="0 for a free one (default %(default)s)")
    verb.add_argument("--index", type=Path, metavar="FILE", help="default: in the cache folder of the user")
    verb.add_argument("--no-browser", action="store_true", help="only print the address")
    verb.add_argument("--memory-mb", type=int, default=2000, help="for the tables (default %(default)s)")
    verb.set_defaults(run=_browse)

    help_ = "write the explorer of a build as files, which need no server"
    verb = commands.add_parser("explorer", help=help_, description=help_)
    _pair(verb.add_argument, "pair", help="folder of the pair of dates")
    verb.add_argument("-o", "--output", type=Path, required=True, metavar="FOLDER")
    verb.add_argument("--memory-mb", type=int, default=2000, help="for the tables (default %(default)s)")
    verb.set_defaults(run=_explorer)


def _pair(add: object, name: str, **options: object) -> None:
    add(name, type=Path, metavar="results/OLD_NEW", **options)  # type: ignore[operator]


def _newest() -> Path:
    """The pair of the working directory's results whose dataset is newest."""
    found = list(Path("results").glob("*_*/wikifactdiff.parquet"))
    if not found:
        raise InputError(
            "results/*_*/wikifactdiff.parquet: no such file; build it with `snakemake --cores all`, or name "
            "a folder with --pair"
        )
    return max(found, key=lambda path: (path.stat().st_mtime_ns, path)).parent


def _browse(options: argparse.Namespace) -> None:
    from factdrift.core.tables import database
    from factdrift.pages.browse.build import Build
    from factdrift.pages.browse.index import index_of
    from factdrift.pages.browse.server import serve

    build = Build.of(options.pair or _newest())
    index = index_of(build, options.index, options.memory_mb)
    at_a_desk = sys.stdout.isatty() and "SSH_CONNECTION" not in os.environ
    with database(options.memory_mb, threads=os.cpu_count() or 1) as db:
        serve(build, index, db, options.port, at_a_desk and not options.no_browser)


def _explorer(options: argparse.Namespace) -> None:
    from factdrift.core.owned import scratch
    from factdrift.core.tables import database
    from factdrift.pages.browse.build import Build
    from factdrift.pages.browse.export import export
    from factdrift.pages.browse.index import index_of
    from factdrift.pages.browse.search import open_index

    build = Build.of(options.pair)
    with (
        scratch() as folder,
        database(options.memory_mb) as db,
    ):
        index = open_index(index_of(build, folder / "index.sqlite", options.memory_mb))
        number = export(build, index, db, options.output)
        index.close()
    print(f"{options.output}: {number:,} files")
