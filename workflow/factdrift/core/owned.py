"""Files and folders that factdrift replaces and removes: only those that it can show to be its own.

What shows it: a folder holds a list of the files that were written to it (LIST), a temporary folder the
process that made it (WRITER), and an unfinished file has a name that nobody else gives (`unfinished`). No
other module removes or replaces a folder that a user can name. Several machines may share folders: the
machine's name is part of the names of files, and locks hold between machines.
"""

import contextlib
import errno
import fcntl
import fnmatch
import json
import os
import re
import shutil
import stat
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import IO

from factdrift.core.errors import InputError
from factdrift.core.exhausted import is_full
from factdrift.core.outputs import final_path, is_special, pour

LIST = ".factdrift-files"
"""The list of a folder: a JSON array a line, with the path of a file from the folder, and its size in bytes
(null for a file that may change)."""

WRITER = ".factdrift-writer"
"""The file in a temporary folder that says who made it: JSON with `node`, `process` and `started`, the
time at which the folder was made in seconds since 1970."""

_UNFINISHED = re.compile(r"\..+\.factdrift-(\w+)-(\d+)\.part")
_SNAKEMAKE = ".snakemake_timestamp"
"""What Snakemake adds to every folder that is an output of a job."""

_TRIES = 100
"""How often a folder is put in the place of another that a further process has just put there."""

_HOST = 0xEFFFFFFC
"""Linux's number of the namespace of processes outside all containers."""

_NO_LOCKS = (errno.ENOLCK, errno.ENOSYS, errno.EOPNOTSUPP)


def machine() -> str:
    """The name of this machine, as part of a file's name."""
    return re.sub(r"[^A-Za-z0-9_]", "_", os.uname().nodename)


def node() -> str:
    """The machine and, in a container, its namespace of process numbers, as part of a file's name.

    Containers may have the name of their host, and see neither its processes nor each other's.
    """
    with contextlib.suppress(OSError):  # on macOS
        if (space := Path("/proc/self/ns/pid").stat().st_ino) != _HOST:
            return f"{machine()}_{space}"
    return machine()


def writer() -> str:
    """`NODE-PID`: names this process among those of all machines, in the names of its unfinished files."""
    return f"{node()}-{os.getpid()}"


def unfinished(path: Path) -> Path:
    """The path beside `path` under which this process writes it; `writer_of_name` reads its name.

    Raises InputError if `path` has no name, as the current folder has none.
    """
    if not path.name:
        raise InputError(f"{path}: has no name that can be written; name a file or a folder in it")
    return path.with_name(f".{path.name}.factdrift-{writer()}.part")


def writer_of_name(name: str) -> tuple[str, int] | None:
    """Machine and process that write an unfinished file of this name; None for any other name."""
    match = _UNFINISHED.fullmatch(name)
    return (match[1], int(match[2])) if match else None


@contextlib.contextmanager
def atomic_path(path: str | Path) -> Iterator[Path]:
    """A temporary path beside `path`, which is renamed to `path` if the block succeeds, else removed.

    A file at `path` is replaced; a folder is not: see `new_folder`. Of a link the target is meant. Into what
    is no regular file (a device, a FIFO) the bytes are written at the end, from a temporary file elsewhere.
    Raises InputError if `path` has no name, or is something that cannot be written.
    """
    path = final_path(Path(path))
    if is_special(path):
        with scratch() as folder:
            yield folder / path.name
            pour(folder / path.name, path)
        return
    path.parent.mkdir(parents=True, exist_ok=True)
    temporary = unfinished(path)
    try:
        remove_unfinished(temporary)  # of a killed process with the number of this one
        yield temporary
        if temporary.is_dir():
            _exchange(temporary, path)
        elif path.is_dir():
            raise InputError(f"{path}: is a folder; name a file")
        else:
            temporary.replace(path)
    except OSError as error:
        number = errno.ENOSPC if is_full(error) else error.errno
        if number in (errno.ENOSPC, errno.EFBIG) and not error.filename:  # errors of open files name no file
            raise OSError(number, os.strerror(number), str(path)) from error
        raise
    finally:
        remove_unfinished(temporary)


