"""A full disk and exhausted memory: recognising the errors that mean them, and the messages for the user."""

import contextlib
import errno
import gc
import re
import resource
import shutil
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

LEAST = 1_000_000_000
"""Bytes of address space below which libraries may crash before they can report anything."""

_LARGEST = (32 << 20) - (1 << 16)
"""Bytes of the largest block for which glibc gives up returning blocks of its size to the system."""

_FULL = (errno.ENOSPC, errno.EDQUOT)
_DISK_MESSAGES = re.compile(
    # Errors of DuckDB and of NumPy's arrays have no error number.
    r"No space left on device|Disk quota exceeded|max_temp_directory_size|^\d+ requested and \d+ written$",
    re.MULTILINE,
)
_MEMORY_MESSAGES = re.compile(
    # Messages of the dynamic linker, of threads, of DuckDB (which has a limit of its own), Arrow and PyTorch.
    r"failed to map segment from shared object|[Cc]annot allocate memory|can't start new thread"
    r"|Out of Memory Error|malloc of size \d+ failed|std::bad_alloc|can't allocate memory"
)


def is_full(error: BaseException) -> bool:
    """Whether an error says that a disk, or the user's share of it, is full."""
    return getattr(error, "errno", None) in _FULL or bool(_DISK_MESSAGES.search(str(error)))


def full(error: BaseException) -> str:
    """The message about a full disk: the folder, the free space, what is kept, how to continue."""
    match = re.search(r'Could not write file \\*"(.*?)\\*"', str(error))
    named = match[1] if match else getattr(error, "filename2", None) or getattr(error, "filename", None)
    if not named and isinstance(error, OSError) and error.errno:
        return f"a file, or what this command prints, cannot be written ({error.strerror}); make room"
    if not named or "max_temp_directory_size" in str(error):
        named = tempfile.gettempdir()
    path = Path(named).resolve()
    what = "the temporary files of a query" if path.is_dir() else path.name
    folder = next(parent for parent in (path, *path.parents) if parent.is_dir())
    free = shutil.disk_usage(folder).free / 1e6
    remedy = "or make this folder a link to a larger one"
    if folder == Path(tempfile.gettempdir()).resolve():
        remedy = "or let TMPDIR name a folder on a larger one"
    return (
        f"the disk is full: {folder} could not hold {what}; {free:,.1f} MB are free there, now that "
        "the unfinished file is removed. Finished files are kept, and so is the received part of a "
        f"download. Make room on that disk, {remedy}, and run the same command again: it continues from there"
    )


def warn_of_limit() -> None:
    """Says on standard error if this process may use less address space than LEAST (`ulimit -v`)."""
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    if limit != resource.RLIM_INFINITY and limit < LEAST:
        print(
            f"factdrift: warning: this process may use only {limit / 1e6:,.0f} MB of address space; below "
            f"{LEAST / 1e6:,.0f} MB libraries may crash without a word (`ulimit -v unlimited` lifts it)",
            file=sys.stderr,
        )


def keep_freed() -> None:
    """Lets this process use freed memory again, up to 64 MB of it, rather than return it to the system.

    glibc returns a large block as soon as it is freed, unless a block as large has been freed before. Each
    piece of a dump's text would lie in pages that the system has to clear first.
    """
    bytes(_LARGEST)  # freed at once, and never written to


def collect_seldom() -> None:
    """Lets Python look for cycles after 50,000 new objects; by default, imports alone make it look often."""
    gc.set_threshold(50_000)


@contextlib.contextmanager
def without_collector() -> Iterator[None]:
    """Python looks for no cycles meanwhile: for what makes many objects without any, such as parsed lines."""
    collecting = gc.isenabled()
    gc.disable()
    try:
        yield
    finally:
        if collecting:
            gc.enable()


def is_exhausted(error: BaseException | None) -> bool:
    """Whether an error, or one that caused it, says that memory is exhausted."""
    while error is not None:
        exhausted = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
        if exhausted or _MEMORY_MESSAGES.search(str(error)):
            return True
        error = error.__cause__ or error.__context__
    return False


def exhausted(error: BaseException) -> str:
    """The message about exhausted memory: what failed, the limit of this process, what to do."""
    message = str(error).strip().partition("\n")[0][:200]
    limit = resource.getrlimit(resource.RLIMIT_AS)[0]
    limited = ""
    if limit != resource.RLIM_INFINITY:
        limited = f"; this process may use {limit / 1e6:,.0f} MB of address space (ulimit -v)"
    return (
        f"the memory is exhausted ({message or type(error).__name__}{limited}). Run fewer jobs at once "
        "(snakemake --cores 1, or --resources mem_mb=N for N MB in all), raise the limit, or take a machine "
        "with more memory. Finished files are kept: the same command continues from there"
    )
