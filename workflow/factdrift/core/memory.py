"""Exhausted memory: recognising the errors that mean it, and the message for the user; memory for reuse."""

import errno
import re
import resource
import sys

LEAST = 1_000_000_000
"""Bytes of address space below which libraries may crash before they can report anything."""

_LARGEST = (32 << 20) - (1 << 16)
"""Bytes of the largest block for which glibc gives up returning blocks of its size to the system."""

_SAID = re.compile(
    # Messages of the dynamic linker, of threads, of DuckDB (which has a limit of its own), Arrow and PyTorch.
    r"failed to map segment from shared object|[Cc]annot allocate memory|can't start new thread"
    r"|Out of Memory Error|malloc of size \d+ failed|std::bad_alloc|can't allocate memory"
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


def is_exhausted(error: BaseException | None) -> bool:
    """Whether an error, or one that caused it, says that memory is exhausted."""
    while error is not None:
        exhausted = isinstance(error, MemoryError) or getattr(error, "errno", None) == errno.ENOMEM
        if exhausted or _SAID.search(str(error)):
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
        "with more memory. Everything finished before is kept: the same command goes on from there"
    )
