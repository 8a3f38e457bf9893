"""Full disks: recognition and message; files of killed runs: which are removed."""

import errno
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from unittest import mock

import duckdb
import psutil
import pytest

from factdrift.core.exhausted import full, is_full
from factdrift.core.owned import WRITER, atomic_path, node, unfinished, writer
from factdrift.runs import leftovers
from factdrift.runs.leftovers import FORGOTTEN, sweep

IO = '{"exception_message":"Could not write file \\"%s\\": No space left on device","errno":"28"}'
SPILL = (
    "Out of Memory Error: failed to offload data block of size 256.0 KiB (96.0 KiB/230.3 KiB used).\n"
    "This limit was set by the 'max_temp_directory_size' setting."
)


def test_full_disks_are_recognised():
    for error, expected in (
        (OSError(errno.ENOSPC, "No space left on device"), True),
        (OSError(errno.EDQUOT, "Disk quota exceeded"), True),
        (OSError("1000000 requested and 32752 written"), True),
        (OSError(errno.EACCES, "Permission denied"), False),
        (duckdb.OutOfMemoryException("could not allocate block of size 256 KiB"), False),
        (ValueError("full"), False),
    ):
        assert is_full(error) == expected, error


def test_what_could_not_be_written_is_named(tmp_path, spills):
    with pytest.raises(OSError, match="No space left") as error, atomic_path(tmp_path / "sub" / "a.npy"):
        raise OSError("1000 requested and 10 written")
    said = full(error.value)
    assert f"{tmp_path}/sub could not hold a.npy" in said
    assert "make this folder a link" in said
    assert "MB are free there" in said
    assert not list((tmp_path / "sub").iterdir())
    for error in (
        duckdb.OutOfMemoryException(SPILL),
        duckdb.IOException(IO % (spills / "x" / "spill.tmp")),
    ):
        assert is_full(error)
        said = full(error)
        assert f"{spills} could not hold" in said
        assert "let TMPDIR name a folder" in said


@pytest.fixture
def gone():
    """The number of a process that has ended."""
    process = subprocess.Popen(["true"])
    process.wait()
    return process.pid


@pytest.fixture
def spills(tmp_path, monkeypatch):
    """An empty folder for what is temporary."""
    folder = tmp_path / "tmp"
    folder.mkdir()
    monkeypatch.setattr(tempfile, "tempdir", str(folder))
    return folder


def temporary(folder, process, where=None, started=None):
    """A temporary folder that a process has made, as `owned.scratch` makes it."""
    folder.mkdir(parents=True)
    started = time.time() if started is None else started
    about = {"node": where or node(), "process": process, "started": started}
    (folder / WRITER).write_text(json.dumps(about))
    return folder


def part(path, process, where=None):
    """The name of an unfinished file of a process."""
    return path.with_name(f".{path.name}.factdrift-{where or node()}-{process}.part")


def test_sweep_removes_files_of_killed_processes_only(tmp_path, spills, gone):
    results = tmp_path / "results"
    (results / "deep").mkdir(parents=True)
    stays = [
        *(results / "deep" / name for name in ("a.parquet", "dump.json.gz.part", ".b.part")),
        unfinished(results / "deep" / "a"),
        *(results / f".{name}.{node()}-{gone}.part" for name in ("photos", "disc")),
        *(spills / name for name in (f"factdrift-{writer()}-x", f"other-{node()}-{gone}-x")),
    ]
    goes = [part(results / "deep" / "a.parquet", gone), spills / f"factdrift-{node()}-{gone}-abc_1"]
    for path in (*stays, *goes[:1]):
        path.write_bytes(b"x" * 1000)
    (temporary(goes[1], gone) / "deeper").mkdir()
    (goes[1] / "deeper" / "block").write_bytes(b"x" * (500 - (goes[1] / WRITER).stat().st_size))
    folder = part(results / "shard", gone)
    folder.mkdir()
    part(folder / "a", gone).write_bytes(b"x" * 250)
    assert sweep(results) == (3, 1750)
    assert not folder.exists()
    assert [path.exists() for path in (*stays, *goes)] == [True] * len(stays) + [False] * len(goes)
    assert sweep(results) == (0, 0)
    assert sweep(tmp_path / "nothing") == (0, 0)


