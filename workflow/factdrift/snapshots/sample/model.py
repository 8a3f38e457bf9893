"""The sample's tables as types: entities, and statements that Wikidata has from one day to another.

Days are packed integers (20210104), as `factdrift.wikidata.time` packs them.
"""

from typing import NamedTuple

from factdrift.snapshots.sample.value_text import Snak

TYPE, START, END, POINT_IN_TIME, EXAMPLE, CONSTRAINT, SEPARATOR = 31, 580, 582, 585, 1855, 2302, 4155
INVERSE = 1696

ALWAYS, NEVER = 0, 99_999_999
"""Days before and after every day that is rendered."""


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
