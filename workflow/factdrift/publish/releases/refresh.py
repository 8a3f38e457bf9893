"""`factdrift refresh`: finds new dumps, makes a release of each new date, and removes old snapshots.

Removed are only folders that a refresh has begun and none needs: snapshots, and tables of filters.
"""

import dataclasses
import datetime
import json
import re
import sys
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import pairwise
from pathlib import Path
from typing import IO, Any

from snakemake.utils import update_config

from factdrift.core.errors import InputError
from factdrift.core.files import read_yaml, sha256, write_json
from factdrift.core.owned import check_folder, remove_unfinished, try_lock, unfinished
from factdrift.core.paths import CONFIG, SNAKEFILE
from factdrift.core.settings import configure
from factdrift.evaluation.methods.own import keys_of_methods
from factdrift.publish.releases import build
from factdrift.publish.releases.release import (
    Release,
    check_unchanged,
    configuration,
    last_release,
    read_release,
)
from factdrift.runs.leftovers import unlock
from factdrift.snapshots.fetch import Client, Missing
from factdrift.snapshots.listing import complete_dumps
from factdrift.snapshots.registry import address_of

RESULTS = Path("results")
SNAPSHOTS = RESULTS / "snapshots"
RELEASES = RESULTS / "releases"

MARK = ".refresh.json"
"""The file that a refresh writes into the folders that it begins. Only folders with it are removed."""

WRITTEN = (MARK, "wikidata.json*", "*.parquet", "snapshot.json", "checksum.json", "shards/*")
"""Patterns of what a refresh and its workflow write into these folders."""

_TRIAL = re.compile("--(dry|touch|list|unlock).*|-t|-[a-zA-Z]*n[a-zA-Z]*")
"""Arguments with which Snakemake makes nothing; `-n` also among other letters (`-np`)."""


def refresh(configfile: Path | None, contact: str | None, arguments: Sequence[str]) -> int:
    """Makes all releases that are due, and prints what it does; returns the exit status.

    `arguments`: Snakemake's; `configfile` and `contact` go before what the project's configuration says. The
    status is 0 if every release that is due is complete; also if another refresh is at work in the directory.
    Safe to repeat after any interruption. Raises InputError if the configuration is wrong or has changed
    since the last release, that one is not complete, or a listing cannot be read.
    """
    config = read_yaml(CONFIG / "config.yaml")
    if configfile is not None:
        if not configfile.is_file():
            raise InputError(f"{configfile}: no such file; name a configuration")
        own: Any = read_yaml(configfile)
        if not isinstance(own, dict):
            raise InputError(f"{configfile}: holds no keys; write some, such as `variant: paper`")
        update_config(config, own)
    if contact is not None:
        config["contact"] = contact
    configure(config, keys_of_methods)
    for argument in arguments:
        if argument.startswith(("--config", "-C")):  # also `-Cseed=7`, and names that are cut off
            raise InputError(
                f"{argument}: `factdrift refresh` must know the configuration too; write its keys to a "
                "file, and name that by --configfile before the `--`"
            )
    RELEASES.mkdir(parents=True, exist_ok=True)
    path = RELEASES / ".lock"
    with path.open("w") as lock:
        if not try_lock(lock, path):
            _say("another refresh is at work in this directory")
            return 0
        # What Snakemake's command line says beside the values of a release.
        words = [*arguments] or ["--cores", "all"]
        words += ["--configfile", str(configfile)] if configfile is not None else []
        return _Refresh(words, contact, config, lock).run()


def _say(text: str) -> None:
    print(text, flush=True)


