"""Downloads a dump: resumes after any interruption, checks the file, and gives it its name when complete.

An incomplete file is OUTPUT.part; OUTPUT.part.json records its address, size and validator.
"""

import contextlib
import json
import os
import re
import shutil
import xml.etree.ElementTree
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any, BinaryIO
from urllib.parse import urlsplit

from factdrift.core.errors import DamagedDump, InputError, redacted
from factdrift.core.files import digests_of, write_json
from factdrift.core.outputs import final_path, is_special
from factdrift.core.owned import try_lock
from factdrift.core.progress import Progress
from factdrift.core.retry import say
from factdrift.snapshots.fetch import Client, Head, Missing, Refused
from factdrift.snapshots.registry import Dump, mondays

_MB = 1e6
_MAGIC = {"gz": b"\x1f\x8b", "bz2": b"BZh"}


def download(dump: Dump, output: Path, client: Client) -> None:
    """Downloads a dump to `output`, from the first of its addresses that has it.

    Continues what an earlier download has left in `output`.part. Raises InputError if no address has the
    dump, the disk is too small, the checksum is not the published one, or the server fails too often. The
    incomplete file is kept, except after a wrong checksum. InputError, too, if `output` is there already.
    """
    output = final_path(output)
    if is_special(output):
        raise InputError(f"{output}: is no regular file, and could not hold a part of the dump; name a file")
    if output.exists():
        raise InputError(f"{output}: is there already; remove the file to fetch it again")
    output.parent.mkdir(parents=True, exist_ok=True)
    with _part(output) as part:
        for url in dump.urls:
            try:
                part.fetch(url, dump, client)
            except Missing:
                say(url, "does not exist")
            else:
                part.finish(url, output)
                return
    before, after = mondays(dump.date)
    raise InputError(
        f"no dump of {dump.date} at {' or '.join(dump.urls)}. Wikimedia begins a dump on Mondays (near: "
        f"{before}, {after}) and keeps it for about ten weeks, and some dumps are not archived: try another "
        "date (resources/dumps.tsv has some), or give an address or a file in the configuration "
        "(`dumps: {DATE: URL or PATH}`)"
    )


def _known(dump: Dump, url: str, client: Client) -> tuple[int | None, dict[str, str]]:
    """Size and checksums of a dump: from the registry or the user, else as published at this address."""
    announced, digests = (None, dump.digests) if dump.digests else published(client, url)
    return dump.size or announced, digests


def _difference(path: Path, digests: dict[str, str]) -> str:
    """How a file differs from its published checksums; empty if it does not."""
    for kind, digest in digests_of(path, digests).items():
        if digest != digests[kind]:
            return f"the {kind.upper()} of the file is {digest}, the published one is {digests[kind]}"
    return ""


def _checked(digests: dict[str, str], size: int | None) -> str:
    """The last line of a download: which checks were made."""
    checked = " and ".join(kind.upper() for kind in digests) or ("" if size is None else "size")
    return f"{checked} checked" if checked else "neither size nor checksum known"


def published(client: Client, url: str) -> tuple[int | None, dict[str, str]]:
    """Size in bytes (None if unknown) and checksums (`sha1`, `md5`) that the server publishes for a dump."""
    address, signed, _ = url.partition("?")
    folder, _, name = address.rpartition("/")

    def beside(file: str) -> bytes:
        """The body of a small file in the folder of the dump; b"" if there is none."""
        try:
            return client.small(f"{folder}/{file}")
        except Missing:
            return b""
        except Refused:
            if not signed:
                raise
            return b""  # a signature is that of one file

    if item := re.search(r"/download/([^/]+)$", folder):
        return _archived(beside(f"{item[1]}_files.xml"), name)
    if not (dated := re.match(r"wikidata-\d{8}-", name)):
        return None, {}
    digests = {}
    for kind in ("sha1", "md5"):
        for line in beside(f"{dated[0]}{kind}sums.txt").decode("utf-8", "replace").splitlines():
            match line.split():
                case [digest, file] if file.lstrip("*") == name:
                    digests[kind] = digest.lower()
    return None, digests


def _archived(listing: bytes, name: str) -> tuple[int | None, dict[str, str]]:
    """Size and checksums of a file in the Internet Archive's list of an item's files."""
    with contextlib.suppress(xml.etree.ElementTree.ParseError):
        for file in xml.etree.ElementTree.fromstring(listing or b"<files/>"):
            if file.get("name") == name:
                size = file.findtext("size", "")
                digests = {kind: file.findtext(kind, "").lower() for kind in ("sha1", "md5")}
                return int(size) if size.isdecimal() else None, {k: v for k, v in digests.items() if v}
    return None, {}


