"""Addresses of Wikidata's dumps: the registry resources/dumps.tsv, and Wikimedia's pattern of names."""

import csv
import datetime
import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urlsplit

from factdrift.core.addresses import is_url
from factdrift.core.errors import InputError
from factdrift.core.files import utf8_lines
from factdrift.core.paths import DUMPS
from factdrift.core.settings import dump_source

COLUMNS = ("date", "url", "mirror", "bytes", "sha1", "md5", "note")

WIKIMEDIA = "https://dumps.wikimedia.org/wikidatawiki/entities/{day}/wikidata-{day}-all.json.gz"
ARCHIVE = "https://archive.org/download/wikibase-wikidatawiki-{day}/wikidata-{day}-all.json.gz"

_SUFFIXES = ("json.gz", "json.bz2", "json.zst", "json", "jsonl.gz", "jsonl.bz2", "jsonl.zst", "jsonl")
_HEX = {"sha1": 40, "md5": 32}


@dataclass(frozen=True)
class Dump:
    """A dump that can be downloaded: `urls` in the order in which they are tried; `size` in bytes, None if
    unknown; `digests`: name of the hash -> hexadecimal checksum, as far as known."""

    date: str
    urls: tuple[str, ...]
    size: int | None = None
    digests: dict[str, str] = field(default_factory=dict)
    note: str = ""

    @property
    def name(self) -> str:
        """The file's name on the server."""
        return urlsplit(self.urls[0]).path.rpartition("/")[2]


def read_registry(path: Path = DUMPS) -> dict[str, Dump]:
    """The dumps of the registry by date, ascending. Raises InputError that names a line that is not valid."""
    dumps: dict[str, Dump] = {}
    rows = csv.DictReader(utf8_lines(path), delimiter="\t", quoting=csv.QUOTE_NONE)
    if tuple(rows.fieldnames or ()) != COLUMNS:
        raise InputError(f"{path}, line 1: the columns must be {', '.join(COLUMNS)}, separated by tabs")
    for row in rows:
        try:
            if None in row or None in row.values():
                raise ValueError(f"there must be {len(COLUMNS)} columns")
            date = datetime.date.fromisoformat(row["date"]).isoformat()
            urls = tuple(url for url in (row["url"], *row["mirror"].split()) if url)
            if not urls or not all(map(is_url, urls)):
                raise ValueError("url and mirror must begin with https:// or http://")
            digests = {kind: _digest(kind, row[kind]) for kind in _HEX if row[kind]}
            dump = Dump(date, urls, _bytes(row["bytes"]) if row["bytes"] else None, digests, row["note"])
        except ValueError as error:
            raise InputError(f"{path}, line {rows.line_num}: {error}") from None
        if dump.date in dumps:
            raise InputError(f"{path}, line {rows.line_num}: {dump.date} occurs twice; remove one")
        dumps[dump.date] = dump
    return dict(sorted(dumps.items()))


def find_dump(date: str, registry: Path = DUMPS) -> Dump:
    """The dump of a date: from the registry, else by Wikimedia's pattern of names."""
    if listed := read_registry(registry).get(date):
        return listed
    day = date.replace("-", "")
    return Dump(date, (WIKIMEDIA.format(day=day), ARCHIVE.format(day=day)), note="not in the registry")


def dump_at(date: str, url: str) -> Dump:
    """The dump at a user's address, after which `#` and what is known may follow, joined by `&`: `sha1=...`,
    `md5=...`, `bytes=...`.

    Raises InputError if something else follows.
    """
    address, fragment = urldefrag(url)
    digests, size = {}, None
    for part in filter(None, fragment.split("&")):
        kind, _, value = part.partition("=")
        try:
            if kind == "bytes":
                size = _bytes(value)
            else:
                digests[kind] = _digest(kind, value)
        except ValueError as error:
            raise InputError(
                f"{url}: {error}; write #sha1=SUM or #md5=SUM after the address, and &bytes=NUMBER if the "
                "size is known"
            ) from None
    return Dump(date, (address,), size, digests)


def address_of(dump: Dump) -> str:
    """The dump as a value of `dumps` in the configuration, which `dump_at` reads: its first address, with a
    checksum and the size as far as known."""
    known = [f"{kind}={dump.digests[kind]}" for kind in _HEX if kind in dump.digests][:1]
    known += [] if dump.size is None else [f"bytes={dump.size}"]
    return "#".join(filter(None, [dump.urls[0], "&".join(known)]))


def remote_dump(config: dict[str, Any], date: str) -> Dump | None:
    """The dump to be downloaded for a date; None if the configuration names another source.

    Raises InputError if the name of the file is not that of a dump.
    """
    source = dump_source(config, date)
    if source != "wikidata" and not is_url(source):
        return None
    dump = dump_at(date, source) if is_url(source) else find_dump(date)
    suffix(dump)
    return dump


def suffix(dump: Dump) -> str:
    """The suffix of the file (`json.gz`, `json.bz2` ...). Raises InputError if it is not that of a dump."""
    for ending in _SUFFIXES:
        if dump.name.endswith(f".{ending}"):
            return ending
    raise InputError(f"{dump.urls[0]}: the name of a dump must end in {', '.join(_SUFFIXES)}")


def mondays(date: str) -> tuple[str, str]:
    """The Monday on or before a date, and the next one; Wikimedia begins dumps on Mondays."""
    day = datetime.date.fromisoformat(date)
    before = day - datetime.timedelta(days=day.weekday())
    return before.isoformat(), (before + datetime.timedelta(days=7)).isoformat()


def _bytes(text: str) -> int:
    if not re.fullmatch("[1-9][0-9]{0,17}", text):
        raise ValueError(f"{text!r} is no number of bytes")
    return int(text)


def _digest(kind: str, digest: str) -> str:
    if kind not in _HEX or not re.fullmatch(f"[0-9a-fA-F]{{{_HEX[kind]}}}", digest):
        raise ValueError(
            f"{digest!r} is not a {kind or 'checksum'} of {_HEX.get(kind, 'some')} hexadecimal digits"
        )
    return digest.lower()
