"""`factdrift refresh`: finds new dumps, makes a release of each new date, and removes old snapshots."""

import json
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import IO, Any, NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.files import sha256
from factdrift.core.owned import try_lock
from factdrift.core.paths import SNAKEFILE
from factdrift.publish.releases import build, cleanup
from factdrift.publish.releases.candidates import (
    Candidate,
    Skipped,
    candidates,
    read_skipped,
    sequences,
    write_skipped,
)
from factdrift.publish.releases.release import Release, last_release, read_release
from factdrift.publish.releases.series import check_unchanged
from factdrift.runs.leftovers import unlock
from factdrift.snapshots.fetch import Client

RELEASES = Path("results/releases")
SKIPPED = RELEASES / "skipped.json"

_TRIAL = re.compile("--(dry|touch|list|unlock).*|-t|-[a-zA-Z]*n[a-zA-Z]*")
"""Arguments with which Snakemake makes nothing; `-n` also among other letters (`-np`)."""


class Order(NamedTuple):
    """What a refresh is given. `listings`: addresses of the folders in which servers keep dumps. `every`:
    least days between two dates. `retention`: snapshots that are kept. `config`: keys of the configuration
    for each build. `recorded`, `default`: the configuration on which a release depends, now and without any
    of the user's keys (see `series`). `arguments`: further ones for Snakemake."""

    listings: Sequence[str]
    every: int
    retention: int
    config: Mapping[str, Any]
    recorded: Mapping[str, Any]
    default: Mapping[str, Any]
    arguments: Sequence[str]


def refresh(order: Order, client: Client) -> int:
    """Makes all releases that are due, and prints what it does; returns the exit status.

    It is 0 if every release that is due is there, complete, and no dump was found damaged; also if another
    refresh is at work in the directory. Safe to repeat after any interruption. Raises InputError if a listing
    cannot be read, the last release is not complete, or the configuration has changed since.
    """
    RELEASES.mkdir(parents=True, exist_ok=True)
    path = RELEASES / ".lock"
    with path.open("w") as lock:
        if not try_lock(lock, path):
            _say("another refresh is at work in this directory")
            return 0
        return _Refresh(order, client, lock).run()


def _say(text: str) -> None:
    print(text, flush=True)


