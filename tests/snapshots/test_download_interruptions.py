"""Downloads that are killed, fill the disk, or whose file is replaced, and how the next one continues."""

import errno
import io
import itertools
import os
import signal
import subprocess
import sys
import threading
from types import SimpleNamespace

import pytest
from support.downloads import BODY, CONTACT, PATH, SHA1, dump, fetched, listed, refused
from support.server import Fault
from support.waiting import LONGEST, wait_until

from factdrift.core.disk import is_full
from factdrift.snapshots import download as download_module
from factdrift.snapshots.download import download


def test_a_disk_that_is_too_small_is_reported_before_the_download(server, client, tmp_path, monkeypatch):
    monkeypatch.setattr(download_module.shutil, "disk_usage", lambda path: SimpleNamespace(free=100_000))
    message = refused(tmp_path, dump(server), client)
    assert "0.00 GB free" in message
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


@pytest.mark.parametrize("fault", ["heeds_if_range", "weak", "both"])
def test_a_file_that_is_replaced_in_the_middle_is_fetched_from_its_start(server, client, tmp_path, fault):
    server.heeds_if_range = fault not in ("heeds_if_range", "both")
    server.weak = fault in ("weak", "both")
    server.faults[PATH] = [Fault(cut=100_000), Fault(cut=50_000, then=NEWER)]
    download(dump(server), tmp_path / "dump.json.gz", client)
    assert (tmp_path / "dump.json.gz").read_bytes() == NEWER
    assert [asked.start for asked in server.gets(PATH)][:3] == [0, 100_000, 150_000]


def test_with_a_checksum_another_entity_tag_does_not_matter(server, client, tmp_path):
    server.heeds_if_range = False
    server.faults[PATH] = [Fault(cut=100_000), Fault(cut=50_000)]
    tags = itertools.count()

    class Salt:
        """Another tag in each response, as servers of one name may send."""

        def __format__(self, form):
            return str(next(tags))

    server.salt = Salt()
    fetched(tmp_path, dump(server, digests={"sha1": SHA1}), client)
    assert [asked.start for asked in server.gets(PATH)] == [0, 100_000, 150_000]


def test_a_killed_download_is_continued_without_fetching_a_byte_twice(server, client, tmp_path, capsys):
    """And until it is killed, no other one of the same file begins."""
    part = tmp_path / "dump.json.gz.part"
    server.faults[PATH] = [Fault(hold=100_000)]
    program = "import sys; from factdrift.cli import main; sys.exit(main(sys.argv[1:]))"
    line = ["dumps", "download", "2021-01-04", "--output", tmp_path / "dump.json.gz", "--contact", CONTACT]
    line += ["--url", f"{server.url}{PATH}#sha1={SHA1}"]
    process = subprocess.Popen([sys.executable, "-c", program, *line], stderr=subprocess.DEVNULL)
    wait_until(lambda: part.exists() and part.stat().st_size >= 50_000, process)
    known = dump(server, digests={"sha1": SHA1})
    assert "another process" in refused(tmp_path, known, client)
    os.kill(process.pid, signal.SIGKILL)
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
