"""The sample's tables as types, its state on a day, and a dump of it as Wikidata would have published it.

The layout is that of the dumps since 2015 on any day; what was introduced later is written from its day on:
`{}` for an empty map (before: `[]`), `lastrevid`, and the page's own fields. Constraints and examples of
properties are in every dump, even before Wikidata had them as statements.

Days are packed integers (20210104), as `factdrift.wikidata.time` packs them.
"""

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from factdrift.snapshots.compression import php_json
from factdrift.snapshots.sample.rows import other_sites
from factdrift.snapshots.sample.value_text import Snak
from factdrift.wikidata.ids import MADE_UP_REVISIONS, entity_id, property_id
from factdrift.wikidata.time import iso_day

TYPE, START, END, POINT_IN_TIME, EXAMPLE, CONSTRAINT, SEPARATOR = 31, 580, 582, 585, 1855, 2302, 4155
INVERSE = 1696

ALWAYS, NEVER = 0, 99_999_999
"""Days before and after every day that is rendered."""

LAUNCH = 20121029
"""The day on which Wikidata opened: entities and statements without a first day begin then."""

EMPTY_MAPS_SINCE = 20190430
REVISIONS_SINCE = 20190508
PAGES_SINCE = 20220523

PROPERTY_NAMESPACE = 120
MEMBER_SIZE = 256 << 10
"""Text bytes of a gzip member: small enough that the small sample has several, for readers that split it."""

_REVISIONS_AN_ENTITY = 1000
_PROPERTIES_FROM = 10**9


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


class StatementOnDay(NamedTuple):
    """A statement as Wikidata has it on one day."""

    statement: str
    rank: str
    snak: Snak
    qualifiers: tuple[Snak, ...]


def content(sample: Sample, entity: Entity, day: int) -> tuple[bool, list[StatementOnDay]]:
    """All of an entity that changes from day to day: whether it has an English article, and its statements in
    the order of the tables. Equal contents are rendered alike."""
    facts = [fact for fact in sample.facts.get(entity.number, ()) if fact.since <= day < fact.until]
    latest = _latest(facts, day)
    statements = []
    for fact in facts:
        own = (snak for snak, since in fact.qualifiers if since <= day)
        qualifiers = tuple(_redirected(sample, snak, day) for snak in own)
        match fact.rank:
            case "current":
                rank = "preferred" if _holds(fact, qualifiers, day) else "normal"
            case "latest":
                rank = "preferred" if latest.get(fact.snak.property) is fact else "normal"
            case rank:
                pass
        value = _redirected(sample, fact.snak, day)
        statements.append(StatementOnDay(fact.statement, rank, value, qualifiers))
    return bool(entity.title) and entity.article <= day, statements


def history(sample: Sample, entity: Entity, day: int) -> tuple[int, int]:
    """The number of revisions of an entity's content up to a day, and the day of the last one.

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
    return revisions, modified


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
            item = snak.item
            while item is not None and (named := sample.entities[item]).merged < NEVER:
                days.add(named.merged)
                item = named.target
    return days


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
        if fact.rank == "latest" and (begun := [first for first in fact.begins if first <= day]):
            groups[fact.snak.property].append((begun[-1], fact))
    return {number: max(group, key=lambda pair: pair[0])[1] for number, group in groups.items()}


def entity_lines(sample: Sample, day: int) -> Iterator[bytes]:
    """Yields the entities that exist on the day as lines of a dump: items by id, then properties by id."""
    for entity in sorted(
        sample.entities.values(), key=lambda entity: (entity.number < 0, abs(entity.number))
    ):
        if entity.exists(day):
            yield php_json(entity_json(sample, entity, day))


def entity_json(sample: Sample, entity: Entity, day: int) -> dict[str, Any]:
    """One entity, its keys in the order of the dumps."""
    article, statements = content(sample, entity, day)
    claims: dict[str, list[dict[str, Any]]] = {}
    for statement in statements:
        claims.setdefault(property_id(statement.snak.property), []).append(_statement(statement))
    is_item, others = entity.datatype is None, entity.translations
    maps: dict[str, dict[str, Any]] = {
        "labels": _terms(entity.label, [(language, label) for language, label, _ in others]),
        "descriptions": _terms(entity.description, [(language, text) for language, _, text in others]),
        "aliases": {"en": [_text(alias) for alias in entity.aliases]} if entity.aliases else {},
        "claims": claims,
    }
    if is_item:
        maps["sitelinks"] = _sitelinks(entity, article)
    name = entity_id(entity.number)
    rendered: dict[str, Any] = {"type": "item" if is_item else "property"}
    if not is_item:
        rendered["datatype"] = entity.datatype
    rendered["id"] = name
    rendered |= {key: value if value or day >= EMPTY_MAPS_SINCE else [] for key, value in maps.items()}
    if day >= REVISIONS_SINCE:
        revisions, modified = history(sample, entity, day)
        page = abs(entity.number) + (0 if is_item else _PROPERTIES_FROM)
        if day >= PAGES_SINCE:
            rendered["pageid"] = page
            rendered["ns"] = 0 if is_item else PROPERTY_NAMESPACE
            rendered["title"] = name if is_item else f"Property:{name}"
        rendered["lastrevid"] = MADE_UP_REVISIONS + page * _REVISIONS_AN_ENTITY + revisions
        if day >= PAGES_SINCE:
            rendered["modified"] = f"{iso_day(modified)}T00:00:00Z"
    return rendered


def _statement(statement: StatementOnDay) -> dict[str, Any]:
    rendered: dict[str, Any] = {"mainsnak": _snak(statement.snak), "type": "statement"}
    if statement.qualifiers:
        groups: dict[str, list[dict[str, Any]]] = {}
        for snak in statement.qualifiers:
            groups.setdefault(property_id(snak.property), []).append(_qualifier(snak))
        rendered["qualifiers"] = groups
        rendered["qualifiers-order"] = list(groups)
    return rendered | {"id": statement.statement, "rank": statement.rank}


def _snak(snak: Snak) -> dict[str, Any]:
    rendered: dict[str, Any] = {"snaktype": snak.kind, "property": property_id(snak.property)}
    if snak.kind == "value":
        rendered["datavalue"] = {"value": snak.value, "type": snak.type}
    return rendered | {"datatype": snak.datatype}


def _qualifier(snak: Snak) -> dict[str, Any]:
    """A qualifier carries a hash of itself after its property."""
    plain = _snak(snak)
    named = {key: plain.pop(key) for key in ("snaktype", "property")}
    return named | {"hash": hashlib.sha1(php_json(named | plain)).hexdigest()} | plain


def _text(value: str, language: str = "en") -> dict[str, str]:
    return {"language": language, "value": value}


def _terms(english: str, others: list[tuple[str, str]]) -> dict[str, Any]:
    return {language: _text(text, language) for language, text in [("en", english), *others] if text}


def _sitelinks(entity: Entity, article: bool) -> dict[str, Any]:
    """The English article, then as many other sites as the table counts, all with the same title."""
    others = max(entity.sitelinks - bool(entity.title), 0)
    sites = ["enwiki"] if article else []
    title = entity.title or entity.label or entity_id(entity.number)
    return {site: {"site": site, "title": title, "badges": []} for site in (*sites, *other_sites()[:others])}
