"""The commands `factdrift sample`, `snapshots`, `dumps` and `pageviews`."""

from __future__ import annotations

import argparse
import dataclasses
import json
import sys
from pathlib import Path

from factdrift.core.addresses import WIKIDATA_API
from factdrift.core.paths import SAMPLE
from factdrift.snapshots import download_commands


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    sample = commands.add_parser("sample", help="the bundled sample of dated facts")
    verbs = sample.add_subparsers(dest="verb", required=True, metavar="VERB")
    render = verbs.add_parser("render", help="write the sample as a dump of a day")
    render.add_argument("--tables", type=Path, default=SAMPLE, help="folder of the tables (%(default)s)")
    render.add_argument("--date", type=_day, required=True, help="the day, YYYY-MM-DD")
    render.add_argument(
        "-o", "--output", type=Path, required=True, help="the dump: .json, .json.gz, .json.bz2 or .json.zst"
    )
    render.add_argument("--account", type=Path, help="what the manifest says of the sample, .json")
    render.set_defaults(run=_render)
    check = verbs.add_parser("check", help="read and check the tables; count checked facts and made-up ids")
    check.add_argument("--tables", type=Path, default=SAMPLE, help="folder of the tables (%(default)s)")
    check.add_argument(
        "--results", type=Path, default=Path("results"), help="folder whose Parquet files are looked at too"
    )
    check.set_defaults(run=_check)

    snapshots = commands.add_parser("snapshots", help="dumps derived from a newer one, or fetched by the API")
    verbs = snapshots.add_subparsers(dest="verb", required=True, metavar="VERB")
    derive = verbs.add_parser("derive", help="approximate an old dump by the dates in a newer one")
    derive.add_argument("--dump", type=Path, required=True, help="the newer dump, in any compression")
    derive.add_argument("--date", type=_day, required=True, help="the day of the old dump, YYYY-MM-DD")
    derive.add_argument("-o", "--output", type=Path, required=True, help="the old dump, .json.gz")
    derive.set_defaults(run=_derive)

    entities = verbs.add_parser("entities", help="fetch entities as of a day from Wikidata's API, as a dump")
    entities.add_argument("--ids", type=Path, required=True, help="file with one id (Q30, P6) a line")
    entities.add_argument("--date", type=_day, required=True, help="the day, YYYY-MM-DD")
    entities.add_argument(
        "--contact", default="", help="your mail or web address, sent to the server; else FACTDRIFT_CONTACT"
    )
    entities.add_argument("--api", default=WIKIDATA_API, help="address of the API (%(default)s)")
    entities.add_argument("--store", type=Path, required=True, help="folder that keeps the answers")
    entities.add_argument(
        "--with-objects", action="store_true", help="fetch items among the values as of the day, too"
    )
    entities.add_argument(
        "--fetched", type=Path, required=True, help="table of all entities fetched, .parquet"
    )
    entities.add_argument("-o", "--output", type=Path, required=True, help="the dump, .json.gz")
    entities.set_defaults(run=_entities)

    download_commands.register(commands)


def _day(text: str) -> int:
    from factdrift.snapshots.sample.value_text import parse_day

    try:
        return parse_day(text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _render(options: argparse.Namespace) -> None:
    from factdrift.core.owned import atomic_path
    from factdrift.snapshots.sample.account import account, read_parts, warning
    from factdrift.snapshots.sample.as_of import day_text
    from factdrift.snapshots.sample.render import render_dump
    from factdrift.snapshots.sample.tables import read_sample

    parts, day = read_parts(options.tables), day_text(options.date)
    entities = render_dump(read_sample(options.tables), options.date, options.output)
    print(f"{options.output}: {entities:,} entities")
    if options.account is not None:
        with atomic_path(options.account) as path:
            path.write_text(json.dumps(account(parts, day), indent=2) + "\n", encoding="utf-8")
    if said := warning(parts, day):
        print(f"{options.output}: {said}", file=sys.stderr)


def _check(options: argparse.Namespace) -> None:
    from factdrift.snapshots.sample.account import made_up_ids, read_parts, report
    from factdrift.snapshots.sample.tables import read_sample

    read_sample(options.tables)
    print("\n".join(report(read_parts(options.tables))))
    for path in sorted(options.results.glob("*.parquet")):
        items, made_up = made_up_ids(path)
        print(f"{path}: {items:,} items, {made_up:,} with an id made up")


def _derive(options: argparse.Namespace) -> None:
    from factdrift.snapshots.derive import derive_dump

    counts = derive_dump(options.dump, options.date, options.output)
    print(f"{options.output}: {json.dumps(dataclasses.asdict(counts))}")


def _entities(options: argparse.Namespace) -> None:
    from factdrift.core.addresses import access_token, check_address
    from factdrift.core.settings import read_ids
    from factdrift.snapshots.api.client import LIMITS, POLICY, Api
    from factdrift.snapshots.api.entities import fetch_entities
    from factdrift.snapshots.api.store import Store
    from factdrift.snapshots.fetch import Client

    check_address("--api", options.api)
    day = str(options.date)
    fetched = fetch_entities(
        read_ids(options.ids, "dumps", "QP"),
        f"{day[:4]}-{day[4:6]}-{day[6:]}",
        Api(options.api, Client(options.contact, POLICY, LIMITS, token=access_token(options.api))),
        Store(options.store, options.api),
        options.with_objects,
        options.output,
        options.fetched,
    )
    print(f"{options.output}: {json.dumps(dataclasses.asdict(fetched))}")
