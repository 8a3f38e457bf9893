"""Locks and names of unfinished files where several machines (support/nodes.py) share a folder."""

import errno
import fcntl
import os
import sys
import tempfile
from pathlib import Path

import pytest
from support.nodes import Node, why_no_nodes

from factdrift.core.errors import InputError
from factdrift.core.owned import file_lock, private_folder
from factdrift.runs.leftovers import sweep
from factdrift.snapshots import download

HOLDING = """
import sys, time
from pathlib import Path
from factdrift.core.owned import file_lock
from factdrift.core.owned import atomic_path

with file_lock(Path(sys.argv[1]) / "lock"), atomic_path(Path(sys.argv[1]) / "table") as part:
    part.write_text("half")
    print(part.name, flush=True)
    time.sleep(600)
"""
TRYING = """
import sys
from pathlib import Path
from factdrift.core.owned import file_lock
from factdrift.runs.leftovers import sweep

print("swept", *sweep(Path(sys.argv[1])), flush=True)
with file_lock(Path(sys.argv[1]) / "lock", lambda: print("waits", flush=True)):
    print("has it", flush=True)
"""


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


def test_a_file_system_without_locks_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    numbers = [errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP, errno.EIO]

    def flock(file: object, how: int) -> None:
        raise OSError(numbers[0], os.strerror(numbers[0]))

    monkeypatch.setattr(fcntl, "flock", flock)
    while numbers:
        of_disk = numbers[0] == errno.EIO
        kind, said = (OSError, "Input/output") if of_disk else (InputError, "does not lock files")
        for locked in (file_lock(tmp_path / "lock"), download._part(tmp_path / "dump.json.gz")):
            with pytest.raises(kind, match=said), locked:
                pass
        del numbers[0]


@pytest.mark.system
@pytest.mark.skipif(bool(why_no_nodes()), reason=why_no_nodes())
@pytest.mark.parametrize("other", ["two", "one"])
def test_two_nodes_that_share_one_folder(other: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A lock of one holds the other back until its process dies; neither removes what the other writes, also
    where both have one name, as containers may."""
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path))  # others may have left unfinished files in theirs
    shared = tmp_path / "shared"
    shared.mkdir()
    first, second = (Node(name, tmp_path) for name in ("one", other))
    holder = first.start([sys.executable, "-c", HOLDING, str(shared)])
    waiter = None
    try:
        assert holder.stdout is not None
        part = holder.stdout.readline().strip()
        assert part.startswith(".table.factdrift-one_")
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
