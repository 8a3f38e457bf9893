"""The folders that a refresh removes: snapshots and tables of filters, made by a refresh, that none needs."""

from __future__ import annotations

import json
import shutil
from collections.abc import Iterator, Sequence
from pathlib import Path

from factdrift.tables import atomic_path

RESULTS = Path("results")
SNAPSHOTS = RESULTS / "snapshots"

MARK = ".refresh.json"
"""The file that a refresh writes into the folders that it begins. Only folders with it are removed."""

TABLES_OF_FILTERS = ("filtered", "kept")
"""Folders of a pair that only the pair's own jobs read: most of its bytes."""


def begin(folder: Path, dump: str = "") -> None:
    """Marks the folder of a snapshot, with the address of its `dump`, or of a pair before it is made.

    A folder that is there already stays as it is: it is the user's, or has its mark.
    """
    if not folder.exists():
        with atomic_path(folder / MARK) as path:
            path.write_text(json.dumps({"dump": dump}) + "\n", encoding="utf-8")


def remove_snapshot(date: str, unless: str = "") -> bool:
    """Removes the snapshot of a date if a refresh has begun it, of another dump than `unless`.

    Returns whether it has.
    """
    folder = SNAPSHOTS / date
    found = _mark(folder) not in (None, unless)
    if found:
        _remove(folder)
    return found


def remove_old(dates: Sequence[str], retention: int) -> Iterator[Path]:
    """Removes the snapshots made by a refresh that are older than the newest `retention` of `dates`, with the
    tables made of them alone, and those of dates before the last that are not among `dates`, because they
    never became a release. Yields the folders.

    `dates`: those of a complete release.
    """
    kept = dates[-retention:]
    for mark in sorted(SNAPSHOTS.glob(f"*/{MARK}")):
        if (date := mark.parent.name) not in kept and date < dates[-1]:
            yield from _with_tables(date)


def _with_tables(date: str) -> Iterator[Path]:
    """The snapshot goes last, so that a refresh that is killed here is continued."""
    for mark in sorted(RESULTS.glob(f"{date}_*/{MARK}")):
        for path in (mark.parent / name for name in TABLES_OF_FILTERS):
            if path.is_dir():
                _remove(path)
                yield path
    _remove(SNAPSHOTS / date)
    yield SNAPSHOTS / date


def _mark(folder: Path) -> str | None:
    """The address in a folder's mark; "" for a mark that cannot be read, None without one."""
    try:
        return str(json.loads((folder / MARK).read_text("utf-8"))["dump"])
    except FileNotFoundError:
        return None
    except (ValueError, KeyError, TypeError):
        return ""


def _remove(folder: Path) -> None:
    """The mark goes last: what a killed refresh has left of the folder is still a refresh's own."""
    for path in [path for path in folder.iterdir() if path.name != MARK]:
        if path.is_dir() and not path.is_symlink():
            shutil.rmtree(path)
        else:
            path.unlink()
    shutil.rmtree(folder)
