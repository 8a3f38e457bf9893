"""A dump on a loopback server, and downloads of it that succeed or are refused."""

import hashlib
import random
from pathlib import Path

import pytest

from factdrift.core.errors import InputError
from factdrift.snapshots.download import download
from factdrift.snapshots.fetch import Client
from factdrift.snapshots.registry import Dump

from .server import Fault, Server

BODY = b"\x1f\x8b" + random.Random(1).randbytes(299_998)
SHA1, MD5 = hashlib.sha1(BODY).hexdigest(), hashlib.md5(BODY).hexdigest()
NAME = "wikidata-20210104-all.json.gz"
PATH = f"/entities/20210104/{NAME}"
SUMS = "/entities/20210104/wikidata-20210104-sha1sums.txt"
CONTACT = "me@example.org"


def dump(server: Server, *paths: str, **fields: object) -> Dump:
    return Dump("2021-01-04", tuple(server.url + path for path in paths or (PATH,)), **fields)


def listed(server: Server, sha1: str = SHA1) -> None:
    server.files[SUMS] = f"{'0' * 40}  wikidata-20210104-all.json.bz2\n{sha1}  {NAME}\n".encode()


def fetched(tmp_path: Path, dump: Dump, client: Client) -> None:
    """Downloads, and checks that the file is complete and the only one."""
    output = tmp_path / "dump.json.gz"
    download(dump, output, client)
    assert output.read_bytes() == BODY
    assert [path.name for path in tmp_path.iterdir()] == ["dump.json.gz"]


def refused(tmp_path: Path, dump: Dump, client: Client) -> str:
    """Downloads, expecting an InputError; returns its message."""
    with pytest.raises(InputError) as error:
        download(dump, tmp_path / "dump.json.gz", client)
    assert not (tmp_path / "dump.json.gz").exists()
    return str(error.value)


def interrupted(server: Server, tmp_path: Path, dump: Dump, client: Client) -> str:
    """Downloads 60,000 bytes, and gives up."""
    server.faults[PATH] = [Fault(cut=60_000), *[Fault(cut=0)] * 3]
    return refused(tmp_path, dump, client)
