"""Which dumps a server has: its listing of folders named by date, and in each the dump with its checksums."""

import contextlib
import datetime
import html
import re
from collections.abc import Iterator
from urllib.parse import unquote, urljoin

from factdrift.core.errors import InputError
from factdrift.snapshots.download import published
from factdrift.snapshots.fetch import Client, Missing
from factdrift.snapshots.registry import Dump

_NAMES = ("wikidata-{day}-all.json.gz", "wikidata-{day}-all.json.bz2")
"""The .gz first: it is larger, but can be read many times as fast."""


def complete_dumps(listing: str, after: str, client: Client) -> Iterator[Dump]:
    """Yields the complete dumps of a listing after the day `after` (YYYY-MM-DD, or empty), newest first.

    A dump is complete when the server publishes its checksum, which Wikimedia does at the end. Folders are
    asked for one by one, so a caller who has enough asks for no more. Raises InputError if the listing does
    not exist or names no folder, or if the server refuses to show a folder or fails for good.
    """
    folder = listing.rstrip("/") + "/"
    try:
        names = _links(folder, client)
    except Missing:
        raise InputError(f"{folder} does not exist; name a listing of dumps (`refresh.listings`)") from None
    days = {}
    for name in names:
        if re.fullmatch(r"\d{8}/", name):
            with contextlib.suppress(ValueError):  # no day of the calendar
                days[datetime.datetime.strptime(name, "%Y%m%d/").date().isoformat()] = name
    if not days:
        raise InputError(
            f"{folder} lists no folder named by a date (20260504/), so it is no listing of dumps"
        )
    for date in sorted((date for date in days if date > after), reverse=True):
        if dump := _dump(urljoin(folder, days[date]), date, client):
            yield dump


def _dump(folder: str, date: str, client: Client) -> Dump | None:
    try:
        names = set(_links(folder, client))
    except Missing:
        return None  # a folder that was removed after it had been listed
    for name in (pattern.format(day=date.replace("-", "")) for pattern in _NAMES):
        if name in names:
            size, digests = published(client, folder + name)
            if digests:
                return Dump(date, (folder + name,), size, digests, "from the server's listing")
    return None


def _links(page: str, client: Client) -> list[str]:
    """Names of the files and folders (with a slash) that a page links to and that are in its folder.

    Raises Missing if the page does not exist, InputError if the server fails for good.
    """
    body: bytes = client.small(page)
    links = re.findall(r"""<a\s[^>]*?href\s*=\s*["']?([^"'\s>]+)""", body.decode("utf-8", "replace"), re.I)
    names = []
    for link in links:
        with contextlib.suppress(ValueError):  # a link that is no address
            names.append(urljoin(page, html.unescape(link)).removeprefix(page))
    return [unquote(name) for name in names if re.fullmatch(r"[^/?#]+/?", name)]
