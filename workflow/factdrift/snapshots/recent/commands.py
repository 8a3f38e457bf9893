"""The command `factdrift recent`: a dataset of a period from Wikidata's servers, without dumps."""

from __future__ import annotations

import argparse
import csv
import datetime
import os
import re
import sys
from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from factdrift.core.addresses import QUERY_SERVICE, WIKIDATA_API
from factdrift.core.errors import InputError
from factdrift.core.paths import SNAKEFILE, TEMPRIPPLE

if TYPE_CHECKING:
    from factdrift.snapshots.recent.search import Found, Search

_HELP = """Which items have a statement that started or ended in a period, by the Wikidata Query Service; then
the dataset of these items, fetched from Wikidata's API as of both ends of the period
(docs/small-real-builds.md)."""

_FIRST = datetime.date(2012, 11, 1)
"""Wikidata began on 29 October 2012, and has no revisions of before."""


def register(commands: argparse._SubParsersAction[argparse.ArgumentParser]) -> None:
    verb = commands.add_parser(
        "recent", help="a dataset of a period from Wikidata's servers, without dumps", description=_HELP
    )
    verb.add_argument("--since", type=_day, required=True, help="the first day of the period, YYYY-MM-DD")
    verb.add_argument("--until", type=_day, help="the day after the period (default: yesterday)")
    verb.add_argument(
        "--relations",
        type=_relations,
        default=None,
        metavar="P6,P35,...",
        help="default: those of resources/tempripple/mutable.tsv",
    )
    verb.add_argument("--limit", type=int, default=500, help="items that are fetched (default %(default)s)")
    verb.add_argument("--changed", action="store_true", help="also items edited in the period for any reason")
    verb.add_argument(
        "--scope",
        choices=["enwiki", "anywiki", "all"],
        default="enwiki",
        help="with %(default)s, the default, only items with an English article",
    )
    verb.add_argument(
        "--contact", default="", help="your mail or web address, sent to the servers; else FACTDRIFT_CONTACT"
    )
    verb.add_argument("--endpoint", default=QUERY_SERVICE, help="the SPARQL server (%(default)s)")
    verb.add_argument("--api", default=WIKIDATA_API, help="address of the API (%(default)s)")
    verb.add_argument("--cores", default="2", help="of the build (default %(default)s)")
    verb.add_argument(
        "--plan", action="store_true", help="write the list and the configuration, and print the command"
    )
    verb.set_defaults(run=_recent)


def _recent(options: argparse.Namespace) -> None:
    from factdrift.core.settings import contact_of
    from factdrift.snapshots.recent.plan import arguments, folder_of, shown, write_plan
    from factdrift.snapshots.recent.search import chosen, search
    from factdrift.sparql.answers import Answers
    from factdrift.sparql.client import Client

    contact = contact_of(options.contact)
    wanted = _wanted(options)
    if options.until is None:
        print(f"--until {wanted.until}: to continue this run on another day, name the same day")
        sys.stdout.flush()
    name = folder_of(wanted)
    answers = Answers(Path("results/fetched/recent", name), options.endpoint)
    client = Client(options.endpoint, contact, answers)
    found = search(client, wanted)
    print(f"{options.endpoint}: {client.requests:,} requests; the other answers had been kept")
    if not found:
        raise InputError(
            f"no item has a statement of these relations that is dated from {wanted.since} on and before "
            f"{wanted.until}; name other relations, a longer period, or --scope all"
        )
    items = chosen(found, options.limit)
    config = write_plan(Path("results/recent", name), wanted, found, items, options.api)
    _report(wanted, found, items, config)
    if options.plan:
        print(shown(config, options.cores, contact))
        return
    os.environ["FACTDRIFT_CONTACT"] = contact
    line = [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE)]
    sys.stdout.flush()
    os.execv(sys.executable, [*line, *arguments(config, options.cores)])


def _wanted(options: argparse.Namespace) -> Search:
    """What the options ask for. Raises InputError for whatever would fail later."""
    from factdrift.core.addresses import access_token, check_address
    from factdrift.snapshots.recent.search import Search

    today = datetime.datetime.now(datetime.UTC).date()
    until = options.until or today - datetime.timedelta(days=1)
    if until >= today:
        raise InputError(f"--until {until}: the day is not over (UTC); its revisions can still change")
    if options.since < _FIRST:
        raise InputError(f"--since {options.since}: Wikidata's revisions begin shortly before {_FIRST}")
    if options.since >= until:
        raise InputError(f"--since {options.since} is not before --until {until}; change one of them")
    if options.limit < 1:
        raise InputError(f"--limit {options.limit}: must be 1 or more")
    if not re.fullmatch("all|[1-9][0-9]*", options.cores):
        raise InputError(f"--cores {options.cores}: must be a number from 1 on, or `all`")
    for option in ("endpoint", "api"):
        check_address(f"--{option}", getattr(options, option))
    access_token(options.api)
    if not options.plan and not SNAKEFILE.is_file():
        raise InputError(
            "the workflow is not part of an installed package; run this in a checkout, or with --plan, "
            "and give the configuration to your own workflow"
        )
    relations = options.relations or _default_relations()
    return Search(relations, options.since, until, today, options.changed, options.scope)


def _report(wanted: Search, found: Found, items: list[int], config: Path) -> None:
    from factdrift.wikidata.ids import property_id

    counts = Counter(relation for relations in found.values() for relation in relations)
    for relation in wanted.relations:
        print(f"{property_id(relation)}: {counts[relation]:,} items")
    left_out = len(found) - len(items)
    beyond = f"; {left_out:,} left out by --limit" if left_out else ""
    print(f"{config.parent / 'entities.txt'}: {len(items):,} items{beyond}")


def _default_relations() -> list[int]:
    from factdrift.wikidata.ids import property_number

    with (TEMPRIPPLE / "mutable.tsv").open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t")
        return sorted(property_number(row["property"]) for row in rows)


def _relations(text: str) -> list[int]:
    from factdrift.wikidata.ids import property_number

    try:
        return sorted({property_number(each.strip()) for each in text.split(",")})
    except ValueError as error:
        raise argparse.ArgumentTypeError(str(error)) from error


def _day(text: str) -> datetime.date:
    try:
        if re.fullmatch(r"\d{4}-\d\d-\d\d", text):
            return datetime.date.fromisoformat(text)
    except ValueError:
        pass
    raise argparse.ArgumentTypeError(f"{text!r} is no date; write it as 2026-05-01")
