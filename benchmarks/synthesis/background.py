"""Everything else in the dumps: items that no event made, with the sizes and the noise of Wikidata's.

What they change between the dumps keeps them out of every dataset: terms, site links, identifiers, and
statements without dates, whose label no rule can tell. They are older than the old dump, but for some without
an English article.
"""

import csv
import random
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path
from typing import NamedTuple

from synthesis.days import of_date
from synthesis.snaks import guid, item_value, quoted, snak, statement, text_value
from synthesis.world import BACKGROUND, Body, World

TABLE = Path(__file__).resolve().parents[1] / "background.tsv"

NEW_LINES, GONE_LINES, CHANGED_LINES = 0.05, 0.01, 0.4
"""Shares of items without an English article that came and went, and of all that were edited."""

_IDENTIFIERS = (214, 227, 244, 345, 646, 1566)
_ARTICLE = 13442814
_OWN = "@"
"""Stands for an identifier of the item's own."""


class Kind(NamedTuple):
    """A kind of item; `statements` are properties and what makes their values.

    Values: an item of a pooled kind (`org`; `org*`: with a start, perhaps an end, well before T_old), any
    item (`cited`), a day well before T_old, or a text of its sort.
    """

    class_: int
    share: float
    wikipedia: float
    """Share with an article in any Wikipedia."""
    english: float
    languages: float
    """Mean number of labels beside the English one, without those that come with articles."""
    statements: tuple[tuple[int, str], ...]


def read_kinds() -> list[Kind]:
    """The table `background.tsv`: what the items are that no event made."""
    with TABLE.open(encoding="utf-8", newline="") as file:
        return [
            Kind(
                int(row["class"][1:]),
                float(row["share"]),
                float(row["wikipedia"]),
                float(row["english"]),
                float(row["languages"]),
                tuple(
                    (int(property_[1:]), maker)
                    for property_, _, maker in (each.partition("=") for each in row["statements"].split())
                ),
            )
            for row in csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        ]