class _Refresh:
    def __init__(self, order: Order, client: Client, lock: IO[str]) -> None:
        self._order, self._client, self._lock = order, client, lock
        self._skipped = read_skipped(SKIPPED)
        self._named: set[str] = set()
        self._damaged: set[Candidate] = set()
        """What was found damaged by this refresh: of one date, one server may have it and then another."""
        self._trial = any(_TRIAL.fullmatch(argument) for argument in order.arguments)

    def run(self) -> int:
        """Makes one release after the other; returns the exit status."""
        before, status, made = self._before(), 0, False
        while True:
            usable = self._usable(before)
            due = sequences(usable, before.dates, self._order.every)
            if not due:
                if not made and not status:
                    _say(_nothing(before, usable, self._order.every))
                break
            dates = due[0]
            offered = {date: usable[date].address for date in dates if date in usable}
            release = before._replace(
                dates=dates, dumps={date: (before.dumps | offered)[date] for date in dates}
            )
            ended, damaged = self._make(before, release)
            if damaged:
                for date, reason in damaged.items():
                    self._skip(usable[date], reason)
                status = 1
                continue
            if ended:
                return ended
            before, made = release, True
        if before.dates and not self._trial:
            for line in cleanup.remove_old(before.dates, self._order.retention):
                _say(line)
        return status

    def _before(self) -> Release:
        """The last release, proved by its files."""
        folder = last_release(RELEASES)
        if folder is None:
            return Release([], {}, {})
        release, _ = read_release(folder)
        check_unchanged(release.configuration, self._order.recorded, self._order.default, folder)
        return release

    def _usable(self, before: Release) -> dict[str, Candidate]:
        """Date -> the dump that can follow the last release; says which ones are skipped."""
        usable: dict[str, Candidate] = {}
        listings, every = self._order.listings, self._order.every
        for candidate in candidates(listings, every, before.dates, self._skipped, self._client):
            known = self._skipped.get(candidate.date)
            if known is None:
                usable.setdefault(candidate.date, candidate)
            elif known.is_same(candidate) or candidate in self._damaged:
                if candidate.date not in self._named:
                    _say(
                        f"skipped {candidate.date}: {known.reason} (remove it from {SKIPPED} to try it again)"
                    )
                self._named.add(candidate.date)
            else:
                _say(f"{candidate.date}: the server has another file than the one that was skipped")
                if not self._trial:
                    del self._skipped[candidate.date]
                    write_skipped(self._skipped, SKIPPED)
                    cleanup.remove_snapshot(candidate.date)
                usable[candidate.date] = candidate
        return usable

    def _skip(self, dump: Candidate, reason: str) -> None:
        self._skipped[dump.date] = Skipped(dump.address, dump.modified, reason)
        write_skipped(self._skipped, SKIPPED)
        _say(f"release {dump.date} is not made, and its dump is skipped from now on: {reason}")
        self._named.add(dump.date)
        self._damaged.add(dump)

    def _make(self, before: Release, release: Release) -> tuple[int, dict[str, str]]:
        """Runs the workflow for one release. Returns the exit status, and date -> reason of damaged dumps."""
        old, new = release.dates[-2:]
        _say(f"release {new}: what changed since {old}")
        _check_intervals(before)
        fresh = [date for date in (old, new) if date not in before.dates]
        if not self._trial:
            for date in fresh:
                self._begin(date, release.dumps[date])
            cleanup.begin(cleanup.RESULTS / f"{old}_{new}")
        logs = {date: build.log_times(date) for date in fresh}
        status = build.run(self._line(before, release), self._lock)
        if status:
            damaged = {date: build.damage(date, logs[date]) for date in fresh}
            if any(damaged.values()):
                return status, {date: reason for date, reason in damaged.items() if reason}
            _say(f"release {new} is not complete; the same command goes on from here")
            return status, {}
        try:
            made, account = read_release(RELEASES / new)
            if made._replace(configuration={}) != release._replace(configuration={}):
                raise InputError(f"{RELEASES / new}: of other dates or dumps than this refresh asked for")
        except InputError as error:
            _say(
                f"release {new} was not made, though Snakemake ended with status 0; nothing was removed "
                f"({error})"
            )
            return 1, {}
        for line in _news(release, account):
            _say(line)
        return 0, {}

    def _begin(self, date: str, dump: str) -> None:
        """Marks the snapshot of a date, after removing one that was begun with another dump."""
        if cleanup.remove_snapshot(date, unless=dump):
            _say(f"{date}: the server has another dump than the one that is here, which is removed")
        cleanup.begin(cleanup.SNAPSHOTS / date, dump)

    def _line(self, before: Release, release: Release) -> list[str]:
        """The command that makes one release."""
        if not SNAKEFILE.is_file():
            raise InputError(f"{SNAKEFILE} is missing: `factdrift refresh` runs the workflow of a checkout")
        unlock()
        values = {
            **self._order.config,
            "snapshots": {"old": release.dates[-2], "new": release.dates[-1]},
            "stream": release.dates,
            "dumps": release.dumps,
            "refresh": {"released": before.dates},
        }
        line = [sys.executable, "-m", "snakemake", "--snakefile", str(SNAKEFILE), "latest"]
        line += [*self._order.arguments, "--config"]
        return line + [f"{key}={json.dumps(value)}" for key, value in values.items()]


def _check_intervals(before: Release) -> None:
    """Raises InputError unless the datasets of the released intervals are those that were released.

    An interval whose release has been taken away is not compared.
    """
    for old, new in zip(before.dates, before.dates[1:], strict=False):
        path = cleanup.RESULTS / f"{old}_{new}" / "wikifactdiff.parquet"
        folder = RELEASES / new
        if not (folder / path.name).is_file():
            continue
        if not path.is_file() or sha256(path) != sha256(folder / path.name):
            raise InputError(
                f"{path}: is missing, or is not the one in {folder}; the stream is made of the files of the "
                "released intervals. Put the folder back as it was, or begin another series in another "
                "directory"
            )


def _news(release: Release, account: Mapping[str, Any]) -> Iterator[str]:
    files, new = account["files"], account["new"]
    scenarios = ", ".join(f"{count:,} {name}" for name, count in new["scenarios"].items()) or "no updates"
    folder, number = RELEASES / release.dates[-1], len(release.dates) - 1
    yield f"{folder}: {len(files)} files, {account['updates']:,} updates in {number} intervals"
    yield f"new since {release.dates[-2]}: {scenarios}"
    yield f"{new['of_chains_before']:,} of them follow earlier updates, {new['reverts']:,} bring a value back"


def _nothing(before: Release, usable: Mapping[str, Candidate], every: int) -> str:
    if before.dates:
        return f"nothing new: no complete dump {every} days or more after {before.dates[-1]}"
    dates = ", ".join(sorted(usable)) or "none"
    return f"nothing new: no two complete dumps {every} days apart (found: {dates})"
