"""The dumps of a comparison, and whether they can be what their dates say: not one twice, not swapped."""

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

from factdrift.core.errors import InputError
from factdrift.wikidata.ids import MADE_UP_REVISIONS
from factdrift.wikidata.sizes import dump_entities

_DAYS = datetime.timedelta(days=31)
"""How far the newest revision of a dump may be from its date: writing a dump takes some days."""

_FALL = 0.98
"""Share of the old dump's entities that the new one has at least; Wikidata grows."""

_WHOLE, _EXPECTED = 0.5, 0.95
"""A dump with at least the first share of the entities that one of its date has is meant to be whole, and it
should have the second."""


class Dump(NamedTuple):
    """The two tables of one bucket of a dump that `updates preprocess` writes."""

    filtered: Path
    kept: Path


def check_dumps(old: Path, new: Path, old_date: str, new_date: str) -> list[str]:
    """Compares the counts (snapshot.json) of two dumps with each other and with their dates.

    Returns warnings about what may be wrong. Raises InputError if both dumps are the same, or if the old one
    is the newer one.
    """
    before, after = _counts(old), _counts(new)
    _refuse_same(before, after, old_date, new_date)
    _refuse_swapped(before, after, old_date, new_date)
    warnings = [*_dated(before, old_date), *_dated(after, new_date)]
    warnings += [*_incomplete(before, old_date), *_incomplete(after, new_date)]
    if _entities(after) < _FALL * _entities(before):
        warnings.append(
            f"the dump of {new_date} ({_name(after)}) has {_entities(after):,} entities, that of {old_date} "
            f"({_name(before)}) {_entities(before):,}: dumps grow, so a part of the new one may be missing"
        )
    return warnings


def _counts(path: Path) -> dict[str, Any]:
    counts: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    # Snapshots that an earlier version has made know neither.
    counts["dump"] = {"digest": None} | counts["dump"]
    return {"newest": {"revision": None, "modified": None}} | counts


def _name(counts: dict[str, Any]) -> str:
    return str(counts["dump"]["file"])


def _entities(counts: dict[str, Any]) -> int:
    return int(counts["lines"] - counts["bad_lines"])


def _refuse_same(before: dict[str, Any], after: dict[str, Any], old_date: str, new_date: str) -> None:
    same = ("lines", "items", "properties", "statements", "newest")
    # The same text may be compressed in two ways.
    is_same_text = _revision(before) is not None and all(before[field] == after[field] for field in same)
    digests = before["dump"]["digest"], after["dump"]["digest"]
    if (None not in digests and digests[0] == digests[1]) or is_same_text:
        raise InputError(
            f"the dumps of {old_date} ({_name(before)}) and {new_date} ({_name(after)}) are the same; name "
            "two different ones under `dumps` in the configuration"
        )


def _refuse_swapped(before: dict[str, Any], after: dict[str, Any], old_date: str, new_date: str) -> None:
    modified = before["newest"]["modified"], after["newest"]["modified"]
    revisions = _revision(before), _revision(after)
    if None not in modified:
        swapped = modified[0] > modified[1]
    elif None not in revisions:
        swapped = revisions[0] > revisions[1]  # type: ignore[operator]
    else:
        swapped = modified[0] is not None and _day(modified[0]) > _day(old_date) + _DAYS
    if swapped:
        raise InputError(
            f"the dump of {old_date} ({_name(before)}) is newer than that of {new_date} ({_name(after)}): "
            f"its newest revision is {_newest(before)}, that of the other {_newest(after)}; are the two "
            "files swapped under `dumps` in the configuration?"
        )


def _revision(counts: dict[str, Any]) -> int | None:
    """The newest revision of Wikidata; the bundled sample's are made up."""
    newest = counts["newest"]["revision"]
    return int(newest) if newest is not None and newest < MADE_UP_REVISIONS else None


def _newest(counts: dict[str, Any]) -> str:
    modified, revision = counts["newest"]["modified"], _revision(counts)
    if modified is None and revision is None:
        return "not dated, as in dumps before May 2022"
    return " of ".join(str(part) for part in (revision, modified) if part is not None)


def _dated(counts: dict[str, Any], date: str) -> Iterator[str]:
    """Yields a warning if the newest revision is far from the date; a derived dump has those of another."""
    modified = counts["newest"]["modified"]
    if modified is None or _name(counts).startswith("derived."):
        return
    if _day(modified) > _day(date) + _DAYS:
        yield f"the dump of {date} ({_name(counts)}) has revisions until {modified}: is it a later one?"
    expected = dump_entities(date)
    if expected and _entities(counts) > _WHOLE * expected and _day(modified) < _day(date) - _DAYS:
        yield f"the dump of {date} ({_name(counts)}) has no revision after {modified}: is it an earlier one?"


def _incomplete(counts: dict[str, Any], date: str) -> Iterator[str]:
    expected = dump_entities(date)
    if expected and _WHOLE * expected < _entities(counts) < _EXPECTED * expected:
        yield (
            f"the dump of {date} ({_name(counts)}) has {_entities(counts):,} entities; Wikidata's of that "
            f"date has about {expected:,}: a part of it may be missing"
        )


def _day(text: str) -> datetime.date:
    """The day of `2021-01-04` or `2021-01-04T09:00:00Z`."""
    return datetime.date.fromisoformat(text[:10])
