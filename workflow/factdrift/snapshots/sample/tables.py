"""The bundled sample's tables, read: dated facts from which a dump of any day can be rendered.

A folder holds `properties.tsv`, `entities/*.tsv`, `facts/*.tsv` and maybe `translations.tsv`: UTF-8,
tab-separated, a header row, no quoting. The README beside the tables explains the columns.
"""

import uuid
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path

from factdrift.snapshots.sample.model import (
    ALWAYS,
    CONSTRAINT,
    END,
    EXAMPLE,
    INVERSE,
    NEVER,
    POINT_IN_TIME,
    SEPARATOR,
    START,
    TYPE,
    Entity,
    Fact,
    Qualifier,
    Sample,
)
from factdrift.snapshots.sample.rows import Row, read_rows
from factdrift.snapshots.sample.value_text import (
    DATATYPES,
    Snak,
    item_number,
    item_value,
    parse_day,
    parse_snak,
)
from factdrift.wikidata.ids import entity_id, entity_number, property_number

ENTITY_COLUMNS = (
    "id label description aliases title sitelinks created article merged deleted classes note source "
    "id_votes id_sources"
)
FACT_COLUMNS = (
    "subject property value start end pit qualifiers rank stated end_stated removed statement source checked"
)
TRANSLATION_COLUMNS = "id language label description source"
PROPERTY_COLUMNS = (
    "id label description aliases datatype types constraints separators inverses examples source"
)
RANKS = ("normal", "preferred", "deprecated", "current", "latest")

CONSTRAINTS = {"single-value": 19474404, "single-best-value": 52060874, "symmetric": 21510862}

_STRUCTURE = {
    **dict.fromkeys((TYPE, EXAMPLE, CONSTRAINT), "wikibase-item"),
    **dict.fromkeys((SEPARATOR, INVERSE), "wikibase-property"),
    **dict.fromkeys((START, END, POINT_IN_TIME), "time"),
}
"""Datatypes of the properties that the tables use through columns of their own, listed or not."""

_GUIDS = uuid.uuid5(uuid.NAMESPACE_URL, "http://www.wikidata.org/entity/statement/")


def read_sample(folder: str | Path) -> Sample:
    """Reads all tables of the folder.

    Raises InputError that names the first problem with file and line. What only the whole shows (rows that
    occur twice, redirects in a circle, states that overlap) is looked at by the tests of the bundled tables.
    """
    folder = Path(folder)
    reader = _Reader()
    properties, items = [folder / "properties.tsv"], sorted(folder.glob("entities/*.tsv"))
    read_rows(properties, PROPERTY_COLUMNS, reader.add_property)
    read_rows(items, ENTITY_COLUMNS, reader.add_item)
    read_rows(properties, PROPERTY_COLUMNS, reader.add_property_facts)
    read_rows(items, ENTITY_COLUMNS, reader.add_classes)
    read_rows(sorted(folder.glob("facts/*.tsv")), FACT_COLUMNS, reader.add_fact)
    read_rows(sorted(folder.glob("translations.tsv")), TRANSLATION_COLUMNS, reader.add_translation)
    return Sample(reader.entities, dict(reader.facts))