class _Refresh:
    def __init__(
        self,
        arguments: Sequence[str],
        contact: str | None,
        config: dict[str, Any],
        lock: IO[str],
    ) -> None:
        self._arguments, self._contact, self._lock = arguments, contact, lock
        self._keys, self._client = config["refresh"], Client(config["contact"])
        self._recorded = configuration(config)
        self._trial = any(_TRIAL.fullmatch(argument) for argument in self._arguments)

    def run(self) -> int:
        """Makes one release after the other; returns the exit status."""
        before, every = Release([], {}, {}), self._keys["every"]
        if (folder := last_release(RELEASES)) is not None:
            before, _ = read_release(folder)
            check_unchanged(before.configuration, self._recorded, folder)
        usable = candidates(self._keys["listings"], every, before.dates, self._keys["skip"], self._client)
        due = sequences(usable, before.dates, every)
        if not due:
            listed = ", ".join(sorted(usable)) or "none"
            _say(
                f"nothing new: no complete dump {every} days or more after {before.dates[-1]}"
                if before.dates
                else f"nothing new: no two complete dumps {every} days apart (found: {listed})"
            )
        for dates in due:
            dumps = before.dumps | usable
            release = before._replace(dates=dates, dumps={date: dumps[date] for date in dates})
            if status := self._make(before, release):
                return status
            before = release
        if before.dates and not self._trial:
            for line in _remove_old(before.dates, self._keys["retention"]):
                _say(line)
        return 0

    def _make(self, before: Release, release: Release) -> int:
        """Runs the workflow for one release; returns the exit status."""
        old, new = release.dates[-2:]
        _say(f"release {new}: what changed since {old}")
        _check_intervals(before)
        if not self._trial:
            for date in [date for date in (old, new) if date not in before.dates]:
                if _remove_snapshot(date, unless=release.dumps[date]):
                    _say(f"{date}: the server has another dump than the one that is here, which is removed")
                _begin(SNAPSHOTS / date, release.dumps[date])
            _begin(RESULTS / f"{old}_{new}")
        if status := build.run(self._line(before, release), self._lock):
            _say(
                f"release {new} is not complete; the same command continues from here. If a job calls a "
                "dump damaged, the server must replace its file first; or name its date in `refresh.skip`"
            )
            return status
        try:
            made, account = read_release(RELEASES / new)
            if made._replace(configuration={}) != release._replace(configuration={}):
                raise InputError(f"{RELEASES / new}: of other dates or dumps than this refresh asked for")
        except InputError as error:
            _say(
                f"release {new} was not made, though Snakemake ended with status 0; nothing was removed "
                f"({error})"
            )
            return 1
        number, of_new = len(release.dates) - 1, account["new"]
        scenarios = ", ".join(f"{count:,} {name}" for name, count in of_new["scenarios"].items())
        files = f"{len(account['files'])} files, {account['updates']:,} updates in {number} intervals"
        follow = f"{of_new['of_chains_before']:,} of them follow earlier updates"
        _say(f"{RELEASES / new}: {files}")
        _say(f"new since {old}: {scenarios or 'no updates'}")
        _say(f"{follow}, {of_new['reverts']:,} bring a value back")
        return 0

    def _line(self, before: Release, release: Release) -> list[str]:
        """The command that makes one release."""
        if not SNAKEFILE.is_file():
            raise InputError(f"{SNAKEFILE} is missing: `factdrift refresh` runs the workflow of a checkout")
        unlock()
        values: Mapping[str, Any] = {
            **({"contact": self._contact} if self._contact is not None else {}),
            "snapshots": {"old": release.dates[-2], "new": release.dates[-1]},
            "stream": release.dates,
            "dumps": release.dumps,
            "refresh": {"released": before.dates},
        }
        line = [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE), "latest", *self._arguments]
        return [*line, "--config", *(f"{key}={json.dumps(value)}" for key, value in values.items())]


def _check_intervals(before: Release) -> None:
    """Raises InputError unless the datasets of the released intervals are those that were released.

    An interval whose release has been taken away is not compared.
    """
    for old, new in pairwise(before.dates):
        path = RESULTS / f"{old}_{new}" / "wikifactdiff.parquet"
        folder = RELEASES / new
        if not (folder / path.name).is_file():
            continue
        if not path.is_file() or sha256(path) != sha256(folder / path.name):
            raise InputError(
                f"{path}: is missing, or is not the one in {folder}; the stream is made of the files of the "
                "released intervals. Put the folder back as it was, or begin another series in another "
                "directory"
            )


def _begin(folder: Path, dump: str = "") -> None:
    """Marks the folder of a snapshot, with the address of its `dump`, or of a pair before it is made.

    A folder that is there already stays as it is: it is the user's, or has its mark.
    """
    if not folder.exists():
        write_json({"dump": dump}, folder / MARK, indent=None)


