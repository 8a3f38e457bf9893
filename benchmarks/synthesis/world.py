"""The parts of the world that all blocks share, and how an item's two lines are put together from text."""

import random
from dataclasses import dataclass
from datetime import date, timedelta

from factdrift.snapshots.sample.model import (
    EMPTY_MAPS_SINCE,
    PAGES_SINCE,
    PROPERTY_NAMESPACE,
    REVISIONS_SINCE,
)
from synthesis.days import of_date
from synthesis.snaks import (
    claims,
    guid,
    item_value,
    property_value,
    qualifiers,
    quoted,
    references,
    snak,
    statement,
)
from synthesis.vocabulary import CLASSES, NAMED_KINDS, POOLED_KINDS, PROPERTIES
from synthesis.words import Words, terms_json, unique_name

POOL, EVENTS, BACKGROUND = 200_000_000, 300_000_000, 400_000_000
"""The first item numbers of the items that all can name, of those made for events, and of all others."""

_POOL_PER_KIND = (20, 400)
_SINGLE_VALUE = 19474404
_REVISIONS_AN_ENTITY = 1000


@dataclass
class Body:
    """What an item's line holds in one dump; None in its place: no line."""

    labels: str
    descriptions: str
    claims: dict[int, list[str]]
    sitelinks: str | None
    aliases: str = "{}"
    datatype: str | None = None


def packed(day: date) -> int:
    return day.year * 10_000 + day.month * 100 + day.day


