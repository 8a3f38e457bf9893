"""Lines of a dump as typed structs: only the fields that the tables need, all others are skipped unparsed.

The layouts of all dumps since 2014 are read. Any map may be `[]` when it is empty (PHP's empty array) or be
absent. Fields that are not read here (references, other languages, unknown keys) can have any form.
"""

import re
from typing import Annotated, Any

import msgspec

from factdrift.core.text import clean

Empty = Annotated[list[Any], msgspec.Meta(max_length=0)]
"""An empty map as PHP writes it. A list with elements makes the line unreadable."""

Revision = Annotated[int, msgspec.Meta(ge=0, le=2**63 - 1)]

NAMED_PROPERTIES = ("P279", "P5061")
"""Subclass of, unit symbol: an item with one of these is a class or a unit, whose label others need."""


class Text(msgspec.Struct, gc=False):
    """A label, description or alias."""

    value: str


class Terms(msgspec.Struct, gc=False):
    """Labels or descriptions in English and `mul`, which since 2024 is the default for all languages."""

    en: Text | None = None
    mul: Text | None = None


class Aliases(msgspec.Struct, gc=False):
    """Aliases in English and `mul`; PHP writes a list whose indices have gaps as a map."""

    en: list[Text] | dict[str, Text] = []
    mul: list[Text] | dict[str, Text] = []


class _SiteLink(msgspec.Struct, gc=False):
    title: str | None = None


class DataValue(msgspec.Struct, gc=False):
    """`value` has any JSON type; `type` says how `factdrift.wikidata.values` reads it."""

    type: str = ""
    value: Any = None


class Snak(msgspec.Struct, gc=False):
    """`datatype` is absent in old dumps if there is no value."""

    snaktype: str = "value"
    property: str = ""
    datavalue: DataValue | None = None
    datatype: str | None = None


class Statement(msgspec.Struct, gc=False):
    """The snaks of `qualifiers` stay encoded until `snaks` decodes them."""

    mainsnak: Snak
    id: str | None = None
    rank: str = "normal"
    qualifiers: dict[str, msgspec.Raw] | Empty = []


class ClosureClaims(msgspec.Struct, gc=False):
    """The statements that are read of items without a full record: instance of, subclass of, unit symbol."""

    P31: list[Statement] = []
    P279: list[Statement] = []
    P5061: list[Statement] = []


class _Line(msgspec.Struct, gc=False):
    """The fields that lines of every entity type have."""

    id: str
    type: str = ""
    labels: Terms | Empty = []
    descriptions: Terms | Empty = []
    aliases: Aliases | Empty = []
    sitelinks: dict[str, msgspec.Raw] | Empty = []
    lastrevid: Revision | None = None
    modified: str | None = None

    @property
    def label(self) -> str | None:
        """The label in English, else the one for all languages, else None; never another language's."""
        return _english(self.labels)

    @property
    def description(self) -> str | None:
        return _english(self.descriptions)

    @property
    def alias_texts(self) -> list[str]:
        """The English aliases, then those for all languages, each text once."""
        if not isinstance(self.aliases, Aliases):
            return []
        return each_once(self.aliases.en, self.aliases.mul)

    @property
    def sites(self) -> dict[str, msgspec.Raw]:
        return self.sitelinks if isinstance(self.sitelinks, dict) else {}

    @property
    def article(self) -> str | None:
        """The title of the English article. Raises one of UNREADABLE for a link that cannot be read."""
        link = self.sites.get("enwiki")
        title = _SITE_LINK.decode(link).title if link is not None else None
        return clean(title) if title is not None else None


class Entity(_Line, gc=False):
    """An item or a property with all its statements, by property id in the order of the dump."""

    claims: dict[str, list[Statement]] | Empty = []
    datatype: str | None = None

    @property
    def statements(self) -> dict[str, list[Statement]]:
        return self.claims if isinstance(self.claims, dict) else {}

    def stated(self, property_id: str) -> list[Statement]:
        """The statements of one property, of any rank."""
        return self.statements.get(property_id, [])