def copy_file(source: Path, output: Path) -> None:
    """Copies a finished file; the copy appears only when it is complete."""
    with atomic_path(output) as path:
        shutil.copyfile(source, path)


def remove_unfinished(path: Path) -> None:
    """Removes an unfinished file, or an unfinished or temporary folder with all that is in it."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


@contextlib.contextmanager
def new_folder(folder: Path) -> Iterator[Path]:
    """A temporary folder that gets the name `folder` if the block succeeds, in the place of an earlier one.

    Its files are listed in it, so that the next call can replace it. Raises InputError, before the block, if
    `folder` has anything that such a list does not name.
    """
    folder = folder.resolve()  # it may be a link to a larger disk
    check_folder(folder)
    with atomic_path(folder) as made:
        made.mkdir()
        yield made
        listed = sorted(path for path in _files(made) if path.name != LIST)
        rows = [[path.relative_to(made).as_posix(), path.lstat().st_size] for path in listed]
        text = "".join(f"{json.dumps(row)}\n" for row in rows)
        (made / LIST).write_text(text, encoding="ascii")


def _exchange(made: Path, folder: Path) -> None:
    """Gives a complete folder its final name; an earlier one of ours is moved aside first, and then removed.

    Another process may do the same at any moment: the last one's folder stays. Raises InputError, and leaves
    what is there, if it has anything that is not ours.
    """
    aside = unfinished(folder.with_name(f"{folder.name}.old"))
    for _ in range(_TRIES):
        if _renamed(made, folder):
            return
        check_folder(folder)
        with contextlib.suppress(FileNotFoundError):  # another process has moved it first
            folder.rename(aside)
            is_done = _renamed(made, folder)
            try:
                remove_folder(aside)
            except InputError as error:
                # A name that `factdrift unlock` does not remove.
                kept = folder.with_name(f"{folder.name}.old")
                aside.rename(kept)
                raise InputError(f"{error} (it is {kept} now)") from None
            if is_done:
                return
    raise InputError(f"{folder}: other processes replace it all the time; name another folder")


def _renamed(made: Path, folder: Path) -> bool:
    """Renames a folder, unless one that is not empty has the name."""
    try:
        made.rename(folder)
    except OSError as error:
        if error.errno not in (errno.ENOTEMPTY, errno.EEXIST):
            raise
        return False
    return True


def check_folder(folder: Path, also: Sequence[str] = ()) -> None:
    """Raises InputError that names the first thing in a folder which factdrift has not written there, or
    which has changed since; none for an empty folder, or if there is none.

    `also`: patterns of names from the folder (`*` matches slashes, too) that are ours without a list.
    """
    for _ in range(_TRIES):
        before = _identity(folder)
        fault = "" if before is None else _fault(folder, also)
        if not fault:
            return
        if _identity(folder) == before:
            break
        # Another process has replaced the folder, or removed a file, while it was read.
    raise InputError(f"{folder}: {fault}")


def _identity(path: Path) -> tuple[int, int, int] | None:
    """What tells a file or folder from a later one of the same name; None if there is none."""
    try:
        status = path.lstat()
    except FileNotFoundError:
        return None
    return status.st_dev, status.st_ino, status.st_ctime_ns


def _fault(folder: Path, also: Sequence[str]) -> str:
    """Why a folder is not ours; empty if it is."""
    if not folder.is_dir():
        return "is a file; name a folder"
    try:
        listed = _listed(folder)
        for path in sorted(_files(folder)):
            if path.is_symlink() or not _is_ours(path, folder, listed, also):
                return (
                    f"{path.relative_to(folder)} in it was not written there by factdrift, or has changed "
                    "since, so the folder is not replaced; name another folder, or move the file away"
                )
    except FileNotFoundError as error:
        return f"{error.filename} in it has just been removed; run the same command again"
    return ""


def remove_folder(folder: Path, also: Sequence[str] = ()) -> None:
    """Removes a folder, if there is one; raises InputError as `check_folder`, and then removes nothing.

    Files are removed one by one, so that what another program adds meanwhile stays.
    """
    check_folder(folder, also)
    for path in _files(folder):
        path.unlink(missing_ok=True)
    for above, _, _ in os.walk(folder, topdown=False):
        try:
            Path(above).rmdir()
        except OSError as error:
            if error.errno != errno.ENOTEMPTY:
                raise
            raise InputError(f"{above}: a file has been added meanwhile; the folder stays") from None


def listed_files(folder: Path) -> list[Path]:
    """The files that the lists in a folder and below it name, and that have their sizes."""
    listed = _listed(folder)
    return [path for path in listed if path.is_file() and _is_ours(path, folder, listed, ())]


def claim(folder: Path, names: Iterable[str]) -> None:
    """Makes a folder, if there is none, and lists files that are going to be written there or replaced.

    Raises InputError if one of them exists and was not listed before.
    """
    names = [*names]
    listed = _listed(folder)
    for name in names:
        if os.path.lexists(folder / name) and folder / name not in listed:
            raise InputError(
                f"{folder / name}: was not written by this command, so it is not replaced; name another "
                "folder, or move the file away"
            )
    folder.mkdir(parents=True, exist_ok=True)
    rows = [[name, None] for name in names if folder / name not in listed]
    with (folder / LIST).open("a", encoding="ascii") as file:
        file.write("".join(f"{json.dumps(row)}\n" for row in rows))


def check_unchanged(path: Path, unchanged: Callable[[Path], bool]) -> None:
    """Raises InputError if a file that people edit once it is written is there, and may hold what they wrote.

    `unchanged`: whether it is as the command wrote it.
    """
    if os.path.lexists(path) and not (path.is_file() and unchanged(path)):
        raise InputError(
            f"{path}: has been changed since this command wrote it, or was not written by it, so it is not "
            "replaced; name another file, or move this one away"
        )


@contextlib.contextmanager
def scratch() -> Iterator[Path]:
    """A temporary folder under TMPDIR, named by this process, which it says in WRITER; removed at the end."""
    with tempfile.TemporaryDirectory(prefix=f"factdrift-{writer()}-") as folder:
        about = {"node": node(), "process": os.getpid(), "started": time.time()}
        Path(folder, WRITER).write_text(json.dumps(about) + "\n", encoding="ascii")
        yield Path(folder)


def writer_of_scratch(folder: Path) -> tuple[str, int, float] | None:
    """Machine, process and beginning of a temporary folder of this user's; None for anything else."""
    try:
        status = folder.lstat()
        is_own = stat.S_ISDIR(status.st_mode) and status.st_uid == os.getuid()
        if not is_own or not stat.S_ISREG((folder / WRITER).lstat().st_mode):
            return None
        about = json.loads((folder / WRITER).read_text(encoding="ascii"))
        return str(about["node"]), int(about["process"]), float(about["started"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _files(folder: Path) -> Iterator[Path]:
    """All files in a folder, at any depth, and links, which are not followed."""
    for above, folders, files in os.walk(folder):
        yield from (Path(above, name) for name in files)
        yield from (path for name in folders if (path := Path(above, name)).is_symlink())


def _listed(folder: Path) -> dict[Path, int | None]:
    """The files, with their sizes, that the lists in a folder and in those below it name."""
    listed: dict[Path, int | None] = {}
    for path in _files(folder):
        if path.name != LIST or path.is_symlink():
            continue
        for line in path.read_bytes().splitlines():
            with contextlib.suppress(ValueError, TypeError):
                name, size = json.loads(line)
                listed[path.parent / name] = size
    return listed


def _is_ours(path: Path, folder: Path, listed: dict[Path, int | None], also: Sequence[str]) -> bool:
    if path in listed:
        return listed[path] in (None, path.lstat().st_size)
    if path.name in (LIST, _SNAKEMAKE) or writer_of_name(path.name):
        return True
    inside = path.relative_to(folder)
    if any(writer_of_name(part) for part in inside.parts[:-1]):
        return True  # of a folder that a killed job has left unfinished
    if path.parent.name == "__pycache__" and path.suffix == ".pyc":  # Python's, of a module that is listed
        return path.parent.parent / f"{path.name.partition('.')[0]}.py" in listed
    return any(fnmatch.fnmatchcase(inside.as_posix(), pattern) for pattern in also)


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