class _Part:
    """An incomplete file."""

    def __init__(self, path: Path, file: BinaryIO):
        self.path, self.file = path, file
        self.account = path.with_name(f"{path.name}.json")
        self.digests: dict[str, str] = {}
        self.size: int | None = None
        self.record: dict[str, Any] = {}
        """The record of the file, until it is written to `account` with the first bytes that arrive."""

    def fetch(self, url: str, dump: Dump, client: Client) -> None:
        """Downloads the missing bytes. Raises Missing if `url` does not exist, InputError as `download`."""
        known, self.digests = _known(dump, url, client)
        start, validator = self._resumable(url, known)
        if start:
            say(url, f"continues at {start / _MB:,.1f} MB, which have arrived already")
        position = start
        progress = Progress(dump.name, unit="MB", before=start / _MB)

        def begin(head: Head) -> None:
            nonlocal position
            self._begin(url, head, known)
            position = head.start  # where the server begins again, even if nothing comes then
            progress.total = self.size / _MB if self.size is not None else None
            progress.done = position / _MB
            progress.before = min(progress.before, progress.done)

        if self.size is None or start < self.size:
            trust = None if self.digests else validator
            for offset, data in client.stream(url, start, self.size, trust, begin):
                self._write(offset, data, url)
                position = offset + len(data)
                progress.advance(len(data) / _MB)
            progress.say()
        here = os.fstat(self.file.fileno()).st_size
        if not here or here != position or here != (here if self.size is None else self.size):
            raise InputError(
                f"{url}: {position:,} bytes came, {self.size or 'some'} were announced; run the same command "
                "again"
            )

    def finish(self, url: str, output: Path) -> None:
        """Compares the checksums and gives the file its name."""
        os.fsync(self.file.fileno())
        if fault := _difference(self.path, self.digests):
            self.path.unlink()
            self.account.unlink(missing_ok=True)
            raise DamagedDump(
                f"{url}: {fault}. {self.path} has been deleted; run the same command again to fetch it again"
            )
        self.path.replace(output)
        self.account.unlink(missing_ok=True)
        how = _checked(self.digests, self.size)
        say(url, f"complete as {output}, {output.stat().st_size:,} bytes, {how}")

    def _resumable(self, url: str, known: int | None) -> tuple[int, str]:
        """The number of bytes to resume from, and the validator of their file; sets `size`."""
        try:
            account = json.loads(self.account.read_text(encoding="utf-8"))
        except (OSError, ValueError):
            account = {}
        start = os.fstat(self.file.fileno()).st_size
        size, validator = account.get("bytes"), account.get("validator", "")
        self.size = known if known is not None else size
        # Bytes from another server count only if a checksum is compared at the end.
        trusted = bool(self.digests) or account.get("url") == redacted(url)
        if trusted and size is not None and size == self.size and start <= size:
            return start, validator
        self.size = known
        return 0, ""

    def _begin(self, url: str, head: Head, known: int | None) -> None:
        """Raises InputError for a file of another size than is known, or one too large for the disk."""
        if known is not None and head.size is not None and head.size != known:
            raise InputError(f"{url}: has {head.size:,} bytes, but {known:,} are published; try again later")
        self.size = head.size if head.size is not None else known
        if self.size is not None:
            needed = self.size - os.fstat(self.file.fileno()).st_size
            free = shutil.disk_usage(self.path.parent).free
            if needed > free:
                raise InputError(
                    f"{url}: {needed / 1e9:,.2f} GB are missing, but {self.path.parent.resolve()} has only "
                    f"{free / 1e9:,.2f} GB free; make room, or make that folder a link to a larger disk"
                )
        self.record = {"url": redacted(url), "bytes": self.size, "validator": head.validator}

    def _write(self, offset: int, data: bytes, url: str) -> None:
        if offset == 0:
            magic = _MAGIC.get(urlsplit(url).path.rpartition(".")[2], b"")[: len(data)]
            inside = b""
            with contextlib.suppress(zlib.error):
                inside = zlib.decompressobj(31).decompress(data, 60)
            if inside.startswith(tuple(_MAGIC.values())):
                raise InputError(
                    f"{url}: the server has compressed the archive once more (Content-Encoding: gzip), "
                    "although it was asked not to, so sizes and checksums do not fit; use another server or "
                    "mirror, or download and unpack the file by other means and name it in the configuration "
                    "(`dumps: {DATE: PATH}`)"
                )
            if (inside or data).lstrip().startswith(b"<") or not data.startswith(magic):
                raise InputError(
                    f"{url}: is not such an archive, but begins with {(inside or data)[:60]!r}; does a login "
                    "page or a proxy answer instead?"
                )
            # Only now, when a server really sends the file, another one's bytes are removed.
            self.file.truncate(0)
        if self.record:
            write_json(self.record, self.account, indent=None)
            self.record = {}
        self.file.seek(offset)
        rest = memoryview(data)
        while rest:
            try:
                rest = rest[self.file.write(rest) :]
            except OSError as error:
                error.filename = str(self.path)
                raise


@contextlib.contextmanager
def _part(output: Path) -> Iterator[_Part]:
    """The incomplete file of `output`, locked against other processes; InputError if it is not ours."""
    path = output.with_name(f"{output.name}.part")
    if path.exists() and path.stat().st_size and not path.with_name(f"{path.name}.json").exists():
        raise InputError(
            f"{path}: was begun by another program, whose file it would replace; move it away, or name "
            "another output"
        )
    # Unbuffered, so that after a kill the file has all that was written, and closing it cannot fail.
    with os.fdopen(os.open(path, os.O_RDWR | os.O_CREAT, 0o666), "r+b", buffering=0) as file:
        # The process that held the lock may have given the file its name meanwhile, or deleted it.
        mine = try_lock(file, path) and path.exists()
        if not mine or not os.path.samestat(os.fstat(file.fileno()), path.stat()):
            raise InputError(
                f"{path}: another process downloads this file, or has just ended; wait for it or stop it"
            )
        try:
            yield _Part(path, file)
        finally:
            if path.exists() and not os.fstat(file.fileno()).st_size:
                path.unlink()
                path.with_name(f"{path.name}.json").unlink(missing_ok=True)
