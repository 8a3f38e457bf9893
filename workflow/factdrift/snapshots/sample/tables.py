"""The bundled sample's tables, read and checked: dated facts from which a dump of any day can be rendered.

A folder holds `properties.tsv`, `entities/*.tsv`, `facts/*.tsv` and maybe `translations.tsv`: UTF-8,
tab-separated, a header row, no quoting. The README beside the tables explains the columns.
"""

import itertools
import re
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
from factdrift.snapshots.sample.rows import Row, other_sites, read_rows
from factdrift.snapshots.sample.value_text import (
    DATATYPES,
    Snak,
    item_number,
    item_value,
    parse_day,
    parse_snak,
)
from factdrift.wikidata.ids import entity_id, entity_number, property_number
from factdrift.wikidata.time import iso_day

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

_TELLING = [column for column in FACT_COLUMNS.split() if column not in ("source", "checked")]
"""What rows of facts differ in, if they are not the same fact."""
_STATEMENT = re.compile(r"[QqPp]\d+\$[0-9A-Fa-f]{8}(-[0-9A-Fa-f]{4}){3}-[0-9A-Fa-f]{12}")
_GUIDS = uuid.uuid5(uuid.NAMESPACE_URL, "http://www.wikidata.org/entity/statement/")


def read_sample(folder: str | Path) -> Sample:
    """Reads and checks all tables of the folder.

    Raises InputError that names the first problem with file, line, column and remedy.
    """
    folder = Path(folder)
    reader = _Reader()
    properties = read_rows([folder / "properties.tsv"], PROPERTY_COLUMNS)
    entities = read_rows(sorted(folder.glob("entities/*.tsv")), ENTITY_COLUMNS)
    numbered = [(reader.add_property(row), row) for row in properties]
    numbered += [(reader.add_item(row), row) for row in entities]
    reader.check_redirects()
    for number, row in numbered:
        if number < 0:
            reader.add_property_facts(number, row)
        else:
            for text in row["classes"].split():
                reader.add_made(row, "classes", number, TYPE, text)
    for row in read_rows(sorted(folder.glob("facts/*.tsv")), FACT_COLUMNS):
        reader.add_fact(row)
    for row in read_rows(sorted(folder.glob("translations.tsv")), TRANSLATION_COLUMNS):
        reader.add_translation(row)
    reader.check_statements()
    return Sample(reader.entities, dict(reader.facts))


