"""Checks of published folders, file by file, and of the copies of products in results/."""

import filecmp
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from factdrift.audit.of_tables import Fault
from factdrift.core.files import sha256


def folder(path: Path, again: Path) -> Iterator[Fault]:
    """Files in which a published folder differs from the same folder, made `again` of the products."""
    names = {file.relative_to(root) for root in (path, again) for file in root.rglob("*") if file.is_file()}
    for name in sorted(names):
        published, due = path / name, again / name
        if not published.is_file():
            reason = "is not in the folder, but the products give it"
        elif not due.is_file():
            reason = "is in the folder, but the products do not give it"
        elif filecmp.cmp(published, due, shallow=False):
            continue
        else:
            reason = f"is not what the products give{_line(published, due)}"
        yield Fault(path.name, "", f"{name.as_posix()} {reason}")


def _line(published: Path, due: Path) -> str:
    """The number of the first line in which two texts differ; nothing for other files."""
    if published.suffix in (".parquet", ".png", ".sqlite"):
        return ""
    lines = zip_longest(*(path.read_bytes().split(b"\n") for path in (published, due)))
    number = next(number for number, (own, other) in enumerate(lines, 1) if own != other)
    return f" from line {number:,} on"


COPIED = {
    "tempripple.parquet": "tempripple/tr_items.parquet",
    **{name: name for name in ("wikifactdiff.parquet", "wfd_repl.parquet")},
    **{name: name for name in (f"klob_{part}.parquet" for part in "cru")},
}
"""Product in results/ -> the file of the pair that it is a copy of."""


def copies(pair: Path) -> Iterator[Fault]:
    """Products in results/ that differ from the files of the pair."""
    for name, own in COPIED.items():
        copy, source = pair.parent / name, pair / own
        if copy.is_file() and source.is_file() and sha256(copy) != sha256(source):
            yield Fault(name, "", f"results/{name} is not {pair.name}/{own}")
