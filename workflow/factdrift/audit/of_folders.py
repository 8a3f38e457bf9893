"""Checks of published folders, file by file, and of the copies of products in results/."""

import filecmp
import json
import subprocess
import sys
from collections.abc import Iterator
from itertools import zip_longest
from pathlib import Path

from factdrift.audit.of_tables import Fault, until_damage
from factdrift.core.errors import InputError
from factdrift.core.files import sha256
from factdrift.core.owned import scratch
from factdrift.core.products import places


def folder(path: Path, pair: Path) -> Iterator[Fault]:
    """Files in which a published folder differs from one that is written of the products beside the pair.

    Day and address are those that it has; `audit.json`, too, because it is the account of another audit.
    """
    with scratch() as empty:
        yield from until_damage(_differences(path, pair, empty / "publish"), path.name)


def _differences(path: Path, pair: Path, again: Path) -> Iterator[Fault]:
    results = pair.parent
    names = dict.fromkeys(target.name for target in places() if target.folder == path.name)
    sources = [path / name if name == "audit.json" else results / name for name in names]
    described = json.loads((path / "croissant.json").read_text("utf-8"))
    options = {
        "manifest": results / "manifest.json",
        "date": described.get("datePublished", ""),
        "url": described.get("url", ""),
        "output": again,
    }
    if (path / "replay").is_dir():
        options |= {"answers": pair / "verbalize/answers.parquet", "store": results / "fetched/chat"}
    products = [source for source in sources if source.is_file()]
    # A process of its own: no module of the audit imports what writes folders.
    program = [sys.executable, "-c", "import sys, factdrift.cli as cli; sys.exit(cli.run())"]
    flags = (f"--{key}={value}" for key, value in options.items())
    process = subprocess.run(
        [*program, "publish", "folders", *products, *flags],
        capture_output=True,
        check=False,
        encoding="utf-8",
    )
    if process.returncode:
        raise InputError(process.stderr.strip().rpartition("\n")[2] or f"status {process.returncode}")
    due = again / path.name
    files = {file.relative_to(root) for root in (path, due) for file in root.rglob("*") if file.is_file()}
    for name in sorted(files):
        if not (path / name).is_file():
            reason = "is not in the folder, but the products give it"
        elif not (due / name).is_file():
            reason = "is in the folder, but the products do not give it"
        elif filecmp.cmp(path / name, due / name, shallow=False):
            continue
        else:
            reason = f"is not what the products give{_line(path / name, due / name)}"
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