class _Reader:
    """Collects the rows of the tables. Entities must be added before the facts that refer to them."""

    def __init__(self) -> None:
        self.entities: dict[int, Entity] = {}
        self.facts: dict[int, list[Fact]] = defaultdict(list)
        self._rows: dict[int, Row] = {}
        self._datatypes: dict[int, str] = dict(_STRUCTURE)
        self._first_rows: dict[tuple[str, ...], str] = {}
        self._alike: dict[tuple[str, ...], int] = defaultdict(int)
        self._snaks: dict[tuple[int, str], Snak] = {}
        self._spans: dict[str, list[tuple[int, int, Row]]] = defaultdict(list)

    def add_property(self, row: Row) -> int:
        """Returns the property's number, negative."""
        number, datatype = row.needed("id", property_number), row["datatype"]
        if datatype not in DATATYPES:
            known = ", ".join(DATATYPES)
            what = f"{datatype!r} is no datatype that the sample can write; use one of {known}"
            raise row.fault("datatype", what)
        if _STRUCTURE.get(number, datatype) != datatype:
            raise row.fault("datatype", f"{row['id']} has the datatype {_STRUCTURE[number]}; write that")
        self._datatypes[number] = datatype
        names = row["label"], row["description"], _split(row["aliases"])
        return self._add(row, Entity(-number, *names, datatype))

    def add_item(self, row: Row) -> int:
        """Returns the item's number."""
        created = row.read("created", parse_day, ALWAYS)
        merged, target = row.read("merged", _merge, (NEVER, 0))
        return self._add(
            row,
            Entity(
                row.needed("id", item_number),
                row["label"],
                row["description"],
                _split(row["aliases"]),
                title=row["title"],
                sitelinks=row.read("sitelinks", _site_count, 0),
                created=created,
                article=max(created, row.read("article", parse_day, ALWAYS)),
                merged=merged,
                target=target,
                deleted=row.read("deleted", parse_day, NEVER),
            ),
        )

    def add_translation(self, row: Row) -> None:
        """Adds label and description in another language to an entity."""
        number = entity_number(row["id"]) or 0
        if (entity := self.entities.get(number)) is None:
            raise row.fault("id", f"{row['id']!r} has no row in the other tables; add one there")
        if row["language"] in {"", "en", *(named[0] for named in entity.translations)}:
            what = f"{row['language']!r} is no other language, or {row['id']} has it already"
            raise row.fault("language", what)
        added = (row["language"], row["label"], row["description"])
        self.entities[number] = entity._replace(translations=(*entity.translations, added))

    def check_redirects(self) -> None:
        for number, entity in self.entities.items():
            passed = {number}
            while (target := entity.target) != 0:
                row = self._rows[number]
                if target in passed:
                    raise row.fault("merged", "the item becomes a redirect to itself; name another")
                if target not in self.entities:
                    raise row.fault("merged", f"Q{target} has no row in entities/*.tsv; add one")
                passed.add(target)
                entity = self.entities[target]

    def add_property_facts(self, property_: int, row: Row) -> None:
        """P31 from `types`, P2302 with P4155 from `constraints` and `separators`, P1696 from `inverses`, and
        P1855 from `examples`."""
        for text in row["types"].split():
            self.add_made(row, "types", property_, TYPE, text)
        separators = [("separators", SEPARATOR, text) for text in row["separators"].split()]
        constraints = row["constraints"].split()
        for constraint in constraints:
            if constraint not in CONSTRAINTS:
                what = f"{constraint!r} is none of {', '.join(CONSTRAINTS)}; leave it empty or use these"
                raise row.fault("constraints", what)
            # The constraint's own item is no subject of the sample and needs no row.
            value = item_value(CONSTRAINTS[constraint])
            snak = Snak(CONSTRAINT, "value", "wikibase-item", "wikibase-entityid", value)
            own = [] if constraint == "symmetric" else separators
            self.add_made(row, "constraints", property_, CONSTRAINT, snak, own)
        if separators and not {"single-value", "single-best-value"} & {*constraints}:
            what = "there is no single-value constraint to which they belong; name one"
            raise row.fault("separators", what)
        for text in row["inverses"].split():
            self.add_made(row, "inverses", property_, INVERSE, text)
        for text in _split(row["examples"]):
            subject, arrow, value_text = text.partition(">")
            if not arrow:
                raise row.fault("examples", f"{text!r} is no example; write subject>value")
            qualifier = ("examples", -property_, value_text)
            self.add_made(row, "examples", property_, EXAMPLE, subject, [qualifier])

    def add_fact(self, row: Row) -> None:
        none: list[Snak] = []
        subject = row.needed("subject", self._known_item)
        number = row.needed("property", self._known_property)
        snak = row.needed("value", lambda text: self._snak(number, text))
        starts = row.read("start", lambda text: self._dates(START, text), none)
        ends = row.read("end", lambda text: self._dates(END, text), none)
        points = row.read("pit", lambda text: self._dates(POINT_IN_TIME, text), none)
        others = row.read("qualifiers", self._other_qualifiers, none)
        stated = row.read("stated", parse_day, None)
        end_stated = row.read("end_stated", parse_day, None)
        removed = row.read("removed", parse_day, NEVER)
        statement = row.read("statement", lambda text: _statement(text, row["subject"]), "")
        rank = row["rank"] or "normal"
        begins = _firsts(starts) or _firsts(points)
        if rank not in RANKS:
            raise row.fault("rank", f"{rank!r} is none of {', '.join(RANKS)}; leave it empty or use one")
        if rank == "latest" and not begins:
            raise row.fault("rank", "latest needs a date in start or pit; add one")
        if end_stated is not None and not ends:
            raise row.fault("end_stated", "there is no end; fill the column end, or empty this one")
        whole = tuple(row[column] for column in _TELLING)
        first = self._first_rows.get(whole)
        if snak.property == TYPE:
            first = first or self._first_rows.get((entity_id(subject), f"P{TYPE}", str(snak.value)))
        if first is not None:
            raise row.fault("row", f"the same fact is in {first}; keep one of the two")
        self._first_rows[whole] = row.where

        qualifiers = [Qualifier(date, ALWAYS) for date in starts]
        for end in ends:
            own = end.time.first if end.time else ALWAYS
            qualifiers.append(Qualifier(end, own if end_stated is None else end_stated))
        qualifiers += [Qualifier(date, ALWAYS) for date in points]
        qualifiers += [Qualifier(other, self._since(other)) for other in others]
        began = _first_stated(starts, points) if stated is None else stated
        since = max(began, self.entities[subject].created, self._since(snak))
        if removed <= since:
            what = f"is not after {iso_day(since)}, the first day of the statement; correct one of the two"
            raise row.fault("removed", what)
        if not statement:
            identity = tuple(row[column] for column in ("subject", "property", "value", "start", "pit"))
            self._alike[identity] += 1
            statement = _guid(subject, (*identity, str(self._alike[identity])))
        self._spans[statement.upper()].append((since, removed, row))
        fact = Fact(subject, snak, tuple(qualifiers), rank, statement, since, removed, begins)
        self.facts[subject].append(fact)

    def check_statements(self) -> None:
        """Rows that share a statement id are states of one statement, whose days must not overlap."""
        for statement, spans in self._spans.items():
            spans.sort(key=lambda span: span[:2])
            for (_, until, first), (since, _, second) in itertools.pairwise(spans):
                if since < until:
                    what = f"{statement} is in {first.where} at the same time; fill the column removed there"
                    raise second.fault("statement", what)

    def _add(self, row: Row, entity: Entity) -> int:
        if entity.number in self.entities:
            where = self._rows[entity.number].where
            raise row.fault("id", f"{row['id']} is in {where} too; keep one of the rows")
        self.entities[entity.number] = entity
        self._rows[entity.number] = row
        return entity.number

    def add_made(
        self,
        row: Row,
        column: str,
        subject: int,
        property_: int,
        value: str | Snak,
        qualifiers: Iterable[tuple[str, int, str]] = (),
    ) -> None:
        """Adds a statement that lasts as long as its subject and object; `qualifiers` with their columns."""
        snaks: list[Snak] = []
        for source, number, text in [(column, property_, value), *qualifiers]:
            try:
                snaks.append(text if isinstance(text, Snak) else self._snak(number, text))
            except ValueError as error:
                raise row.fault(source, str(error)) from None
        identity = (entity_id(subject), f"P{property_}", *(str(snak.value) for snak in snaks))
        if identity in self._first_rows:
            raise row.fault(column, f"{value} occurs twice; keep one")
        self._first_rows[identity] = row.where
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
        return [self._snak(number, date) for date in text.split("|")]

    def _other_qualifiers(self, text: str) -> list[Snak]:
        qualifiers = []
        for part in text.split(";"):
            name, equals, value = part.partition("=")
            if not equals:
                raise ValueError(f"{part!r} is no qualifier; write P39=Q11696;P1534=Q123")
            number = self._known_property(name)
            if number in (START, END, POINT_IN_TIME):
                raise ValueError(f"{name} has a column of its own; move {value} there")
            qualifiers.append(self._snak(number, value))
        return qualifiers

    def _since(self, snak: Snak) -> int:
        """The day from which the item that the snak names exists."""
        return ALWAYS if snak.item is None else self.entities[snak.item].created


def _split(text: str) -> tuple[str, ...]:
    return tuple(part for part in text.split("|") if part)


def _merge(text: str) -> tuple[int, int]:
    day, arrow, target = text.partition(">")
    if not arrow:
        raise ValueError(f"{text!r} is no merge; write day>target as 2022-05-01>Q42")
    return parse_day(day), item_number(target)


def _site_count(text: str) -> int:
    most = len(other_sites()) + 1
    if not (text.isascii() and text.isdigit()) or int(text) > most:
        raise ValueError(f"{text!r} is no number of sites; write one from 0 to {most}")
    return int(text)


def _statement(text: str, subject: str) -> str:
    if not _STATEMENT.fullmatch(text):
        raise ValueError(f"{text!r} is no statement id; write it as Wikidata does, {subject}$ and a GUID")
    if text.partition("$")[0].upper() != subject:
        raise ValueError(f"{text!r} belongs to another subject than {subject}; empty the cell")
    return text


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