def _remove_snapshot(date: str, unless: str = "") -> bool:
    """Removes the snapshot of a date if a refresh has begun it, of another dump than `unless`.

    A mark that cannot be read names the dump "". Returns whether the snapshot was removed. Raises InputError
    if anything else is in the folder.
    """
    folder = SNAPSHOTS / date
    try:
        begun = str(json.loads((folder / MARK).read_text("utf-8"))["dump"])
    except FileNotFoundError:
        return False
    except (ValueError, KeyError, TypeError):
        begun = ""
    if begun == unless:
        return False
    _remove(folder)
    return True


def _remove_old(dates: list[str], retention: int) -> Iterator[str]:
    """Removes the snapshots made by a refresh that are older than the newest `retention` of `dates`, with the
    tables made of them alone, and those of dates before the last that are not among `dates`, because they
    never became a release. `dates`: those of a complete release.

    Yields what was removed, and why a folder was not.
    """
    for mark in sorted(SNAPSHOTS.glob(f"*/{MARK}")):
        date = mark.parent.name
        if date not in dates[-retention:] and date < dates[-1]:
            # Only the pair's own jobs read `kept`; the stream reads `filtered`, too.
            tables = [pair.parent / "kept" for pair in sorted(RESULTS.glob(f"{date}_*/{MARK}"))]
            # The snapshot goes last, so that a refresh that is killed here is continued.
            for folder in (*tables, mark.parent):
                try:
                    if folder.is_dir():
                        _remove(folder)
                        yield f"removed {folder} (refresh.retention: {retention})"
                except InputError as error:
                    yield f"not removed: {error}"


def _remove(folder: Path) -> None:
    """Raises InputError if anything in the folder was not written by the workflow; then all of it stays.

    First it gets the name of an unfinished one, of which a later run removes what a killed refresh leaves.
    """
    check_folder(folder, WRITTEN)
    hidden = unfinished(folder)
    folder.rename(hidden)
    remove_unfinished(hidden)


# --- which dumps and dates the next releases can have: those that servers list ----------------------------


def later(date: str, days: int) -> str:
    """The date some days after another one (YYYY-MM-DD)."""
    return (datetime.date.fromisoformat(date) + datetime.timedelta(days=days)).isoformat()


def sequences(dates: Collection[str], released: list[str], every: int) -> list[list[str]]:
    """The sequence of dates of each release that is due, in the order in which they are made.

    `dates`: of the dumps that can be had. `released`: the sequence of the last release. A new date comes at
    least `every` days after the one before, and is the first that does: so a refresh that was late, or died,
    makes the releases that it would have made in time. The first one has the newest date and the newest one
    at least `every` days before it.
    """
    if not released:
        newest = max(dates, default="")
        before = [date for date in dates if later(date, every) <= newest]
        return [[max(before), newest]] if before else []
    due, sequence = [], list(released)
    for date in sorted(set(dates)):
        if date >= later(sequence[-1], every):
            sequence.append(date)
            due.append(list(sequence))
    return due


def candidates(
    listings: Sequence[str], every: int, released: Sequence[str], skip: Collection[str], client: Client
) -> dict[str, str]:
    """Date -> address of the complete dumps of the listings that can follow the dates `released`.

    An address has checksum and size, as a value of `dumps`; the first listing that has a date counts. Dates
    to `skip` are left out. Of a listing no more folders are asked for than needed. Raises InputError if a
    server refuses to show a dump: a later one would take its place in the series.
    """
    after = later(released[-1], every - 1) if released else ""
    usable: dict[str, str] = {}
    for listing in listings:
        dates: list[str] = []
        for dump in complete_dumps(listing, after, client):
            if dump.date in skip:
                continue
            if dump.size is None:
                try:
                    dump = dataclasses.replace(dump, size=client.head(dump.urls[0]).size)
                except Missing:
                    continue  # removed after it had been listed
            usable.setdefault(dump.date, address_of(dump))
            dates.append(dump.date)
            if not released and later(dump.date, every) <= max(dates):
                break
    return usable
