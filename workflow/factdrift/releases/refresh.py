"""`factdrift refresh`: finds new dumps, makes a release of each new date, and removes old snapshots."""

from __future__ import annotations

import json
import shutil
import subprocess
import sys
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from factdrift.errors import InputError
from factdrift.nodes import try_lock
from factdrift.paths import CONFIG
from factdrift.releases.plan import later, newest_two, sequences
from factdrift.releases.release import Release, last_release
from factdrift.snapshots.fetch import Client
from factdrift.snapshots.listing import complete_dumps
from factdrift.snapshots.registry import Dump, read_registry
from factdrift.unlock import unlock

RELEASES = Path("results/releases")
SNAPSHOTS = Path("results/snapshots")

TABLES_OF_FILTERS = ("filtered", "kept")
"""Folders of a pair that only the pair's own jobs read: most of its bytes."""


class Settings(NamedTuple):
    """`listings`: addresses of the folders in which servers keep dumps. `every`: least days between two
    dates. `retention`: snapshots that are kept."""

    listings: Sequence[str]
    every: int
    retention: int


def refresh(
    settings: Settings,
    client: Client,
    config: dict[str, Any],
    arguments: Sequence[str],
    say: Callable[[str], None],
) -> int:
    """Makes all releases that are due; returns the exit status: 0 also if there was nothing to do.

    `config`: keys of the configuration for each build. `arguments`: further ones for Snakemake. Only one
    refresh works in a directory; a second one says so and leaves. Safe to repeat after any interruption.
    Raises InputError if a listing cannot be read.
    """
    RELEASES.mkdir(parents=True, exist_ok=True)
    lock = RELEASES / ".lock"
    with lock.open("w") as file:
        if not try_lock(file, lock):
            say("another refresh is at work in this directory")
            return 0
        return _refresh(settings, client, config, arguments, say)


def _refresh(
    settings: Settings,
    client: Client,
    config: dict[str, Any],
    arguments: Sequence[str],
    say: Callable[[str], None],
) -> int:
    last = last_release(RELEASES)
    before = last[0] if last else Release([], {})
    dumps = {dump.date: dump for dump in available(settings, before.dates, client)}
    due = sequences(dumps, before.dates, settings.every)
    if not due:
        say(_nothing(before, dumps, settings.every))
    for dates in due:
        sources = before.dumps | {date: address(dumps[date]) for date in dates if date in dumps}
        release = Release(dates, {date: sources[date] for date in dates})
        say(f"release {dates[-1]}: what changed since {dates[-2]}")
        status = _build(release, config, arguments)
        if status:
            say(f"release {dates[-1]} is not complete; the same command goes on from here")
            return status
        for line in _account():
            say(line)
        before = release
    for path in removed(before.dates, settings.retention):
        say(f"removed {path} (refresh.retention: {settings.retention})")
    return 0


def available(settings: Settings, released: Sequence[str], client: Client) -> Iterator[Dump]:
    """The dumps from which the next releases can be made: those of the registry, and complete ones listed.

    Of a listing no more folders are asked for than needed.
    """
    after = later(released[-1], settings.every - 1) if released else ""
    registry = [dump for dump in read_registry().values() if dump.date > after]
    yield from registry
    for listing in settings.listings:
        seen = [dump.date for dump in registry]
        for dump in complete_dumps(listing, after, client):
            yield dump
            seen.append(dump.date)
            newest = newest_two(seen, settings.every)
            if not released and newest and dump.date <= newest[0]:
                break


def address(dump: Dump) -> str:
    """The dump as a value of `dumps` in the configuration: its address with the checksum."""
    digest = next((f"#{kind}={dump.digests[kind]}" for kind in ("sha1", "md5") if kind in dump.digests), "")
    return dump.urls[0] + digest


def removed(dates: Sequence[str], retention: int) -> Iterator[Path]:
    """Removes the snapshots of all but the newest `retention` dates, with the tables made of them alone."""
    old = dates[: max(len(dates) - retention, 0)]
    for index, date in enumerate(old):
        pair = SNAPSHOTS.parent / f"{date}_{dates[index + 1]}"
        for path in (SNAPSHOTS / date, *(pair / name for name in TABLES_OF_FILTERS)):
            if path.is_dir():
                shutil.rmtree(path)
                yield path


def _build(release: Release, config: dict[str, Any], arguments: Sequence[str]) -> int:
    """Runs the workflow for one release; returns its exit status."""
    snakefile = CONFIG.parent / "Snakefile"
    if not snakefile.is_file():
        raise InputError(f"{snakefile} is missing: `factdrift refresh` runs the workflow of a checkout")
    unlock()
    values = config | {
        "snapshots": {"old": release.dates[-2], "new": release.dates[-1]},
        "stream": release.dates,
        "dumps": release.dumps,
    }
    line = [sys.executable, "-m", "snakemake", "--snakefile", str(snakefile), "latest"]
    # Intervals that were released stay as they are: their snapshots may be gone, here and on the servers.
    line += ["--rerun-triggers", "mtime", *arguments]
    line += ["--config", *(f"{key}={json.dumps(value)}" for key, value in values.items())]
    return subprocess.run(line, check=False).returncode


def _account() -> Iterator[str]:
    found = last_release(RELEASES)
    assert found is not None
    release, account = found
    files = account["files"]
    assert isinstance(files, dict)
    new = account["new"]
    assert isinstance(new, dict)
    scenarios = ", ".join(f"{count:,} {name}" for name, count in new["scenarios"].items()) or "no updates"
    folder, number = RELEASES / release.dates[-1], len(release.dates) - 1
    yield f"{folder}: {len(files)} files, {account['updates']:,} updates in {number} intervals"
    yield f"new since {release.dates[-2]}: {scenarios}"
    yield f"{new['of_chains_before']:,} of them follow earlier updates, {new['reverts']:,} bring a value back"


def _nothing(before: Release, dumps: dict[str, Dump], every: int) -> str:
    if before.dates:
        return f"nothing new: no complete dump {every} days or more after {before.dates[-1]}"
    found = ", ".join(sorted(dumps)) or "none"
    return f"nothing new: no two complete dumps {every} days apart (found: {found})"
