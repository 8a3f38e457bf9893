"""What `factdrift clean` removes: what the workflow has made and can make again, nothing of others beside it.

What was made says Snakemake's own record of this directory, and the lists of folders (`core/owned.py`). So a
stranger's file stays wherever it lies, also where `results` is a link to another disk.
"""

import base64
import contextlib
import json
from collections.abc import Iterator
from pathlib import Path

from factdrift.core.owned import LIST, listed_files
from factdrift.runs.leftovers import PROGRESS, unlock

STAYS = ("results/releases", "results/fetched", "results/recent")
"""Folders of what cannot be had again, or from servers only: released copies, answers, page views; plans of
`factdrift recent`, which people edit."""
BEGUN = ".refresh.json"
"""The file in the folders that `factdrift refresh` has begun, which its next release needs."""
_RECORDS = Path(".snakemake/metadata")
_STAMP = ".snakemake_timestamp"


def clean() -> Iterator[str]:
    """Removes what was made under `results` and `logs`; yields what was removed, and what stays and why.

    Raises InputError if a run is at work in the directory.
    """
    unlock()
    removed, dumps = _remove(PROGRESS), set()
    for output, logs in _records():
        for log in map(Path, logs):
            removed += _remove(log) + _remove(log.with_suffix(".tsv"))
        if output.name.startswith("wikidata.json"):
            dumps.add(output)
        elif not _stays(output):
            removed += sum(map(_remove, _of_folder(output) if output.is_dir() else [output]))
    for path in sorted(Path("results").rglob(LIST)):
        if not _stays(path):
            removed += sum(map(_remove, [*listed_files(path.parent), path]))
    yield f"{removed:,} files removed"
    begun = {path.parent for path in Path("results").glob(f"**/{BEGUN}")}
    for path in sorted(path for path in {*dumps, *begun, *map(Path, STAYS)} if path.exists()):
        yield f"{path} stays; remove it by hand if it is needed no more (results/README.md)"


def _records() -> Iterator[tuple[Path, list[str]]]:
    """Each output that Snakemake has recorded, with the logs of its job."""
    for file in sorted(path for path in _RECORDS.rglob("*") if path.is_file()):
        name = "".join(part.removeprefix("@") for part in file.relative_to(_RECORDS).parts)
        with contextlib.suppress(ValueError):  # of a file that is no record
            output = Path(base64.urlsafe_b64decode(name).decode())
            yield output, json.loads(file.read_text("utf-8")).get("log") or []


def _of_folder(folder: Path) -> Iterator[Path]:
    """The files of a folder that were there when its job ended; all of them are the job's."""
    with contextlib.suppress(FileNotFoundError):
        ended = (folder / _STAMP).stat().st_ctime
        yield from (
            path for path in folder.rglob("*") if not path.is_dir() and path.lstat().st_ctime <= ended
        )


def _stays(path: Path) -> bool:
    above = [path, *path.parents]
    return any(str(folder) in STAYS or (folder / BEGUN).is_file() for folder in above)


def _remove(path: Path) -> int:
    """Removes a file or link below `results` or `logs`, and the folders above it that this leaves empty.

    Returns the number of files removed.
    """
    if path.parts[:1] not in (("results",), ("logs",)) or not (path.is_file() or path.is_symlink()):
        return 0
    path.unlink()
    with contextlib.suppress(OSError):  # the first one that has anything else
        for folder in path.parents[:-1]:
            folder.rmdir()
    return 1
