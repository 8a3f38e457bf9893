"""Downloads from a server with faults, killed, or on a full disk: a complete file, or a clear message."""

import errno
import gzip
import io
import itertools
import json
import os
import subprocess
import sys
import tempfile
import threading
from dataclasses import replace
from pathlib import Path
from types import SimpleNamespace

import pytest
from support.downloads import (
    BODY,
    CONTACT,
    MD5,
    NAME,
    PATH,
    SHA1,
    SUMS,
    dump,
    fetched,
    interrupted,
    listed,
    refused,
)
from support.server import Fault, Server
from support.waiting import LONGEST, wait_until

from factdrift.cli import main
from factdrift.core.errors import InputError
from factdrift.core.exhausted import is_full
from factdrift.core.owned import try_lock
from factdrift.snapshots import download as module
from factdrift.snapshots.download import download, published
from factdrift.snapshots.fetch import Client, Limits


def line(folder: Path, url: str, *more: str) -> list[str]:
    """The arguments of a download into a folder."""
    given = ["-o", str(folder / "dump.json.gz"), f"--contact={CONTACT}", f"--url={url}"]
    return ["snapshots", "download", "2021-01-04", *given, *more]


@pytest.mark.parametrize(
    ("published", "lengths", "checks"),
    [
        (True, True, "SHA1 checked"),
        (False, True, "size checked"),
        (False, False, "neither size nor checksum known"),
    ],
)
def test_what_has_been_checked_is_said(server, client, tmp_path, capsys, published, lengths, checks):
    server.lengths = lengths
    if published:
        listed(server)
    fetched(tmp_path, dump(server), client)
    assert f"300,000 bytes, {checks}\n" in capsys.readouterr().err
    assert len(server.gets(PATH)) == 1
    assert {asked.agent for asked in server.asked} == {f"factdrift/0.1.0 ({CONTACT})"}


def test_cut_connections_are_resumed_where_they_were_cut(server, client, tmp_path, pauses):
    listed(server)
    server.faults[PATH] = [Fault(cut=cut) for cut in (50_000, 1, 0, 70_000, 30_000)]
    fetched(tmp_path, dump(server), client)
    assert [asked.start for asked in server.gets(PATH)] == [0, 50_000, 50_001, 50_001, 120_001, 150_001]
    assert sum(asked.sent for asked in server.gets(PATH)) == len(BODY)
    assert len(pauses) == 5


def test_a_download_that_was_given_up_is_continued_by_the_next_run(server, client, tmp_path, pauses):
    listed(server)
    message = interrupted(server, tmp_path, dump(server), client)
    assert "given up after 4 tries" in message
    assert "cut at 60,000 of 300,000 bytes" in message
    assert "run the same command again" in message
    assert (tmp_path / "dump.json.gz.part").stat().st_size == 60_000
    # Doubled each time, times a random factor between 0.75 and 1.25.
    assert [round(pause / 2**k) in (1, 2, 3) for k, pause in enumerate(pauses)] == [True] * 3
    fetched(tmp_path, dump(server), client)
    assert server.gets(PATH)[-1].start == 60_000


SIGNED = "?X-Amz-Credential=me%2F2026&X-Amz-Signature=5ec2e7"


