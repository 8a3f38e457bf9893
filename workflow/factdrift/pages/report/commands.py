"""`factdrift report`: one page about a build."""

from __future__ import annotations

import argparse
from pathlib import Path


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    help_ = "write one page about a build: what changed, and how it was decided"
    verb = commands.add_parser("report", help=help_, description=help_)
    verb.add_argument("pair", type=Path, metavar="results/OLD_NEW", help="folder of the pair of dates")
    verb.add_argument("--logs", type=Path, default=Path("logs"), help="with benchmark files (default logs)")
    verb.add_argument("--stream", type=Path, metavar="PARQUET", help="of many dates, beside the page")
    verb.add_argument("--memory-mb", type=int, default=2000, help="for the tables (default %(default)s)")
    verb.add_argument(
        "-o", "--output", type=Path, required=True, metavar="HTML", help="beside the pair's folder"
    )
    verb.set_defaults(run=_run)


def _run(options: argparse.Namespace) -> None:
    from factdrift.pages.report.blocks import Build
    from factdrift.pages.report.page import write_page

    build = Build(options.pair.parent, options.pair, options.logs)
    write_page(build, options.output, options.memory_mb, options.stream)
    print(f"{options.output}: {options.output.stat().st_size / 1e6:,.1f} MB")
