"""`factdrift dumps` and `factdrift pageviews`: lists, checks and downloads."""

from __future__ import annotations

import argparse
import datetime
import os
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias

from factdrift.core.addresses import check_address
from factdrift.core.errors import InputError

if TYPE_CHECKING:
    from factdrift.snapshots.fetch import Client
    from factdrift.snapshots.registry import Dump

Parsers: TypeAlias = "argparse._SubParsersAction[argparse.ArgumentParser]"


def register(commands: Parsers) -> None:
    dumps = commands.add_parser("dumps", help="Wikidata's dumps: list, check, download")
    verbs = dumps.add_subparsers(dest="verb", required=True, metavar="VERB")

    verb = verbs.add_parser("list", help="list the dumps of the registry, and those on disk")
    _add_registry(verb)
    verb.add_argument("--results", type=Path, default=Path("results"), help="default %(default)s")
    verb.set_defaults(run=_list)

    verb = verbs.add_parser("check", help="compare the registry with what the servers have")
    verb.add_argument("date", type=_date, nargs="*", help="dates, YYYY-MM-DD (all of the registry)")
    _add_registry(verb)
    _add_patience(verb)
    verb.set_defaults(run=_check)

    verb = verbs.add_parser("download", help="download a dump, or continue an earlier download")
    verb.add_argument("date", type=_date, help="YYYY-MM-DD")
    verb.add_argument("-o", "--output", type=Path, required=True, help="OUTPUT.part holds what has arrived")
    verb.add_argument("--url", help="another address than the known one, with #sha1=SUM or #md5=SUM if known")
    _add_registry(verb)
    _add_patience(verb)
    verb.set_defaults(run=_download)

    pageviews = commands.add_parser("pageviews", help="monthly page views of the English Wikipedia")
    verbs = pageviews.add_subparsers(dest="verb", required=True, metavar="VERB")
    verb = verbs.add_parser("download", help="filter a month while it streams from the server")
    verb.add_argument("month", type=_month, help="YYYY-MM")
    verb.add_argument("-o", "--output", type=Path, required=True, help="a table: title, views")
    verb.add_argument("--server", help="another address than Wikimedia's folder of months")
    verb.add_argument("--memory-mb", type=int, default=1000, help="for the table (default %(default)s)")
    _add_patience(verb)
    verb.set_defaults(run=_download_month)


def _add_registry(verb: argparse.ArgumentParser) -> None:
    verb.add_argument("--registry", type=Path, help="another registry than the bundled one")


def _add_patience(verb: argparse.ArgumentParser) -> None:
    verb.add_argument(
        "--contact",
        default=os.environ.get("FACTDRIFT_CONTACT", ""),
        help="your mail or web address, sent to the servers (else FACTDRIFT_CONTACT); required",
    )
    verb.add_argument(
        "--tries", type=int, default=10, help="failures in a row to give up after (default %(default)s)"
    )
    verb.add_argument(
        "--timeout", type=float, default=60, help="seconds without an answer (default %(default)s)"
    )


def _date(text: str) -> str:
    try:
        return datetime.date.fromisoformat(text).isoformat()
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no date; write it as 2021-01-04") from None


def _month(text: str) -> str:
    try:
        return datetime.date.fromisoformat(f"{text}-01").isoformat()[:7]
    except ValueError:
        raise argparse.ArgumentTypeError(f"{text!r} is no month; write it as 2022-03") from None


def _client(options: argparse.Namespace) -> Client:
    from factdrift.core.retry import RetryPolicy
    from factdrift.snapshots.fetch import Client, Limits

    return Client(options.contact, RetryPolicy(tries=options.tries), Limits(timeout=options.timeout))


def _registry(options: argparse.Namespace) -> Path:
    from factdrift.core.paths import DUMPS

    return Path(options.registry or DUMPS)


def _list(options: argparse.Namespace) -> None:
    from factdrift.snapshots.registry import read_registry

    dumps = read_registry(_registry(options))
    here = dict(_on_disk(options.results))
    print(f"{'date':<12}{'file':<32}{'bytes':>16}  {'on disk':<34}note")
    for date in sorted(dumps.keys() | here.keys()):
        dump = dumps.get(date)
        name, size, note = (dump.name, dump.size, dump.note) if dump else ("", None, "not in the registry")
        print(
            f"{date:<12}{name:<32}{'' if size is None else f'{size:,}':>16}  {here.get(date, '-'):<34}{note}"
        )
    print(
        "Any other date is looked for under Wikimedia's usual address, then in the Internet Archive; "
        "dumps begin on Mondays."
    )


def _on_disk(results: Path) -> Iterator[tuple[str, str]]:
    """Date and state of each dump that the workflow has downloaded."""
    for folder in sorted(results.glob("snapshots/????-??-??")):
        for file in sorted(folder.glob("wikidata.json*")):
            size = f"{file.stat().st_size:,} bytes"
            if file.suffix == ".part":
                yield folder.name, f"incomplete, {size}"
            elif not file.name.endswith(".part.json"):
                yield folder.name, size


def _check(options: argparse.Namespace) -> None:
    from factdrift.snapshots.registry import find_dump, read_registry

    registry = _registry(options)
    client = _client(options)
    faulty = [
        date
        for date in options.date or read_registry(registry)
        if not _holds(find_dump(date, registry), client)
    ]
    if faulty:
        raise InputError(f"not as listed, or not available: {', '.join(faulty)}; see the lines above")


def _holds(dump: Dump, client: Client) -> bool:
    """Whether an address has the dump and none contradicts the registry; prints what each server says."""
    from factdrift.snapshots.download import published
    from factdrift.snapshots.fetch import Missing

    some, right = False, True
    for url in dump.urls:
        try:
            size = client.head(url).size
        except Missing:
            print(f"{dump.date}  {url}  does not exist")
            continue
        announced, digests = published(client, url)
        faults = [
            f"{name} {found}, listed {listed}"
            for name, found, listed in (
                ("bytes", size, dump.size),
                ("bytes in the index", announced, size if dump.size is None else dump.size),
                *((kind, digest, dump.digests.get(kind)) for kind, digest in digests.items()),
            )
            if None not in (found, listed) and found != listed
        ]
        says = [f"{size:,} bytes" if size is not None else "size unknown"]
        says += [f"{kind} {digest}" for kind, digest in digests.items()] or ["no published checksum"]
        print(f"{dump.date}  {url}  {', '.join(says)}{''.join(f'  DIFFERS: {fault}' for fault in faults)}")
        some, right = True, right and not faults
    return some and right


def _download(options: argparse.Namespace) -> None:
    from factdrift.snapshots.download import download
    from factdrift.snapshots.registry import dump_at, find_dump

    date = options.date
    if options.url:
        check_address("--url", options.url, secrets=True)
    dump = dump_at(date, options.url) if options.url else find_dump(date, _registry(options))
    download(dump, options.output, _client(options))


def _download_month(options: argparse.Namespace) -> None:
    from factdrift.snapshots.pageviews import WIKIMEDIA, filter_month, month_url

    if options.server:
        check_address("--server", options.server, secrets=True)
    url = month_url(options.month, options.server or WIKIMEDIA)
    pages, _ = filter_month(url, options.output, _client(options), options.memory_mb)
    print(f"{options.output}: {pages:,} pages")