def test_sweep_removes_what_a_zombie_left(tmp_path, spills):
    """A killed process whose parent never asks for its end keeps its number, but writes no more."""
    killed = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    part(tmp_path / "a", killed.pid).write_bytes(b"x" * 10)
    assert sweep(tmp_path) == (0, 0)
    killed.kill()
    os.waitid(os.P_PID, killed.pid, os.WEXITED | os.WNOWAIT)
    assert sweep(tmp_path) == (1, 10)
    killed.wait()


def test_sweep_removes_what_is_older_than_the_process_of_its_number(tmp_path, spills):
    path, began = unfinished(tmp_path / "a"), psutil.Process().create_time()
    path.write_bytes(b"x" * 10)
    mine = temporary(spills / "factdrift-mine", os.getpid(), started=began)
    earlier = temporary(spills / "factdrift-earlier", os.getpid(), started=began - 10)
    assert sweep(tmp_path)[0] == 1
    assert (mine.exists(), earlier.exists()) == (True, False)
    os.utime(path, (began - 10, began - 10))
    assert sweep(tmp_path) == (1, 10)


def test_sweep_leaves_what_another_node_may_be_writing(tmp_path, spills, gone):
    path, folder = (part(tmp_path / name, gone, "elsewhere") for name in "ab")
    path.write_bytes(b"x" * 10)
    folder.mkdir()
    (folder / "a").write_bytes(b"x" * 5)
    assert sweep(tmp_path) == (0, 0)
    before = time.time() - FORGOTTEN - 1
    os.utime(path, (before, before))
    os.utime(folder, (before, before))
    assert sweep(tmp_path) == (1, 10)
    os.utime(folder / "a", (before, before))
    assert sweep(tmp_path) == (1, 5)


@pytest.mark.parametrize("when", ["before it is measured", "before it is removed"])
def test_sweep_ignores_files_that_vanish_or_are_of_another_user(tmp_path, monkeypatch, spills, gone, when):
    folder = temporary(spills / "factdrift-a", gone)
    (folder / "block").write_bytes(b"x" * 10)
    (spills / "factdrift-link").symlink_to(tmp_path / "nothing")
    module, name = (psutil, "Process") if when == "before it is measured" else (shutil, "rmtree")
    real = getattr(module, name)
    remove = shutil.rmtree
    with monkeypatch.context() as other:  # a folder of another user
        other.setattr(leftovers, "remove_unfinished", mock.Mock(side_effect=PermissionError))
        assert sweep(tmp_path / "results") == (0, 0)

    def after_another(*arguments):
        remove(folder)
        return real(*arguments)

    monkeypatch.setattr(module, name, after_another)
    assert sweep(tmp_path / "results") == (0, 0)
    assert not folder.exists()


def test_sweep_leaves_folders_and_links_of_a_user(tmp_path, spills, gone):
    """Folders with names that begin like ours, a day old, and links to folders of ours."""
    names = ("factdrift-results-2021-01-04_2023-02-27", f"factdrift-{node()}-{gone}-notes")
    kept = [spills / name for name in names]
    for folder in kept:
        folder.mkdir()
        (folder / "notes.txt").write_text("mine")
    (kept[1] / WRITER).write_text("no JSON")
    elsewhere = temporary(tmp_path / "elsewhere", gone)
    links = [spills / "factdrift-x-1-link", part(tmp_path / "link", gone)]
    for link in links:
        link.symlink_to(elsewhere)
    before = time.time() - FORGOTTEN - 1
    for path in (*kept, *(folder / "notes.txt" for folder in kept)):
        os.utime(path, (before, before))
    assert sweep(tmp_path) == (0, 0)
    assert all((folder / "notes.txt").read_text() == "mine" for folder in kept)
    assert elsewhere.exists()
    assert all(link.is_symlink() for link in links)
