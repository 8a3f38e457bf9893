"""The dumps of a comparison, and whether they can be what their dates say: not one twice, not swapped."""

import datetime
import json
from collections.abc import Iterator
from pathlib import Path
from typing import NamedTuple

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


class _Counts:
    """What snapshot.json says of the dump of a date."""

    def __init__(self, path: Path, date: str) -> None:
        counts = json.loads(path.read_text(encoding="utf-8"))
        self.date, self.file = date, counts["dump"]["file"]
        self.name = f"{date} ({self.file})"
        self.entities = counts["lines"] - counts["bad_lines"]
        self.modified, newest = counts["newest"]["modified"], counts["newest"]["revision"]
        # The revisions of the bundled sample are made up.
        self.revision = newest if newest is not None and newest < MADE_UP_REVISIONS else None
        self.digest = counts["dump"]["digest"]
        self.text = [counts[key] for key in ("lines", "items", "properties", "statements", "newest")]

    def newest(self) -> str:
        if self.modified is None and self.revision is None:
            return "not dated, as in dumps before May 2022"
        return " of ".join(str(part) for part in (self.revision, self.modified) if part is not None)

    def is_after(self, other: "_Counts") -> bool:
        """Whether the newest revision is certainly after that of the other dump."""
        if self.modified is not None and other.modified is not None:
            return bool(self.modified > other.modified)
        if self.revision is not None and other.revision is not None:
            return bool(self.revision > other.revision)
        return self.modified is not None and _day(self.modified) > _day(self.date) + _DAYS

    def warnings(self) -> Iterator[str]:
        """Yields what is odd about the number of entities, or about the newest revision for this date."""
        expected = dump_entities(self.date) or 0
        is_whole = expected > 0 and self.entities > _WHOLE * expected
        # A derived dump has the revisions of another one.
        if self.modified is not None and not self.file.startswith("derived."):
            if _day(self.modified) > _day(self.date) + _DAYS:
                yield f"the dump of {self.name} has revisions until {self.modified}: is it a later one?"
            if is_whole and _day(self.modified) < _day(self.date) - _DAYS:
                yield f"the dump of {self.name} has no revision after {self.modified}: is it an earlier one?"
        if is_whole and self.entities < _EXPECTED * expected:
            yield (
                f"the dump of {self.name} has {self.entities:,} entities; Wikidata's of that date has about "
                f"{expected:,}: a part of it may be missing"
            )


def check_dumps(old: Path, new: Path, old_date: str, new_date: str) -> list[str]:
    """Compares the counts (snapshot.json) of two dumps with each other and with their dates.

    Returns warnings about what may be wrong. Raises InputError if both dumps are the same, or if the old one
    is the newer one.
    """
    before, after = _Counts(old, old_date), _Counts(new, new_date)
    # The same text may be compressed in two ways.
    if before.digest == after.digest or (before.revision is not None and before.text == after.text):
        raise InputError(
            f"the dumps of {before.name} and {after.name} are the same; name two different ones under "
            "`dumps` in the configuration"
        )
    if before.is_after(after):
        raise InputError(
            f"the dump of {before.name} is newer than that of {after.name}: its newest revision is "
            f"{before.newest()}, that of the other {after.newest()}; are the two files swapped under `dumps` "
            "in the configuration?"
        )
    warnings = [*before.warnings(), *after.warnings()]
    if after.entities < _FALL * before.entities:
        warnings.append(
            f"the dump of {after.name} has {after.entities:,} entities, that of {before.name} "
            f"{before.entities:,}: dumps grow, so a part of the new one may be missing"
        )
    return warnings


def _day(text: str) -> datetime.date:
    """The day of `2021-01-04` or `2021-01-04T09:00:00Z`."""
    return datetime.date.fromisoformat(text[:10])
