"""Jobs that list, check and download dumps, and download page views."""

from __future__ import annotations

import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from factdrift.core.addresses import check_address
from factdrift.core.errors import InputError
from factdrift.core.jobs import Flag, Job, Output, Place
from factdrift.core.paths import DUMPS

if TYPE_CHECKING:
    from factdrift.snapshots.fetch import Client
    from factdrift.snapshots.registry import Dump


class OfRegistry(Job):
    registry: Annotated[Path, "another registry than the bundled one"] = DUMPS


class OfServers(Job):
    """Fields of all jobs that send requests to servers."""

    contact: Annotated[
        str, "your mail or web address, sent to the servers (else FACTDRIFT_CONTACT); required"
    ] = ""
    tries: Annotated[int, "failures in a row to give up after"] = 10
    timeout: Annotated[float, "seconds without an answer"] = 60

    def client(self) -> Client:
        from factdrift.core.retry import RetryPolicy
        from factdrift.snapshots.fetch import Client, Limits

        if self.tries < 1:
            raise InputError(f"--tries {self.tries}: must be 1 or more")
        if not 0 < self.timeout < float("inf"):
            raise InputError(f"--timeout {self.timeout:g}: must be a number of seconds above 0")
        return Client(self.contact, RetryPolicy(tries=self.tries), Limits(timeout=self.timeout))


class ListDumps(OfRegistry, command="dumps list"):
    """List the dumps of the registry, and those on disk."""

    results: Annotated[Place, "folder with the snapshots of builds"] = Path("results")

    def run(self) -> None:
        from factdrift.snapshots.registry import read_registry

        dumps = read_registry(self.registry)
        here = _on_disk(self.results)
        print(f"{'date':<12}{'file':<32}{'bytes':>16}  {'on disk':<34}note")
        for date in sorted(dumps.keys() | here.keys()):
            dump = dumps.get(date)
            name, size, note = (
                (dump.name, dump.size, dump.note) if dump else ("", None, "not in the registry")
            )
            size_text, state = "" if size is None else f"{size:,}", "; ".join(here.get(date, ["-"]))
            print(f"{date:<12}{name:<32}{size_text:>16}  {state:<34}{note}")
        print(
            "Any other date is looked for under Wikimedia's usual address, then in the Internet Archive; "
            "dumps begin on Mondays."
        )


class CheckDumps(OfRegistry, OfServers, command="dumps check"):
    """Compare the registry with what the servers have."""

    date: Annotated[
        tuple[datetime.date, ...], "dates, YYYY-MM-DD (all of the registry)", Flag(by_place=True)
    ] = ()

    def run(self) -> None:
        from factdrift.snapshots.registry import find_dump, read_registry

        client = self.client()
        faulty = [
            date
            for date in [day.isoformat() for day in self.date] or read_registry(self.registry)
            if not _holds(find_dump(date, self.registry), client)
        ]
        if faulty:
            raise InputError(f"not as listed, or not available: {', '.join(faulty)}; see the lines above")


class DownloadDump(OfRegistry, OfServers, command="dumps download"):
    """Download a dump, or continue an earlier download."""

    date: Annotated[datetime.date, "YYYY-MM-DD", Flag(by_place=True)]
    output: Annotated[Output, "OUTPUT.part holds what has arrived"]
    url: Annotated[str | None, "another address than the known one, with #sha1=SUM or #md5=SUM if known"] = (
        None
    )

    def run(self) -> None:
        from factdrift.snapshots.download import download
        from factdrift.snapshots.registry import dump_at, find_dump

        _check_file(self.output)
        date = self.date.isoformat()
        if self.url:
            check_address("--url", self.url, secrets=True)
        dump = dump_at(date, self.url) if self.url else find_dump(date, self.registry)
        download(dump, self.output, self.client())


class DownloadMonth(OfServers, command="pageviews download"):
    """Filter a month while it streams from the server."""

    month: Annotated[str, "YYYY-MM", Flag(by_place=True)]
    output: Annotated[Output, "a table: title, views"]
    server: Annotated[str | None, "another address than Wikimedia's folder of months"] = None
    memory_mb: Annotated[int, "for the table"] = 1000

    def run(self) -> str:
        from factdrift.snapshots.pageviews import WIKIMEDIA, filter_month, month_url

        _check_file(self.output)
        try:
            month = datetime.date.fromisoformat(f"{self.month}-01").isoformat()[:7]
        except ValueError:
            raise InputError(f"{self.month!r} is no month; write it as 2022-03") from None
        if self.server:
            check_address("--server", self.server, secrets=True)
        url = month_url(month, self.server or WIKIMEDIA)
        pages, _ = filter_month(url, self.output, self.client(), self.memory_mb)
        return f"{self.output}: {pages:,} pages"


def _check_file(output: Path) -> None:
    """Raises InputError, before anything is downloaded, if an output is a folder."""
    if output.is_dir():
        raise InputError(f"{output}: is a folder; name a file")


def _on_disk(results: Path) -> dict[str, list[str]]:
    """Date -> the state of each file that the workflow has downloaded, or has begun to, of its dump."""
    found: dict[str, list[str]] = {}
    for file in sorted(results.glob("snapshots/????-??-??/wikidata.json*")):
        if not file.name.endswith(".part.json"):
            begun = "incomplete, " if file.suffix == ".part" else ""
            found.setdefault(file.parent.name, []).append(f"{begun}{file.stat().st_size:,} bytes")
    return found


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
            f"{name} {actual}, listed {listed}"
            for name, actual, listed in (
                ("bytes", size, dump.size),
                ("bytes in the index", announced, size if dump.size is None else dump.size),
                *((kind, digest, dump.digests.get(kind)) for kind, digest in digests.items()),
            )
            if None not in (actual, listed) and actual != listed
        ]
        says = [f"{size:,} bytes" if size is not None else "size unknown"]
        says += [f"{kind} {digest}" for kind, digest in digests.items()] or ["no published checksum"]
        print(f"{dump.date}  {url}  {', '.join(says)}{''.join(f'  DIFFERS: {fault}' for fault in faults)}")
        some, right = True, right and not faults
    return some and right
