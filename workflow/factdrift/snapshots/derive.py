"""Approximates the snapshot of an old date D from a newer dump, by the dates in that dump.

A date counts as the first day that it covers at its precision.

* Statements whose start (P580) or point in time (P585) is after D are dropped.
* Ends (P582) after D are dropped.
* If a group of statements loses all its preferred ones, the statement that began last among those that held
  on D becomes preferred.
* Items whose earliest creation date is after D are dropped. `CREATION`: the eight properties that also decide
  which entities are new.

All else is as in the newer dump, dates that are values (of death) and values that name a dropped item too;
docs/decisions.md says what such a snapshot cannot know. A changed item is written without `lastrevid` and
`modified`, because no revision had this content.
"""

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import msgspec

from factdrift.core.errors import InputError
from factdrift.core.progress import Progress
from factdrift.snapshots.compression import dump_writer, php_json
from factdrift.wikidata.entity import UNREADABLE, Entity, Snak, Statement, read_entity, snaks
from factdrift.wikidata.shares import Share, check_shares
from factdrift.wikidata.values import read_time

START, END, POINT_IN_TIME = "P580", "P582", "P585"
CREATION = ("P571", "P569", "P580", "P575", "P1619", "P6949", "P585", "P577")

_DATED = tuple(f'"{name}"'.encode() for name in (END, *CREATION))


@dataclass(slots=True)
class Derived:
    """Counts of the newer dump's lines, of unreadable ones, and of what was dropped or changed."""

    lines: int = 0
    unreadable: int = 0
    items_dropped: int = 0
    statements_dropped: int = 0
    ends_dropped: int = 0
    newly_preferred: int = 0


_parts_decoder = msgspec.json.Decoder(dict[str, msgspec.Raw])
_claims_decoder = msgspec.json.Decoder(dict[str, list[msgspec.Raw]])


def derive_dump(dump: str | Path, day: int, path: str | Path) -> Derived:
    """Writes the approximate snapshot of a day (packed) as `path`, which must end in `.json.gz`.

    Entities that need no change are copied byte for byte, and so are lines that are not entities, so that the
    reader of the result counts them. Raises InputError if the dump cannot be read to its end.
    """
    if not str(path).endswith(".json.gz"):
        raise InputError(f"{path}: a derived dump is written as .json.gz; rename the output")
    counts = Derived()
    share = Share(dump)
    progress = Progress(f"deriving {Path(path).name}", share.size / 1e6, "MB", beside="entities")
    with dump_writer(path) as writer:
        for _, _, text in share.lines():
            if (derived := derive_line(text, day, counts)) is not None:
                writer.write(derived)
            progress.advance(share.passed / 1e6 - progress.done, beside=1)
        check_shares(share.path, [share.account])  # before the file has its name
    progress.done = share.size / 1e6
    progress.say()
    return counts


def derive_line(text: bytes, day: int, counts: Derived) -> bytes | None:
    """A line as of the day, None if the entity did not exist yet; adds to `counts`."""
    counts.lines += 1
    if not any(name in text for name in _DATED):
        return text
    try:
        entity = read_entity(text)
        created = _created(entity) if entity.type == "item" else None
        touched = [
            name
            for name, group in entity.statements.items()
            if any(_is_late(claim, day) or _late_ends(claim, day) for claim in group)
        ]
    except UNREADABLE:
        counts.unreadable += 1
        return text
    if created is not None and created > day:
        counts.items_dropped += 1
        return None
    if not touched:
        return text
    parts = _parts_decoder.decode(text)
    raw = _claims_decoder.decode(parts["claims"])
    for name in touched:
        raw[name] = _derive_group(entity.stated(name), raw[name], day, counts)
    parts["claims"] = msgspec.Raw(msgspec.json.encode({name: group for name, group in raw.items() if group}))
    for name in ("lastrevid", "modified"):
        parts.pop(name, None)
    return msgspec.json.encode(parts)