@pytest.mark.parametrize("login", ["", "me:5ec2e7@"])
def test_no_message_and_no_file_has_the_secret_of_an_address(server, tmp_path, capfd, monkeypatch, login):
    """Of a download that is cut, continued with another signature, and refused."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path / "tmp"))
    (tmp_path / "tmp").mkdir()
    address = server.url.replace("http://", f"HTTP://{login}") + PATH
    server.files |= {PATH + SIGNED: BODY, PATH + SIGNED.replace("7", "7f"): BODY}
    server.faults[PATH + SIGNED] = [Fault(cut=60_000), Fault(status=403)]
    # A signature is that of one file, so the checksums beside it may be refused.
    server.files[SUMS], server.always[SUMS] = b"", Fault(status=403)
    for _ in range(2):
        assert main(line(tmp_path, address + SIGNED, "--tries=1")) == 1
    assert len(list(tmp_path.glob("dump.json.gz.part*"))) == 2
    held = [path for path in tmp_path.rglob("*") if path.is_file()]
    assert all(b"5ec2e7" not in path.read_bytes() and "5ec2e7" not in path.name for path in held)
    assert main(line(tmp_path, address + SIGNED.replace("7", "7f"), "--tries=1")) == 0
    assert (tmp_path / "dump.json.gz").read_bytes() == BODY
    assert server.gets(PATH + SIGNED.replace("7", "7f"))[0].start == 60_000
    assert not any("5ec2e7" in path.name for path in tmp_path.rglob("*"))
    said = "".join(capfd.readouterr())
    assert "X-Amz-Signature=[key]: given up" in said
    assert "5ec2e7" not in said


def test_a_server_without_ranges_sends_the_whole_file_again_or_is_given_up(server, client, tmp_path, capsys):
    listed(server)
    server.ranges = False
    server.faults[PATH] = [Fault(cut=200_000), Fault(cut=100_000)]
    fetched(tmp_path, dump(server), client)
    assert [asked.sent for asked in server.gets(PATH)] == [200_000, 100_000, 300_000]
    assert "from its start again" in capsys.readouterr().err
    (tmp_path / "dump.json.gz").unlink()
    server.always[PATH] = Fault(cut=100_000)
    assert "given up" in refused(tmp_path, dump(server), client)
    assert len(server.gets(PATH)) <= 3 + 8


def test_a_wrong_checksum_deletes_the_file_and_is_reported(server, client, tmp_path, capsys):
    listed(server, "a" * 40)
    assert main(line(tmp_path, f"{server.url}{PATH}")) == 1
    # `factdrift refresh` knows by these words that waiting does not help.
    damaged = f"factdrift: damaged dump: {server.url}{PATH}: the SHA1 of the file is {SHA1}, the published"
    assert f"{damaged} one is {'a' * 40}." in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    listed(server)
    fetched(tmp_path, dump(server), client)


def test_what_the_registry_says_comes_first(server, client, tmp_path):
    listed(server, "a" * 40)
    message = refused(tmp_path, dump(server, digests={"md5": MD5}, size=299_999), client)
    assert all(size in message for size in ("300,000", "299,999"))
    assert not list(tmp_path.iterdir())
    fetched(tmp_path, dump(server, digests={"md5": MD5}, size=300_000), client)
    assert {asked.path for asked in server.asked} == {PATH}


def test_an_archive_that_the_server_compresses_again_is_refused(server, client, tmp_path):
    server.headers["Content-Encoding"] = "gzip"
    server.files[PATH] = gzip.compress(BODY)
    server.always[PATH] = Fault(drip=(1000, 0.0))
    message = refused(tmp_path, dump(server), client)
    assert "compressed the archive once more (Content-Encoding: gzip)" in message
    assert not list(tmp_path.iterdir())
    # Some servers give an archive's own compression this name.
    server.files[PATH] = BODY
    fetched(tmp_path, dump(server), client)


def test_a_missing_file_is_taken_from_the_mirror(server, client, tmp_path, capsys):
    item = f"/download/wikibase-wikidatawiki-20210104/{NAME}"
    server.files[item] = server.files.pop(PATH)
    server.files["/download/wikibase-wikidatawiki-20210104/wikibase-wikidatawiki-20210104_files.xml"] = (
        f"<files><file name='other'><sha1>{'b' * 40}</sha1></file>"
        f"<file name='{NAME}'><size>300000</size><md5>{MD5}</md5><sha1>{SHA1}</sha1></file></files>"
    ).encode()
    assert published(client, server.url + item) == (300_000, {"sha1": SHA1, "md5": MD5})
    fetched(tmp_path, dump(server, PATH, item), client)
    assert len(server.gets(PATH)) == 1
    assert "300,000 bytes, SHA1 and MD5 checked" in capsys.readouterr().err


@pytest.mark.parametrize(("digests", "start"), [({"sha1": SHA1}, 60_000), ({}, 0)])
def test_a_part_is_continued_at_the_mirror_if_there_is_a_checksum(server, client, tmp_path, digests, start):
    server.files["/mirror/" + NAME] = BODY
    both = dump(server, PATH, "/mirror/" + NAME, digests=digests)
    interrupted(server, tmp_path, both, client)
    del server.files[PATH]
    fetched(tmp_path, both, client)
    assert [asked.start for asked in server.gets("/mirror/" + NAME)] == [start]


def test_a_file_that_no_server_has_is_reported_and_the_part_kept(server, client, tmp_path):
    interrupted(server, tmp_path, dump(server), client)
    del server.files[PATH]
    nowhere = replace(dump(server, PATH, "/mirror"), date="2021-01-06")
    message = refused(tmp_path, nowhere, client)
    assert f"{server.url}{PATH} or {server.url}/mirror" in message
    assert "2021-01-04, 2021-01-11" in message
    assert (tmp_path / "dump.json.gz.part").stat().st_size == 60_000


@pytest.mark.parametrize("validators", [True, False])
def test_a_file_that_has_changed_between_runs_is_fetched_again(server, client, tmp_path, validators):
    server.validators = validators
    server.files[PATH] = BODY[:-1000] + b"y" * 999
    interrupted(server, tmp_path, dump(server), client)
    server.files[PATH] = BODY
    fetched(tmp_path, dump(server), client)


def test_a_busy_server_is_waited_for(server, client, tmp_path, pauses):
    waits = {429: {"Retry-After": "7"}, 503: {"Retry-After": "Fri, 31 Dec 1999 23:59:59 GMT"}, 500: {}}
    server.faults[PATH] = [Fault(status=status, headers=headers) for status, headers in waits.items()]
    fetched(tmp_path, dump(server), client)
    assert len(pauses) == 3
    assert pauses[0] >= 7


@pytest.mark.parametrize(
    ("path", "fault", "words"),
    [
        (PATH, Fault(status=429, headers={"Retry-After": "86400"}), ["come back in 86,400 s"]),
        (PATH, Fault(status=403), [PATH, "403", "a word about the reason"]),
        # Checksums that are refused are not taken for missing ones.
        (SUMS, Fault(status=403), [SUMS, "403"]),
    ],
)
def test_what_waiting_does_not_help_ends_the_download(server, client, tmp_path, pauses, path, fault, words):
    listed(server)
    server.always[path] = fault
    message = refused(tmp_path, dump(server), client)
    assert all(word in message for word in words)
    assert not pauses


def begun(server: Server, folder: Path, data: bytes, size: int) -> None:
    """What an earlier download, of a file of this size, has left."""
    (folder / "dump.json.gz.part").write_bytes(data)
    account = {"url": server.url + PATH, "bytes": size, "validator": ""}
    (folder / "dump.json.gz.part.json").write_text(json.dumps(account))


def test_a_part_that_another_process_completes_before_it_is_locked_is_left_alone(
    server, client, tmp_path, monkeypatch
):
    output = tmp_path / "dump.json.gz"
    begun(server, tmp_path, BODY, len(BODY))

    def locked_late(file, path):
        path.replace(output)
        return try_lock(file, path)

    monkeypatch.setattr(module, "try_lock", locked_late)
    with pytest.raises(InputError, match="another process downloads this file, or has just ended"):
        download(dump(server), output, client)
    assert output.read_bytes() == BODY


@pytest.mark.parametrize(
    ("fault", "least", "said"),
    [(Fault(hold=100_000), 100_000, "no answer in time"), (Fault(drip=(100, 0.05)), 100, "only ")],
)
def test_silence_or_a_slow_drip_is_cut_off_and_resumed(server, tmp_path, pauses, capsys, fault, least, said):
    client = Client(CONTACT, limits=Limits(timeout=0.5, slowest=10_000), sleep=pauses.append)
    server.faults[PATH] = [fault]
    fetched(tmp_path, dump(server), client)
    assert server.gets(PATH)[1].start >= least
    assert f"{PATH}: {said}" in capsys.readouterr().err


def test_a_part_that_is_complete_or_longer_than_the_file(server, client, tmp_path):
    listed(server)
    begun(server, tmp_path, BODY, len(BODY))
    fetched(tmp_path, dump(server), client)
    assert not server.gets(PATH)
    (tmp_path / "dump.json.gz").unlink()
    # A length that is no number counts as none.
    server.lengths, server.headers["Content-Length"] = False, "²"
    begun(server, tmp_path, b"\x1f\x8b" + b"z" * 400_000, 500_000)
    fetched(tmp_path, dump(server), client)
    assert [asked.start for asked in server.gets(PATH)] == [400_002, 0]
    (tmp_path / "dump.json.gz").unlink()
    server.always[PATH] = Fault(status=416)
    begun(server, tmp_path, BODY[:1000], len(BODY))
    assert "refuses with status 416" in refused(tmp_path, dump(server), client)
    assert len(server.gets(PATH)) <= 4


def test_an_empty_file_is_no_dump(server, client, tmp_path):
    server.lengths = False
    begun(server, tmp_path, b"z" * 1000, 2000)
    server.files[PATH] = b""
    assert f"{PATH}: 0 bytes came" in refused(tmp_path, dump(server), client)


@pytest.mark.parametrize("place", ["http://[none", "/\xff"])
def test_a_redirect_to_what_is_no_address_is_an_error(server, client, tmp_path, place):
    server.moved[PATH] = place
    assert f"{PATH}: no request can be sent (" in refused(tmp_path, dump(server), client)


def test_a_web_page_in_place_of_the_archive_is_refused_and_a_part_kept(server, client, tmp_path):
    page = b"<html>please log in</html>" * 1000
    for sent in (page, gzip.compress(page)):  # as a proxy sends it, with Content-Encoding
        server.files[PATH] = sent
        assert "begins with b'<html>please log in" in refused(tmp_path, dump(server), client)
        assert not list(tmp_path.iterdir())
    server.files[PATH] = BODY
    interrupted(server, tmp_path, dump(server), client)
    server.files[PATH] = page
    assert "begins with" in refused(tmp_path, dump(server), client)
    server.files[PATH] = BODY
    fetched(tmp_path, dump(server), client)
    assert server.gets(PATH)[-1].start == 60_000


def test_a_file_that_is_there_already_stays(server, client, tmp_path):
    (tmp_path / "dump.json.gz").write_bytes(b"")
    with pytest.raises(InputError, match=r"dump\.json\.gz: is there already; remove the file"):
        download(dump(server), tmp_path / "dump.json.gz", client)
    assert not server.gets(PATH)


def test_a_disk_that_is_too_small_is_reported_before_the_download(server, client, tmp_path, monkeypatch):
    monkeypatch.setattr(module.shutil, "disk_usage", lambda path: SimpleNamespace(free=100_000))
    assert "0.00 GB free" in refused(tmp_path, dump(server), client)
    assert not list(tmp_path.iterdir())


def test_a_disk_that_fills_up_keeps_the_part(server, client, tmp_path, monkeypatch):
    class Full(io.FileIO):
        """A file on a disk of 150,000 bytes."""

        def write(self, data):
            room = 150_000 - self.tell()
            if room <= 0:
                raise OSError(errno.ENOSPC, "No space left on device")
            return super().write(data[:room])

    listed(server)
    with monkeypatch.context() as full:
        full.setattr(os, "fdopen", lambda descriptor, mode, buffering: Full(descriptor, mode))
        with pytest.raises(OSError, match=r"No space left on device: .*dump\.json\.gz\.part") as error:
            download(dump(server), tmp_path / "dump.json.gz", client)
    assert is_full(error.value)
    assert (tmp_path / "dump.json.gz.part").stat().st_size == 150_000
    fetched(tmp_path, dump(server), client)
    assert server.gets(PATH)[-1].start == 150_000


def test_a_part_of_another_program_is_left_as_it_is(server, client, tmp_path):
    """Browsers give their unfinished files the same name."""
    (tmp_path / "dump.json.gz.part").write_bytes(b"z" * 1000)
    assert "was begun by another program" in refused(tmp_path, dump(server), client)
    assert (tmp_path / "dump.json.gz.part").read_bytes() == b"z" * 1000
    assert not server.asked


NEWER = b"\x1f\x8b" + bytes(reversed(BODY[2:]))
"""A file of the same size."""


@pytest.mark.parametrize("fault", ["heeds_if_range", "weak"])
def test_a_file_that_is_replaced_in_the_middle_is_fetched_from_its_start(server, client, tmp_path, fault):
    setattr(server, fault, fault == "weak")
    server.faults[PATH] = [Fault(cut=100_000), Fault(cut=50_000, then=NEWER)]
    download(dump(server), tmp_path / "dump.json.gz", client)
    assert (tmp_path / "dump.json.gz").read_bytes() == NEWER
    assert [asked.start for asked in server.gets(PATH)][:3] == [0, 100_000, 150_000]


def test_with_a_checksum_another_entity_tag_does_not_matter(server, client, tmp_path):
    server.heeds_if_range = False
    server.faults[PATH] = [Fault(cut=100_000), Fault(cut=50_000)]

    class Salt:
        """Another tag in each response, as servers of one name may send."""

        def __format__(self, form):
            return str(len(server.asked))

    server.salt = Salt()
    fetched(tmp_path, dump(server, digests={"sha1": SHA1}), client)
    assert [asked.start for asked in server.gets(PATH)] == [0, 100_000, 150_000]


def test_a_killed_download_is_continued_without_fetching_a_byte_twice(server, client, tmp_path, capsys):
    """And until it is killed, no other one of the same file begins."""
    part = tmp_path / "dump.json.gz.part"
    server.faults[PATH] = [Fault(hold=100_000)]
    program = "import sys; from factdrift.cli import main; sys.exit(main(sys.argv[1:]))"
    command = [sys.executable, "-c", program, *line(tmp_path, f"{server.url}{PATH}#sha1={SHA1}")]
    process = subprocess.Popen(command, stderr=subprocess.DEVNULL)
    wait_until(lambda: part.exists() and part.stat().st_size >= 50_000, process)
    known = dump(server, digests={"sha1": SHA1})
    assert "another process" in refused(tmp_path, known, client)
    process.kill()
    process.wait()
    kept = part.stat().st_size
    assert 50_000 <= kept < len(BODY)
    fetched(tmp_path, known, client)
    assert "which have arrived already" in capsys.readouterr().err
    assert [(asked.start, asked.sent) for asked in server.gets(PATH)[1:]] == [(kept, len(BODY) - kept)]


def test_downloads_share_one_connection_per_host(server, client, tmp_path, capsys):
    paths = [f"/{k}.json.gz" for k in range(3)]
    for path in paths:
        server.files[path] = BODY
        server.always[path] = Fault(drip=(100_000, 0.05))
    threads = [
        threading.Thread(target=download, args=(dump(server, path), tmp_path / path[1:], client))
        for path in paths
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST)
    assert [(tmp_path / path[1:]).read_bytes() == BODY for path in paths] == [True] * 3
    turns = sorted((asked.began, asked.ended) for asked in server.asked)
    assert all(ended < began for (_, ended), (began, _) in itertools.pairwise(turns))
    assert "waits for another download" in capsys.readouterr().err
