"""`factdrift sample render`, `factdrift snapshots derive`, and the downloads."""

from __future__ import annotations

import argparse
import dataclasses
import json
from pathlib import Path

from factdrift.snapshots import download_commands

SAMPLE = Path(__file__).parents[3] / "resources" / "sample"


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sample = commands.add_parser("sample", help="the bundled sample of dated facts")
    verbs = sample.add_subparsers(dest="verb", required=True, metavar="VERB")
    render = verbs.add_parser("render", help="write the sample as a dump that Wikidata published on a day")
    render.add_argument("--tables", type=Path, default=SAMPLE, help="folder of the tables (%(default)s)")
    render.add_argument("--date", type=_day, required=True, help="the day, YYYY-MM-DD")
    render.add_argument(
        "-o", "--output", type=Path, required=True, help="the dump: .json, .json.gz, .json.bz2 or .json.zst"
    )
    render.set_defaults(run=_render)

    snapshots = commands.add_parser("snapshots", help="dump files: derived from another date's")
    verbs = snapshots.add_subparsers(dest="verb", required=True, metavar="VERB")
    derive = verbs.add_parser("derive", help="approximate an old dump from a newer one, by its own dates")
    derive.add_argument("--dump", type=Path, required=True, help="the newer dump, in any compression")
    derive.add_argument("--date", type=_day, required=True, help="the day of the old dump, YYYY-MM-DD")
    derive.add_argument("-o", "--output", type=Path, required=True, help="the old dump, .json.gz")
    derive.set_defaults(run=_derive)

    download_commands.register(commands)


def _day(text: str) -> int:
    from factdrift.snapshots.value_text import parse_day

    try:
        return parse_day(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _render(options: argparse.Namespace) -> None:
    from factdrift.snapshots.render import render_dump
    from factdrift.snapshots.sample_tables import read_sample

    entities = render_dump(read_sample(options.tables), options.date, options.output)
    print(f"{options.output}: {entities:,} entities")


def _derive(options: argparse.Namespace) -> None:
    from factdrift.snapshots.derive import derive_dump

    counts = derive_dump(options.dump, options.date, options.output)
    print(f"{options.output}: {json.dumps(dataclasses.asdict(counts))}")