class _Reader:
    """Collects the rows of the tables. Entities must be added before the facts that refer to them."""

    def __init__(self) -> None:
        self.entities: dict[int, Entity] = {}
        self.facts: dict[int, list[Fact]] = defaultdict(list)
        self._datatypes: dict[int, str] = dict(_STRUCTURE)
        self._alike: dict[tuple[str, ...], int] = defaultdict(int)
        self._snaks: dict[tuple[int, str], Snak] = {}

    def add_property(self, row: Row) -> None:
        number, datatype = property_number(row["id"]), row["datatype"]
        if datatype not in DATATYPES or _STRUCTURE.get(number, datatype) != datatype:
            raise ValueError(f"{datatype!r} is no datatype that {row['id']} can have")
        self._datatypes[number] = datatype
        names = row["label"], row["description"], _split(row["aliases"])
        self.entities[-number] = Entity(-number, *names, datatype)

    def add_item(self, row: Row) -> None:
        number, created = item_number(row["id"]), _day(row["created"], ALWAYS)
        merged, _, target = row["merged"].partition(">")
        self.entities[number] = Entity(
            number,
            row["label"],
            row["description"],
            _split(row["aliases"]),
            title=row["title"],
            sitelinks=int(row["sitelinks"] or 0),
            created=created,
            article=max(created, _day(row["article"], ALWAYS)),
            merged=_day(merged, NEVER),
            target=item_number(target) if merged else 0,
            deleted=_day(row["deleted"], NEVER),
        )

    def add_classes(self, row: Row) -> None:
        for text in row["classes"].split():
            self.add_made(item_number(row["id"]), TYPE, text)

    def add_translation(self, row: Row) -> None:
        """Adds label and description in another language to an entity."""
        entity = self.entities[entity_number(row["id"]) or 0]
        added = (row["language"], row["label"], row["description"])
        self.entities[entity.number] = entity._replace(translations=(*entity.translations, added))

    def add_property_facts(self, row: Row) -> None:
        """P31 from `types`, P2302 with P4155 from `constraints` and `separators`, P1696 from `inverses`, and
        P1855 from `examples`."""
        number = property_number(row["id"])
        for text in row["types"].split():
            self.add_made(-number, TYPE, text)
        separators = [(SEPARATOR, text) for text in row["separators"].split()]
        for constraint in row["constraints"].split():
            # The constraint's own item is no subject of the sample and needs no row.
            value = item_value(CONSTRAINTS[constraint])
            snak = Snak(CONSTRAINT, "value", "wikibase-item", "wikibase-entityid", value)
            self.add_made(-number, CONSTRAINT, snak, [] if constraint == "symmetric" else separators)
        for text in row["inverses"].split():
            self.add_made(-number, INVERSE, text)
        for text in _split(row["examples"]):
            subject, _, value_text = text.partition(">")
            self.add_made(-number, EXAMPLE, subject, [(number, value_text)])

    def add_fact(self, row: Row) -> None:
        subject = self._known_item(row["subject"])
        snak = self._snak(self._known_property(row["property"]), row["value"])
        starts, ends = self._dates(START, row["start"]), self._dates(END, row["end"])
        points = self._dates(POINT_IN_TIME, row["pit"])
        others = self._other_qualifiers(row["qualifiers"])
        rank = row["rank"] or "normal"
        if rank not in RANKS:
            raise ValueError(f"the rank {rank!r} is none of {', '.join(RANKS)}")
        begins = _firsts(starts) or _firsts(points)
        qualifiers = [Qualifier(date, ALWAYS) for date in starts]
        for end in ends:
            own = end.time.first if end.time else ALWAYS
            qualifiers.append(Qualifier(end, _day(row["end_stated"], own)))
        qualifiers += [Qualifier(date, ALWAYS) for date in points]
        qualifiers += [Qualifier(other, self._since(other)) for other in others]
        began = _day(row["stated"], _first_stated(starts, points))
        since = max(began, self.entities[subject].created, self._since(snak))
        statement = row["statement"]
        if not statement:
            identity = tuple(row[column] for column in ("subject", "property", "value", "start", "pit"))
            self._alike[identity] += 1
            statement = _guid(subject, (*identity, str(self._alike[identity])))
        removed = _day(row["removed"], NEVER)
        fact = Fact(subject, snak, tuple(qualifiers), rank, statement, since, removed, begins)
        self.facts[subject].append(fact)

    def add_made(
        self, subject: int, property_: int, value: str | Snak, qualifiers: Iterable[tuple[int, str]] = ()
    ) -> None:
        """Adds a statement that lasts as long as its subject and object; `qualifiers`: property and text."""
        snaks = [value if isinstance(value, Snak) else self._snak(property_, value)]
        snaks += [self._snak(number, text) for number, text in qualifiers]
        identity = (entity_id(subject), f"P{property_}", *(str(snak.value) for snak in snaks))
        since = max(self.entities[subject].created, *map(self._since, snaks))
        others = tuple(Qualifier(snak, ALWAYS) for snak in snaks[1:])
        fact = Fact(subject, snaks[0], others, "normal", _guid(subject, identity), since, NEVER, ())
        self.facts[subject].append(fact)

    def _known_item(self, text: str) -> int:
        item = item_number(text)
        if item not in self.entities:
            raise ValueError(f"{text} has no row in entities/*.tsv; add one")
        return item

    def _known_property(self, text: str) -> int:
        number = property_number(text)
        if number not in self._datatypes:
            raise ValueError(f"{text} has no row in properties.tsv; add one")
        return number

    def _snak(self, number: int, text: str) -> Snak:
        if (snak := self._snaks.get((number, text))) is None:
            snak = parse_snak(number, self._datatypes[number], text)
            if snak.item is not None:
                self._known_item(f"Q{snak.item}")
            if snak.datatype == "wikibase-property" and snak.value is not None:
                self._known_property(snak.value["id"])
            self._snaks[number, text] = snak
        return snak

    def _dates(self, number: int, text: str) -> list[Snak]:
        return [self._snak(number, date) for date in _split(text)]

    def _other_qualifiers(self, text: str) -> list[Snak]:
        qualifiers = []
        for part in filter(None, text.split(";")):
            name, _, value = part.partition("=")
            number = self._known_property(name)
            qualifiers.append(self._snak(number, value))
        return qualifiers

    def _since(self, snak: Snak) -> int:
        """The day from which the item that the snak names exists."""
        return ALWAYS if snak.item is None else self.entities[snak.item].created


def _split(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split("|") if part)


def _day(text: str, empty: int) -> int:
    """The day of a cell; `empty` for an empty one."""
    return parse_day(text) if text else empty


def _guid(subject: int, identity: tuple[str, ...]) -> str:
    """A statement id that stays the same as long as the identity of its row does."""
    return f"{entity_id(subject)}${str(uuid.uuid5(_GUIDS, chr(9).join(identity))).upper()}"


def _firsts(dates: Iterable[Snak]) -> tuple[int, ...]:
    return tuple(sorted(date.time.first for date in dates if date.time))


def _first_stated(starts: Iterable[Snak], points: Iterable[Snak]) -> int:
    """The day from which Wikidata has a fact whose row does not say: its start, else its point in time.

    A date coarser than a day counts with its first day as a start, with its last as a point in time: a figure
    for the year 2020 is not known before that year is over.
    """
    began = _firsts(starts) or tuple(sorted(point.time.last for point in points if point.time))
    return max(began[0], ALWAYS) if began else ALWAYS
