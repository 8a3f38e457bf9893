"""The paths to which a command writes: links, devices and pipes among them, and inputs in their place."""

import contextlib
import itertools
import os
import shutil
import stat
from collections.abc import Mapping, Sequence
from pathlib import Path

from factdrift.core.errors import InputError

Paths = Mapping[str, Sequence[Path]]
"""Option -> its paths."""


def final_path(path: Path) -> Path:
    """The path whose file is replaced if `path` is written: of a link to a file, or to none, the target.

    Raises InputError if the target is in no folder, or is the file to which this process prints.
    """
    if is_special(path):
        return path
    target = path
    if path.is_symlink():
        target = Path(os.path.realpath(path))
        if target.is_symlink() or not target.parent.is_dir():
            raise InputError(f"{path}: is a link to {path.readlink()}, where no file can be; remove the link")
    if any(_is_stream(target, stream) for stream in (1, 2)):
        raise InputError(f"{path}: is the file to which this command prints; name another")
    return target


def _is_stream(path: Path, stream: int) -> bool:
    try:
        return os.path.samestat(os.fstat(stream), path.stat())
    except OSError:
        return False


def is_special(path: Path) -> bool:
    """Whether a path is neither a file, a folder nor nothing, but a device, a pipe or a socket."""
    try:
        mode = path.stat().st_mode
    except OSError:
        return False
    return not stat.S_ISREG(mode) and not stat.S_ISDIR(mode)


def pour(file: Path, special: Path) -> None:
    """Writes the bytes of a file into a device or a pipe. Raises InputError if they cannot be written."""
    if file.is_dir():
        raise InputError(f"{special}: is no folder, and one is needed; name another place")
    if special.is_block_device():
        raise InputError(f"{special}: is a disk, which would be overwritten; name a file")
    try:
        with file.open("rb") as source, special.open("wb") as target:
            shutil.copyfileobj(source, target)
    except OSError as error:
        raise InputError(f"{special}: is no file, and cannot be written ({error.strerror})") from error


def check_outputs(inputs: Paths, outputs: Paths) -> None:
    """Raises InputError, before anything is written, if an output would replace an input or another output.

    Paths are compared as files, so that links and hard links to one file are the same. An output that is a
    folder is replaced as a whole, with any input in it; one in a folder of inputs must not be there yet.
    """
    written = [
        (f"{option}: {path}", final_path(path))
        for option, paths in outputs.items()
        for path in paths
        if not is_special(path)
    ]
    for option, paths in inputs.items():
        for path in paths:
            for name, output in written:
                if _is_same(path, output):
                    raise InputError(
                        f"{name}: is the input {option} as well; name another file for the output"
                    )
                if output.is_dir() and _is_in(path, output):
                    raise InputError(f"{name}: holds the input {option} {path}; name another folder")
                if output.is_file() and path.is_dir() and _is_in(output, path):
                    raise InputError(f"{name}: is a file of the input {option} {path}; name another place")
    for (name, output), (other, same) in itertools.combinations(written, 2):
        if _is_same(output, same):
            raise InputError(f"{name}: is the same file as {other}; each output needs a file of its own")


def _is_same(first: Path, other: Path) -> bool:
    with contextlib.suppress(OSError):  # one of them is not there yet
        return first.samefile(other)
    return os.path.realpath(first) == os.path.realpath(other)


def _is_in(path: Path, folder: Path) -> bool:
    return Path(os.path.realpath(folder)) in Path(os.path.realpath(path)).parents
