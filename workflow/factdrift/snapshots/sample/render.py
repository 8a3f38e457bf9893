"""A dump of the sample as Wikidata would have published it on a day.

The layout is that of the dumps since 2015 on any day; what was introduced later is written from its day on:
`{}` for an empty map (before: `[]`), `lastrevid`, and the page's own fields. Constraints and examples of
properties are in every dump, even before Wikidata had them as statements.
"""

import hashlib
from collections.abc import Iterator
from typing import Any

from factdrift.snapshots.compression import php_json
from factdrift.snapshots.sample.model import Entity, Sample, Standing, content, day_text, history
from factdrift.snapshots.sample.rows import other_sites
from factdrift.snapshots.sample.value_text import Snak
from factdrift.wikidata.ids import MADE_UP_REVISIONS, entity_id, property_id

EMPTY_MAPS_SINCE = 20190430
REVISIONS_SINCE = 20190508
PAGES_SINCE = 20220523

PROPERTY_NAMESPACE = 120
MEMBER_SIZE = 256 << 10
"""Text bytes of a gzip member: small enough that the small sample has several, for readers that split it."""

_REVISIONS_AN_ENTITY = 1000
_PROPERTIES_FROM = 10**9


def entity_lines(sample: Sample, day: int) -> Iterator[bytes]:
    """Yields the entities that exist on the day as lines of a dump: items by id, then properties by id."""
    for entity in sorted(
        sample.entities.values(), key=lambda entity: (entity.number < 0, abs(entity.number))
    ):
        if entity.exists(day):
            yield php_json(entity_json(sample, entity, day))


def entity_json(sample: Sample, entity: Entity, day: int) -> dict[str, Any]:
    """One entity, its keys in the order of the dumps."""
    here = content(sample, entity, day)
    claims: dict[str, list[dict[str, Any]]] = {}
    for statement in here.statements:
        claims.setdefault(property_id(statement.snak.property), []).append(_statement(statement))
    is_item = entity.datatype is None
    maps: dict[str, dict[str, Any]] = {
        "labels": _terms(entity.label, [(language, label) for language, label, _ in entity.translations]),
        "descriptions": _terms(
            entity.description, [(language, text) for language, _, text in entity.translations]
        ),
        "aliases": {"en": [_text(alias) for alias in entity.aliases]} if entity.aliases else {},
        "claims": claims,
    }
    if is_item:
        maps["sitelinks"] = _sitelinks(entity, here.article)
    name = entity_id(entity.number)
    rendered: dict[str, Any] = {"type": "item" if is_item else "property"}
    if not is_item:
        rendered["datatype"] = entity.datatype
    rendered["id"] = name
    rendered |= {key: value if value or day >= EMPTY_MAPS_SINCE else [] for key, value in maps.items()}
    if day >= REVISIONS_SINCE:
        past = history(sample, entity, day)
        page = abs(entity.number) + (0 if is_item else _PROPERTIES_FROM)
        if day >= PAGES_SINCE:
            rendered["pageid"] = page
            rendered["ns"] = 0 if is_item else PROPERTY_NAMESPACE
            rendered["title"] = name if is_item else f"Property:{name}"
        rendered["lastrevid"] = MADE_UP_REVISIONS + page * _REVISIONS_AN_ENTITY + past.revisions
        if day >= PAGES_SINCE:
            rendered["modified"] = f"{day_text(past.modified)}T00:00:00Z"
    return rendered


def _statement(statement: Standing) -> dict[str, Any]:
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
