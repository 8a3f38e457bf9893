"""A full disk: recognising the errors that mean it, and the message for the user."""

import errno
import re
import shutil
import tempfile
from pathlib import Path

_FULL = (errno.ENOSPC, errno.EDQUOT)
_SAID = re.compile(
    # Errors of DuckDB and of NumPy's arrays have no error number.
    r"No space left on device|Disk quota exceeded|max_temp_directory_size|^\d+ requested and \d+ written$",
    re.MULTILINE,
)


def is_full(error: BaseException) -> bool:
    """Whether an error says that a disk, or the user's share of it, is full."""
    return getattr(error, "errno", None) in _FULL or bool(_SAID.search(str(error)))


def full(error: BaseException) -> str:
    """The message about a full disk: the folder, the free space, what is kept, how to continue."""
    path = _written(error)
    what = "the temporary files of a query" if path.is_dir() else path.name
    folder = next(parent for parent in (path, *path.parents) if parent.is_dir())
    free = shutil.disk_usage(folder).free / 1e6
    spill = folder == Path(tempfile.gettempdir()).resolve()
    remedy = (
        "or let TMPDIR name a folder on a larger one"
        if spill
        else "or make this folder a link to a larger one"
    )
    return (
        f"the disk is full: {folder} could not hold {what}; {free:,.1f} MB are free there, now that "
        "the unfinished file is removed. Finished files are kept, and so is the received part of a "
        f"download. Make room on that disk, {remedy}, and run the same command again: it goes on from there"
    )


def _written(error: BaseException) -> Path:
    """The file that could not be written; the folder for temporary files where a query spilled."""
    match = re.search(r'Could not write file \\*"(.*?)\\*"', str(error))
    spilled = "max_temp_directory_size" in str(error)
    named = match[1] if match else getattr(error, "filename2", None) or getattr(error, "filename", None)
    return Path(tempfile.gettempdir() if spilled or not named else named).resolve()