class World:
    """Everything that a block needs to know; a function of the two dates, the seed and the size."""

    def __init__(self, old: date, new: date, seed: int, entities: int) -> None:
        self.old, self.new, self.seed = old, new, seed
        self.words = Words(seed, {number: each.label for number, each in CLASSES.items()})
        rng = random.Random(f"world {seed}")
        low, high = _POOL_PER_KIND
        self.pool_per_kind = min(max(low, entities // 1000), high)
        self.references = [self._reference(rng) for _ in range(3000)]
        self.intervals = [self._interval(rng) for _ in range(2000)]

    def pooled(self, kind: str, index: int) -> int:
        """The number of an item that changes nothing."""
        return POOL + POOLED_KINDS.index(kind) * 1000 + index

    def any_pooled(self, kind: str, rng: random.Random) -> int:
        return self.pooled(kind, rng.randrange(self.pool_per_kind))

    def reference(self, rng: random.Random) -> str:
        """The key `references` of a statement: few of them stand at many statements."""
        return self.references[int(3000 * rng.random() ** 6)]

    def interval(self, rng: random.Random) -> str:
        """The qualifiers of a statement that began well before T_old, with no end or one before T_old."""
        return self.intervals[int(2000 * rng.random())]

    def _reference(self, rng: random.Random) -> str:
        groups: list[tuple[tuple[int, str], ...]] = []
        for _ in range(rng.choice((1, 1, 1, 1, 2, 2, 3))):
            day = of_date(date(2013, 1, 1) + timedelta(days=rng.randrange(1500)))
            retrieved = (813, day.json)
            source = (248, item_value(self.any_pooled("org", rng)))
            page = quoted(
                f"https://www.{unique_name(rng.randrange(400)).split()[0].lower()}.org/{rng.randrange(10**6)}"
            )
            groups.append(
                rng.choice(
                    (
                        ((143, item_value(self.any_pooled("org", rng))),),
                        (source, retrieved),
                        (source, (854, page), retrieved),
                    )
                )
            )
        return references(groups)

    def _interval(self, rng: random.Random) -> str:
        start = self.old - timedelta(days=rng.randrange(3000, 8000))
        dates = [(580, of_date(start).json)]
        if rng.random() < 0.5:
            dates.append((582, of_date(start + timedelta(days=rng.randrange(100, 2500))).json))
        return qualifiers(dates)

    # --- lines -------------------------------------------------------------------------------------------

    def lines(self, number: int, old: Body | None, new: Body | None) -> tuple[bytes | None, bytes | None]:
        """The lines of an entity in the two dumps; `number` is negative for a property.

        The revision is the same in both where nothing but the day of the dump differs.
        """
        changed = old is None or (old is not new and old != new)
        before = None if old is None else self._text(number, old, self.old)
        if before is not None and not changed and self._empty(self.old) == self._empty(self.new):
            after: str | None = before
        else:
            after = None if new is None else self._text(number, new, self.new)
        return (
            None if before is None else (before + self._tail(number, self.old, 0)).encode("ascii"),
            None if after is None else (after + self._tail(number, self.new, int(changed))).encode("ascii"),
        )

    @staticmethod
    def _empty(dump: date) -> str:
        """An empty map in a dump of that day."""
        return "{}" if packed(dump) >= EMPTY_MAPS_SINCE else "[]"

    def _text(self, number: int, body: Body, dump: date) -> str:
        """One line up to its site links."""
        empty = self._empty(dump)
        head = (
            f'{{"type":"item","id":"Q{number}"'
            if number > 0
            else f'{{"type":"property","datatype":"{body.datatype}","id":"P{-number}"'
        )
        maps = {
            "labels": body.labels,
            "descriptions": body.descriptions,
            "aliases": body.aliases,
            "claims": claims(body.claims),
        }
        if body.sitelinks is not None:
            maps["sitelinks"] = body.sitelinks
        listed = (f'"{key}":{empty if text == "{}" else text}' for key, text in maps.items())
        return f"{head},{','.join(listed)}"

    def _tail(self, number: int, dump: date, revision: int) -> str:
        """What follows the site links: the page's fields, as far as a dump of that day has them.

        `revision` counts the changes since the old dump.
        """
        day, page = packed(dump), abs(number) if number > 0 else 10**9 - number
        text = ""
        if day >= PAGES_SINCE:
            title = f"Q{number}" if number > 0 else f"Property:P{-number}"
            text += f',"pageid":{page},"ns":{0 if number > 0 else PROPERTY_NAMESPACE},"title":"{title}"'
        if day >= REVISIONS_SINCE:
            text += f',"lastrevid":{page * _REVISIONS_AN_ENTITY + revision}'
        if day >= PAGES_SINCE:
            last = self.new if revision else self.old
            modified = last - timedelta(days=1 + page % 200)
            text += f',"modified":"{modified.isoformat()}T{page % 24:02d}:{page % 60:02d}:00Z"'
        return text + "}"

    # --- what stands in both dumps -------------------------------------------------------------------------

    def fixed(self) -> list[tuple[int, Body]]:
        """Classes, the pool and the properties: the same in both dumps."""
        found: list[tuple[int, Body]] = []
        for number, (label, superclass) in sorted(CLASSES.items()):
            rng = random.Random(f"class {self.seed} {number}")
            groups = {}
            if superclass:
                groups[279] = [self.statement(number, 279, item_value(superclass), rng)]
            found.append(
                (
                    number,
                    Body(
                        terms_json({"de": f"{label} (de)", "en": label}),
                        self.words.descriptions[number][0],
                        groups,
                        self.words.sitelinks(label.capitalize(), 20, True),
                    ),
                )
            )
        for kind in POOLED_KINDS:
            for index in range(self.pool_per_kind):
                number = self.pooled(kind, index)
                rng = random.Random(f"pool {self.seed} {number}")
                groups = {31: [self.statement(number, 31, item_value(NAMED_KINDS[kind]), rng)]}
                found.append((number, self.named_body(number, kind, groups, rng)))
        found += [(-number, self._property(number)) for number in PROPERTIES]
        return found

    def named_body(self, number: int, kind: str, groups: dict[int, list[str]], rng: random.Random) -> Body:
        """An item with a name that no other has, and with an English article."""
        name = unique_name(number)
        index = rng.randrange(len(self.words.names))
        other = self.words.other[index % len(self.words.other)]
        return Body(
            self.words.labels(name, self.words.cyrillic[index], other, rng.randrange(5, 60)),
            rng.choice(self.words.descriptions[NAMED_KINDS[kind]]),
            groups,
            self.words.sitelinks(name, rng.randrange(3, 25), True),
            f'{{"en":[{{"language":"en","value":"{name} too"}}]}}',
        )

    def statement(self, number: int, property_: int, value: str, rng: random.Random, quals: str = "") -> str:
        return statement(
            snak(property_, value), f"Q{number}${guid(rng)}", quals, references=self.reference(rng)
        )

    def _property(self, number: int) -> Body:
        label, datatype, separators, classes = PROPERTIES[number]
        rng = random.Random(f"property {self.seed} {number}")
        groups: dict[int, list[str]] = {}
        if classes:
            groups[31] = [
                statement(
                    snak(31, item_value(each)), f"P{number}${guid(rng)}", references=self.reference(rng)
                )
                for each in classes
            ]
        if separators is not None:
            quals = qualifiers((4155, property_value(each)) for each in separators)
            groups[2302] = [statement(snak(2302, item_value(_SINGLE_VALUE)), f"P{number}${guid(rng)}", quals)]
        return Body(
            terms_json({"de": f"{label} (de)", "en": label}),
            terms_json({"en": f"{label} of the subject"}),
            groups,
            None,
            datatype=datatype,
        )