class Outline(_Line, gc=False):
    """An entity of which only terms, site links and ClosureClaims are decoded."""

    claims: ClosureClaims | Empty = []

    def stated(self, property_id: str) -> list[Statement]:
        """The statements of one property of ClosureClaims, of any rank."""
        statements: list[Statement] = getattr(self.claims, property_id, [])
        return statements


_ENTITY = msgspec.json.Decoder(Entity)
_OUTLINE = msgspec.json.Decoder(Outline)
_SNAKS = msgspec.json.Decoder(list[Snak])
_SITE_LINK = msgspec.json.Decoder(_SiteLink)

_PAGE_TITLE = re.compile(rb'"title": ?"(?:[A-Za-z]+:)?([QPL]\d+)", ?"lastrevid":')
"""The title of the entity's own page, which dumps name near the end of a line since May 2022."""

_PAGE_FIELDS = 160
"""Bytes at the end of a line in which the title of the entity's own page is."""

_STATEMENT_ID = re.compile(rb'"id": ?"([QqPp]\d+)$')
"""The beginning of a statement's id. In no text of a line: quotes are escaped there."""

_STATEMENT_PREFIX = 24

_OWNER = re.compile(rb'"id": ?"([QqPp]\d+)\$')
_BEGINNING = re.compile(rb'\{"(?:type": ?"(?:item|property)", ?")?id": ?"[QP]\d+"')

UNREADABLE = (ValueError, RecursionError)
"""The errors of decoding a line that is not JSON, not UTF-8, or not an entity."""


def read_entity(line: bytes) -> Entity:
    """The whole entity of a line. Raises one of UNREADABLE."""
    return _ENTITY.decode(line)


def read_outline(line: bytes) -> Outline:
    """The entity of a line without most of its statements, which is much faster. Raises one of UNREADABLE."""
    return _OUTLINE.decode(line)


def snaks(qualifier: msgspec.Raw) -> list[Snak]:
    """The snaks of one qualifier property. Raises one of UNREADABLE."""
    return _SNAKS.decode(qualifier)


def last_named(line: bytes, start: int = 0, stop: int | None = None) -> bytes | None:
    """The id of the entity that is named last in a line, by its page's title or by a statement's id.

    None if neither is there.
    """
    stop = len(line) if stop is None else stop
    if title := _PAGE_TITLE.search(line, max(start, stop - _PAGE_FIELDS), stop):
        return title[1]
    dollar = line.rfind(b"$", start, stop)
    while dollar >= 0:
        statement = _STATEMENT_ID.search(line[max(start, dollar - _STATEMENT_PREFIX) : dollar])
        if statement:
            return statement[1].upper()
        dollar = line.rfind(b"$", start, dollar)
    return None


def is_joined(line: bytes, name: bytes) -> bool:
    """Whether the line of an entity, which ends as another one and can be parsed, is made of two lines.

    It is if its page has another title, if another entity begins in it, or if several statements up to its
    end, without any of its own among them, are of others. A single statement may have a foreign id.
    """
    if _PAGE_TITLE.search(line, max(0, len(line) - _PAGE_FIELDS)) or len(_BEGINNING.findall(line)) > 1:
        return True
    owners = [owner.upper() == name for owner in _OWNER.findall(line)]
    return len(owners) > 1 and not any(owners[-2:])


def statement_id(written: str) -> str:
    """The id of a statement with its entity prefix in upper case, `q42$F078...` -> `Q42$F078...`.

    Dumps differ in the case of a statement's prefix, but not of the part after the `$`.
    """
    prefix, dollar, rest = written.partition("$")
    return f"{prefix.upper()}{dollar}{rest}"


def term(*texts: Text | None) -> str | None:
    """The first label, description or alias that is not blank when it is clean; None if there is none."""
    return next((value for text in texts if text is not None and (value := clean(text.value))), None)


def each_once(*groups: list[Text] | dict[str, Text]) -> list[str]:
    """The aliases of several groups, each text once."""
    if not any(groups):
        return []
    texts = (text for group in groups for text in (group.values() if isinstance(group, dict) else group))
    return list(dict.fromkeys(value for text in texts if (value := term(text)) is not None))


def _english(terms: Terms | list[Any]) -> str | None:
    return term(terms.en, terms.mul) if isinstance(terms, Terms) else None