def _derive_group(
    group: list[Statement], raw: list[msgspec.Raw], day: int, counts: Derived
) -> list[msgspec.Raw]:
    """The statements of one property as of the day."""
    kept = [(claim, text) for claim, text in zip(group, raw, strict=True) if not _is_late(claim, day)]
    counts.statements_dropped += len(group) - len(kept)
    prefer = None
    if any(claim.rank == "preferred" and _is_late(claim, day) for claim in group):
        prefer = _successor([claim for claim, _ in kept], day)
    derived = []
    for claim, text in kept:
        ends = _late_ends(claim, day)
        if ends or claim is prefer:
            statement = msgspec.json.decode(text)
            if ends:
                _drop_ends(statement, ends)
                counts.ends_dropped += len(ends)
            if claim is prefer:
                statement["rank"] = "preferred"
                counts.newly_preferred += 1
            text = msgspec.Raw(php_json(statement))
        derived.append(text)
    return derived


def _successor(kept: list[Statement], day: int) -> Statement | None:
    """The statement that began last of those that held on the day; the first of several.

    None if a statement is preferred already, or if several held and none has a start.
    """
    if any(statement.rank == "preferred" for statement in kept):
        return None
    began: list[tuple[int, Statement]] = []
    undated: list[Statement] = []
    for statement in kept:
        late = _late_ends(statement, day)
        ends = [end for index, end in enumerate(_snaks(statement, END)) if index not in late]
        if statement.rank != "normal" or any(end.snaktype != "novalue" for end in ends):
            continue
        start = _earliest(statement, START)
        start = _earliest(statement, POINT_IN_TIME) if start is None else start
        if start is None:
            undated.append(statement)
        else:
            began.append((start, statement))
    if began:
        return max(began, key=lambda pair: pair[0])[1]
    return undated[0] if len(undated) == 1 else None


def _drop_ends(statement: dict[str, Any], indices: set[int]) -> None:
    """Removes the ends at these positions from a statement; without ends, the qualifier P582 altogether."""
    qualifiers = statement["qualifiers"]
    qualifiers[END] = [end for index, end in enumerate(qualifiers[END]) if index not in indices]
    if not qualifiers[END]:
        del qualifiers[END]
        if "qualifiers-order" in statement:
            statement["qualifiers-order"] = [name for name in statement["qualifiers-order"] if name != END]
    if not qualifiers:
        del statement["qualifiers"]
        statement.pop("qualifiers-order", None)


def _is_late(statement: Statement, day: int) -> bool:
    """Whether the statement's first start or first point in time is after the day."""
    firsts = (_earliest(statement, START), _earliest(statement, POINT_IN_TIME))
    return any(first is not None and first > day for first in firsts)


def _late_ends(statement: Statement, day: int) -> set[int]:
    """Positions of the ends after the day in the statement's list of ends."""
    ends = _snaks(statement, END)
    return {index for index, end in enumerate(ends) if any(first > day for first in _days([end]))}


def _created(entity: Entity) -> int | None:
    """First day of the earliest creation date of an item; deprecated statements do not count."""
    stated = (claim for name in CREATION for claim in entity.stated(name))
    return min(_days(claim.mainsnak for claim in stated if claim.rank != "deprecated"), default=None)


def _earliest(statement: Statement, name: str) -> int | None:
    """First day, packed, of the earliest valid date of a qualifier; None if there is none."""
    return min(_days(_snaks(statement, name)), default=None)


def _snaks(statement: Statement, name: str) -> list[Snak]:
    """The snaks of a qualifier. Raises one of UNREADABLE."""
    qualifiers = statement.qualifiers
    return snaks(qualifiers[name]) if isinstance(qualifiers, dict) and name in qualifiers else []


def _days(stated: Iterable[Snak]) -> Iterator[int]:
    """First days, packed, of all valid dates among snaks."""
    for snak in stated:
        if snak.snaktype == "value" and snak.datavalue and (time := read_time(snak.datavalue.value)):
            yield time.first
