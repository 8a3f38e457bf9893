"""Locks and names of unfinished files where several machines share a folder.

Namespaces of the kernel make the machines: each has its own host name, process numbers and scratch.
"""

import errno
import fcntl
import os
import sys
import tempfile
import threading
from pathlib import Path

import pytest
from support.nodes import Node, why_no_nodes

from factdrift.core.errors import InputError
from factdrift.core.nodes import file_lock, node, private_folder, writer
from factdrift.runs.sweep import sweep
from factdrift.snapshots import download

HOLDING = """
import sys, time
from pathlib import Path
from factdrift.core.nodes import file_lock
from factdrift.core.owned import atomic_path

with file_lock(Path(sys.argv[1]) / "lock"), atomic_path(Path(sys.argv[1]) / "table") as part:
    part.write_text("half")
    print(part.name, flush=True)
    time.sleep(600)
"""
TRYING = """
import sys
from pathlib import Path
from factdrift.core.nodes import file_lock
from factdrift.runs.sweep import sweep

print("swept", *sweep(Path(sys.argv[1])), flush=True)
with file_lock(Path(sys.argv[1]) / "lock", lambda: print("waits", flush=True)):
    print("has it", flush=True)
"""


def test_a_lock_is_held_by_one_at_a_time(tmp_path: Path) -> None:
    waiting, entered = threading.Event(), threading.Event()

    def wait() -> None:
        with file_lock(tmp_path / "new" / "lock", waiting.set):
            entered.set()

    thread = threading.Thread(target=wait)
    with file_lock(tmp_path / "new" / "lock"):
        thread.start()
        assert waiting.wait(60)
        assert not entered.is_set()
    thread.join(60)
    assert entered.is_set()


def test_the_folder_of_locks_is_the_users_own(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever knows its name and makes it first can neither read nor lead the locks elsewhere."""
    monkeypatch.setattr(tempfile, "tempdir", str(tmp_path))
    folder = private_folder("connections")
    assert private_folder("connections") == folder
    assert folder.stat().st_mode & 0o777 == 0o700
    folder.chmod(0o755)
    with pytest.raises(InputError, match="others can enter it; run `chmod 700"):
        private_folder("connections")
    folder.rmdir()
    (tmp_path / "elsewhere").mkdir(mode=0o700)
    folder.symlink_to(tmp_path / "elsewhere")
    with pytest.raises(InputError, match="is not a folder of this user's"):
        private_folder("connections")
    folder.unlink()
    folder.mkdir(mode=0o700)
    monkeypatch.setattr(os, "getuid", lambda: 12345)
    folder.rename(tmp_path / "factdrift-connections-12345")
    with pytest.raises(InputError, match="is not a folder of this user's"):
        private_folder("connections")


@pytest.mark.parametrize(
    ("number", "error", "said"),
    [
        *(
            (each, InputError, "does not lock files")
            for each in (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)
        ),
        (errno.EIO, OSError, os.strerror(errno.EIO)),
    ],
)
def test_a_file_system_without_locks_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, number: int, error: type[Exception], said: str
) -> None:
    def flock(file: object, how: int) -> None:
        raise OSError(number, os.strerror(number))

    monkeypatch.setattr(fcntl, "flock", flock)
    for locked in (file_lock(tmp_path / "lock"), download._part(tmp_path / "dump.json.gz")):
        with pytest.raises(error, match=said), locked:
            pass


def test_the_name_of_a_writer() -> None:
    assert writer() == f"{node()}-{os.getpid()}"
    assert node().replace("_", "").isalnum()


@pytest.mark.system
@pytest.mark.skipif(bool(why_no_nodes()), reason=why_no_nodes())
def test_two_nodes_that_share_one_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock of one holds the other back until its process dies; neither removes what the other writes."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # others may have left unfinished files in theirs
    shared = tmp_path / "shared"
    shared.mkdir()
    first, second = (Node(name, tmp_path) for name in ("one", "two"))
    holder = first.start([sys.executable, "-c", HOLDING, str(shared)])
    waiter = None
    try:
        assert holder.stdout is not None
        part = holder.stdout.readline().strip()
        assert part.startswith(".table.factdrift-one-")
        waiter = second.start([sys.executable, "-c", TRYING, str(shared)])
        assert waiter.stdout is not None
        assert [waiter.stdout.readline().strip() for _ in range(2)] == ["swept 0 0.0", "waits"]
        assert sweep(shared) == (0, 0)
        first.kill(holder)
        assert waiter.stdout.readline().strip() == "has it"
        assert waiter.wait(60) == 0
        assert (shared / part).read_text() == "half"
    finally:
        for each in filter(None, (holder, waiter)):
            each.kill()