class Background:
    """Makes background items fast: main snaks come from pools, only ids, hashes and dates are new."""

    def __init__(self, world: World) -> None:
        self._world = world
        rng = random.Random(f"background {world.seed}")
        self._kinds = read_kinds()
        self._shares = [kind.share for kind in self._kinds]
        self._snaks = {
            (property_, maker): self._pool(property_, maker, rng)
            for kind in self._kinds
            for property_, maker in kind.statements
        }
        self._kind_snaks = {kind.class_: snak(31, item_value(kind.class_)) for kind in self._kinds}
        self._sources = [snak(1343, item_value(world.any_pooled("org", rng))) for _ in range(50)]
        self._cited = self._snaks[2860, "cited"]

    def _pool(self, property_: int, maker: str, rng: random.Random) -> list[str]:
        world = self._world
        makers: dict[str, Callable[[], str]] = {
            "title": lambda: text_value(rng.choice(world.words.titles)),
            "text": lambda: text_value(rng.choice(world.words.names)),
            "name": lambda: quoted(rng.choice(world.words.names)),
            "number": lambda: quoted(str(rng.randrange(1, 900))),
            "id": lambda: quoted(_OWN),
            "day": lambda: of_date(world.old - timedelta(days=rng.randrange(3000, 40_000))).json,
            "cited": lambda: item_value(BACKGROUND + int(10**6 * rng.random())),
        }
        pool = maker.removesuffix("*")
        make = makers.get(pool) or (lambda: item_value(world.any_pooled(pool, rng)))
        return [snak(property_, make()) for _ in range(1 if maker == "id" else 3000)]

    def lines(self, number: int, serial: int, rng: random.Random) -> tuple[bytes | None, bytes | None]:
        """The lines of the `serial`-th item in the two dumps."""
        world, words = self._world, self._world.words
        (kind,) = rng.choices(self._kinds, self._shares)
        random_ = rng.random
        english = random_() < kind.english
        wikis = 0
        if english or random_() < (kind.wikipedia - kind.english) / (1 - kind.english):
            wikis = min(int(rng.expovariate(0.25 if english else 0.5)) + (not english), 44)
        languages = min(int(rng.expovariate(0.7 / kind.languages)) + wikis, 119)
        index = int(random_() * len(words.names))
        name = words.titles[index % len(words.titles)] if kind.class_ == _ARTICLE else words.names[index]
        labels = words.labels(name, words.cyrillic[index], words.other[index % len(words.other)], languages)
        aliases = f'{{"en":[{{"language":"en","value":"{name} (alias)"}}]}}' if random_() < 0.3 else "{}"
        descriptions = words.descriptions[kind.class_][int(60 * random_())]
        groups = self._claims(kind, number, serial, english, rng)
        links = words.sitelinks(name, wikis, english)
        old: Body | None = Body(labels, descriptions, groups, links, aliases)
        new = old
        lot = random_()
        if not english and lot < NEW_LINES:
            old = None
        elif not english and lot < NEW_LINES + GONE_LINES:
            new = None
        elif lot < NEW_LINES + GONE_LINES + CHANGED_LINES:
            new = self._edited(Body(labels, descriptions, groups, links, aliases), number, rng)
        return world.lines(number, old, new)

    def _claims(
        self, kind: Kind, number: int, serial: int, english: bool, rng: random.Random
    ) -> dict[int, list[str]]:
        world = self._world
        groups = {31: [self._statement(self._kind_snaks[kind.class_], number, "", rng)]}
        for property_, maker in kind.statements:
            if rng.random() < 0.12:
                continue
            pool = self._snaks[property_, maker]
            main = pool[int(len(pool) * rng.random())]
            if maker == "id":
                main = main.replace(_OWN, str(rng.getrandbits(33)))
            quals = world.interval(rng) if maker.endswith("*") else ""
            groups.setdefault(property_, []).append(self._statement(main, number, quals, rng))
        many = 1300 if serial % 5000 == 1234 else int(rng.paretovariate(1.1)) if rng.random() < 0.4 else 0
        for _ in range(min(many, 1500)):
            main = self._cited[int(len(self._cited) * rng.random())]
            groups.setdefault(2860, []).append(self._statement(main, number, "", rng))
        if english:
            for property_, statements in identifiers(world, number, rng).items():
                groups.setdefault(property_, statements)
        return groups

    def _statement(self, main: str, number: int, quals: str, rng: random.Random) -> str:
        reference = self._world.reference(rng) if rng.random() < 0.85 else ""
        return statement(main, f"Q{number}${guid(rng)}", quals, references=reference)

    def _edited(self, body: Body, number: int, rng: random.Random) -> Body:
        """The item after an edit that changes nothing that a dataset holds."""
        match rng.randrange(4):
            case 0:
                body.descriptions = _with(body.descriptions, '"xal":{"language":"xal","value":"-"}')
            case 1:
                body.claims = {**body.claims, 646: [self._identifier(number, rng)]}
            case 2:
                source = self._statement(rng.choice(self._sources), number, "", rng)
                body.claims = {**body.claims, 1343: [source]}
            case _:
                link = '"commonswiki":{"site":"commonswiki","title":"-","badges":[]}'
                body.sitelinks = _with(body.sitelinks or "{}", link)
        return body

    def _identifier(self, number: int, rng: random.Random) -> str:
        return self._statement(snak(646, f'"\\/m\\/{rng.getrandbits(30)}"'), number, "", rng)


def _with(map_: str, entry: str) -> str:
    """A map as text, with an entry in front."""
    return f"{{{entry},{map_[1:]}" if map_ != "{}" else f"{{{entry}}}"


def identifiers(world: World, number: int, rng: random.Random) -> dict[int, list[str]]:
    """Statements whose datatypes every variant drops."""
    groups = {each: [world.statement(number, each, f'"{rng.getrandbits(33)}"', rng)] for each in _IDENTIFIERS}
    groups[18] = [world.statement(number, 18, f'"Picture {number}.jpg"', rng)]
    place = (
        f'{{"latitude":{rng.randrange(90)}.5,"longitude":{rng.randrange(180)}.25,"altitude":null,'
        '"precision":0.01,"globe":"http:\\/\\/www.wikidata.org\\/entity\\/Q2"}'
    )
    groups[625] = [world.statement(number, 625, place, rng)]
    return groups


def static_claims(world: World, number: int, without: set[int], rng: random.Random) -> dict[int, list[str]]:
    """Statements that stand in both dumps and are static or undated, of none of the properties `without`."""
    groups: dict[int, list[str]] = {}
    for property_, kind, dated in (
        (17, "country", False),
        (1343, "org", False),
        (361, "org", True),
        (131, "place", True),
    ):
        if property_ not in without:
            value = item_value(world.any_pooled(kind, rng))
            quals = world.interval(rng) if dated else ""
            groups[property_] = [world.statement(number, property_, value, rng, quals)]
    return groups
