"""The sample's tables as types, and its state on a day: statements, their qualifiers and their ranks.

Days are packed integers (20210104), as `factdrift.wikidata.time` packs them.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from factdrift.snapshots.sample.value_text import Snak
from factdrift.wikidata.time import unpack

TYPE, START, END, POINT_IN_TIME, EXAMPLE, CONSTRAINT, SEPARATOR = 31, 580, 582, 585, 1855, 2302, 4155
INVERSE = 1696

ALWAYS, NEVER = 0, 99_999_999
"""Days before and after every day that is rendered."""

LAUNCH = 20121029
"""The day on which Wikidata opened: entities and statements without a first day begin then."""


class Entity(NamedTuple):
    """An item (`number` > 0), or a property (`number` < 0, then with `datatype`).

    `title` is that of the English article, which exists from the day `article`; `sitelinks` the number of all
    sites with a page. From the day `merged` the item is a redirect to `target`.
    """

    number: int
    label: str
    description: str
    aliases: tuple[str, ...]
    datatype: str | None = None
    title: str = ""
    sitelinks: int = 0
    created: int = ALWAYS
    article: int = ALWAYS
    merged: int = NEVER
    target: int = 0
    deleted: int = NEVER
    translations: tuple[tuple[str, str, str], ...] = ()
    """Language, label and description in other languages than English."""

    def exists(self, day: int) -> bool:
        return self.created <= day < min(self.merged, self.deleted)


class Qualifier(NamedTuple):
    """A qualifier and the day from which its statement has it."""

    snak: Snak
    since: int


class Fact(NamedTuple):
    """A statement that Wikidata has from the day `since` to the day before `until`.

    `rank` is one of Wikidata's or `current` or `latest`, which the rendered day decides; `begins` are the
    first days of the start times or, without any, of the points in time.
    """

    subject: int
    snak: Snak
    qualifiers: tuple[Qualifier, ...]
    rank: str
    statement: str
    since: int
    until: int
    begins: tuple[int, ...]


class Sample(NamedTuple):
    """Entities by number, and the facts of each (properties have some too) in the order of the files."""

    entities: dict[int, Entity]
    facts: dict[int, list[Fact]]

    def redirected(self, item: int, day: int) -> int:
        """The item to which `item` redirects on this day; `item` itself if it was not merged."""
        while (entity := self.entities.get(item)) is not None and entity.merged <= day:
            item = entity.target
        return item


class Standing(NamedTuple):
    """A statement as Wikidata has it on one day."""

    statement: str
    rank: str
    snak: Snak
    qualifiers: tuple[Snak, ...]


class Content(NamedTuple):
    """All of an entity that changes from day to day; two equal contents are rendered alike."""

    article: bool
    statements: tuple[Standing, ...]


class History(NamedTuple):
    """The number of revisions of an entity's content up to a day, and the day of the last one."""

    revisions: int
    modified: int


def content(sample: Sample, entity: Entity, day: int) -> Content:
    """The content of an entity on the day, its statements in the order of the tables."""
    facts = [fact for fact in sample.facts.get(entity.number, ()) if fact.since <= day < fact.until]
    latest = _latest(facts, day)
    statements = []
    for fact in facts:
        qualifiers = tuple(
            _redirected(sample, qualifier.snak, day)
            for qualifier in fact.qualifiers
            if qualifier.since <= day
        )
        match fact.rank:
            case "current":
                rank = "preferred" if _holds(fact, qualifiers, day) else "normal"
            case "latest":
                rank = "preferred" if latest.get(fact.snak.property) is fact else "normal"
            case rank:
                pass
        statements.append(Standing(fact.statement, rank, _redirected(sample, fact.snak, day), qualifiers))
    return Content(bool(entity.title) and entity.article <= day, tuple(statements))


def history(sample: Sample, entity: Entity, day: int) -> History:
    """Counts the days up to this one on which the entity's content changed.

    An entity without a day of creation was created on the day on which Wikidata opened.
    """
    began = max(entity.created, LAUNCH)
    revisions, modified = 1, began
    before = content(sample, entity, began)
    for event in sorted(_events(sample, entity)):
        if began < event <= day:
            after = content(sample, entity, event)
            if after != before:
                revisions, modified, before = revisions + 1, event, after
    return History(revisions, modified)


def day_text(day: int) -> str:
    """20210104 -> `2021-01-04`."""
    return "{:04d}-{:02d}-{:02d}".format(*unpack(day))


def _events(sample: Sample, entity: Entity) -> set[int]:
    """Every day on which the entity's content may change."""
    days = {entity.article}
    for fact in sample.facts.get(entity.number, ()):
        days.update((fact.since, fact.until))
        days.update(fact.begins)
        for snak, since in ((fact.snak, ALWAYS), *fact.qualifiers):
            days.add(since)
            if snak.property == END and snak.time:
                days.add(snak.time.first)
            if snak.item is not None:
                days.update(_merges(sample, snak.item))
    return days


def _merges(sample: Sample, item: int) -> Iterable[int]:
    while (entity := sample.entities[item]).merged < NEVER:
        yield entity.merged
        item = entity.target


def _redirected(sample: Sample, snak: Snak, day: int) -> Snak:
    if snak.item is None:
        return snak
    item = sample.redirected(snak.item, day)
    return snak if item == snak.item else snak.redirected(item)


def _holds(fact: Fact, qualifiers: Iterable[Snak], day: int) -> bool:
    """Whether the fact has begun and, according to its statement on the day, not ended since."""
    begun = [first for first in fact.begins if first <= day]
    if fact.begins and not begun:
        return False
    ends = [snak for snak in qualifiers if snak.property == END]
    if any(snak.kind == "somevalue" for snak in ends):
        return False
    ended = [snak.time.first for snak in ends if snak.time and snak.time.first <= day]
    return not ended or (bool(begun) and begun[-1] > max(ended))


def _latest(facts: Iterable[Fact], day: int) -> dict[int, Fact]:
    """By property, the fact of rank `latest` with the latest start up to the day; of several the first."""
    groups: dict[int, list[tuple[int, Fact]]] = defaultdict(list)
    for fact in facts:
        begun = [first for first in fact.begins if first <= day]
        if fact.rank == "latest" and begun:
            groups[fact.snak.property].append((begun[-1], fact))
    return {number: max(group, key=lambda pair: pair[0])[1] for number, group in groups.items()}
