"""Several machines that share folders: the machine's name in the names of files, and locks between them."""

import contextlib
import errno
import fcntl
import os
import re
import stat
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import IO

from factdrift.core.errors import InputError

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


def node() -> str:
    """The name of this machine, as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_]", "_", os.uname().nodename)


def writer() -> str:
    """`NODE-PID`: names this process among those of all machines, in the names of its unfinished files."""
    return f"{node()}-{os.getpid()}"


def private_folder(name: str) -> Path:
    """A folder under TMPDIR that only this user can enter, made if there is none; for locks.

    Its name is no secret, so others may have made it first. Raises InputError if it is not this user's, is
    open to others, or is no folder.
    """
    folder = Path(tempfile.gettempdir()) / f"factdrift-{name}-{os.getuid()}"
    with contextlib.suppress(FileExistsError):
        folder.mkdir(mode=0o700)
    status = folder.lstat()
    if not stat.S_ISDIR(status.st_mode) or status.st_uid != os.getuid():
        raise InputError(
            f"{folder}: is not a folder of this user's, which the locks need; remove it, or let TMPDIR name "
            "a folder of your own"
        )
    if stat.S_IMODE(status.st_mode) & 0o077:
        raise InputError(f"{folder}: others can enter it; run `chmod 700 {folder}`")
    return folder


@contextlib.contextmanager
def file_lock(path: Path, before_waiting: Callable[[], None] = lambda: None) -> Iterator[None]:
    """Waits until no other process holds the lock `path`; the kernel releases it if its holder dies.

    On NFS the lock holds between machines, because Linux asks the server for it. Raises InputError on a file
    system without locks.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as file:  # empties no file of the same name
        if not try_lock(file, path):
            before_waiting()
            _flock(file, path, fcntl.LOCK_EX)
        yield


def try_lock(file: IO[str] | IO[bytes], path: Path) -> bool:
    """Locks an open file, or returns False if another process holds its lock.

    Raises InputError on a file system without locks, instead of working without any.
    """
    with contextlib.suppress(BlockingIOError):
        _flock(file, path, fcntl.LOCK_EX | fcntl.LOCK_NB)
        return True
    return False


def _flock(file: IO[str] | IO[bytes], path: Path, how: int) -> None:
    try:
        fcntl.flock(file, how)
    except OSError as error:
        if error.errno not in _NO_LOCKS:
            raise
        raise InputError(
            f"{path}: this file system does not lock files ({os.strerror(error.errno or 0)}), so two jobs "
            "could write the same one. Mount it with locks (NFS without `nolock`, Lustre with `flock`), or "
            "work in another folder; for temporary files, let TMPDIR name one on a local disk"
        ) from None
