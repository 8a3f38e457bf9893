"""The folders that a refresh removes: snapshots and tables of filters, made by a refresh, that none needs."""

import json
from collections.abc import Iterator, Sequence
from pathlib import Path

from factdrift.core.errors import InputError
from factdrift.core.files import write_json
from factdrift.core.owned import check_folder, remove_unfinished, unfinished

RESULTS = Path("results")
SNAPSHOTS = RESULTS / "snapshots"

MARK = ".refresh.json"
"""The file that a refresh writes into the folders that it begins. Only folders with it are removed."""

WRITTEN = (MARK, "wikidata.json*", "*.parquet", "snapshot.json", "checksum.json", "shards/*")
"""Patterns of what a refresh and its workflow write into these folders."""

TABLES_OF_FILTERS = ("kept",)
"""Folders of a pair that only the pair's own jobs read; the stream reads `filtered`, too."""


def begin(folder: Path, dump: str = "") -> None:
    """Marks the folder of a snapshot, with the address of its `dump`, or of a pair before it is made.

    A folder that is there already stays as it is: it is the user's, or has its mark.
    """
    if not folder.exists():
        write_json({"dump": dump}, folder / MARK, indent=None)


def remove_snapshot(date: str, unless: str = "") -> bool:
    """Removes the snapshot of a date if a refresh has begun it, of another dump than `unless`.

    Returns whether it has. Raises InputError if anything else is in the folder.
    """
    folder = SNAPSHOTS / date
    is_own = _mark(folder) not in (None, unless)
    if is_own:
        _remove(folder)
    return is_own


def remove_old(dates: Sequence[str], retention: int) -> Iterator[str]:
    """Removes the snapshots made by a refresh that are older than the newest `retention` of `dates`, with the
    tables made of them alone, and those of dates before the last that are not among `dates`, because they
    never became a release. `dates`: those of a complete release.

    Yields what was removed, and why a folder was not.
    """
    kept = dates[-retention:]
    for mark in sorted(SNAPSHOTS.glob(f"*/{MARK}")):
        if (date := mark.parent.name) not in kept and date < dates[-1]:
            pairs = sorted(RESULTS.glob(f"{date}_*/{MARK}"))
            tables = [pair.parent / name for pair in pairs for name in TABLES_OF_FILTERS]
            # The snapshot goes last, so that a refresh that is killed here is continued.
            for folder in (*tables, mark.parent):
                try:
                    if folder.is_dir():
                        _remove(folder)
                        yield f"removed {folder} (refresh.retention: {retention})"
                except InputError as error:
                    yield f"not removed: {error}"


def _mark(folder: Path) -> str | None:
    """The address in a folder's mark; "" for a mark that cannot be read, None without one."""
    try:
        return str(json.loads((folder / MARK).read_text("utf-8"))["dump"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return ""


def _remove(folder: Path) -> None:
    """Raises InputError if anything in the folder was not written by the workflow; then all of it stays.

    First it gets the name of an unfinished one, of which a later run removes what a killed refresh leaves.
    """
    check_folder(folder, WRITTEN)
    hidden = unfinished(folder)
    folder.rename(hidden)
    remove_unfinished(hidden)
