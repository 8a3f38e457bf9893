"""Timelines of TempRIPPLE by hand: `A 2010-01-01..2020-01-01, B 2020-01-01..-`, as in the spec's test
vectors."""

import contextlib
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from factdrift.core.keys import read_settings
from factdrift.core.tables import database
from factdrift.tempripple.claims import Claim, Date
from factdrift.tempripple.facts import find_facts
from factdrift.tempripple.items import make_items
from factdrift.tempripple.related import find_related
from factdrift.tempripple.relations import read_relations
from factdrift.tempripple.search import search_of
from factdrift.tempripple.settings import PART, ItemSettings
from factdrift.tempripple.sources import StatementSource
from factdrift.tempripple.table_source import TableSource, make_rows
from support.worlds import Fact, World

PAPER = {"snapshots_new": "2026-01-05", "as_of": "off", "alike": [], "grammar": "plain"}
METHOD = read_settings(json.dumps(PAPER), ItemSettings, PART)
"""The settings of the paper."""


def method_with(**switches: Any) -> ItemSettings:
    """METHOD with other values; dates as ISO texts or dates."""
    return msgspec.convert({**msgspec.to_builtins(METHOD), **switches}, ItemSettings)


RELATIONS = read_relations()
HUMAN, COUNTRY, CITY, TEAM = 5, 6256, 515, 12973014


class Ripple(NamedTuple):
    """The tables that the stage makes from a world."""

    facts: list[dict[str, Any]]
    related: list[dict[str, Any]]
    items: list[dict[str, Any]]
    dropped: list[dict[str, Any]]

    def reasons(self, stage: str) -> dict[tuple[str, str], str]:
        """(s, p) -> the reason for which it was dropped."""
        return {(row["s"], row["p"]): row["reason"] for row in self.dropped if row["stage"] == stage}

    def answers(self, hop: int) -> set[tuple[str, str]]:
        """The relations of the path, as `P26 P103`, and the answer, of all related facts of a hop."""
        return {
            (" ".join(step["p"] for step in row["path"]), row["answer_label"])
            for row in self.related
            if row["hop"] == hop
        }


@contextlib.contextmanager
def source_of(world: World, directory: Path) -> Iterator[TableSource]:
    """The source over the new dump of a world."""
    world.write(directory)
    folder = directory / "new"
    rows, classes = directory / "rows.parquet", directory / "edges.parquet"
    entities = folder / "entities.parquet"
    make_rows(folder / "statements.parquet", entities, RELATIONS.properties(), rows, classes)
    with database() as db:
        yield TableSource(db, [rows], [classes], [entities], folder / "properties.parquet")


def ripple(world: World, directory: Path, **switches: Any) -> Ripple:
    """The whole stage on the new dump of a world."""
    with source_of(world, directory) as source:
        return ripple_of(source, **switches)


def ripple_of(source: StatementSource, **switches: Any) -> Ripple:
    """The whole stage on a source."""
    method = method_with(**switches)
    search = search_of(source, method, RELATIONS)
    facts = find_facts(search)
    related = find_related(search, facts.rows)
    items = make_items(facts.rows, related.rows, method)
    return Ripple(facts.rows, related.rows, items, [*facts.dropped, *related.dropped])


def kinds(**items: tuple[int, ...]) -> list[Fact]:
    """What items are instances of: `Q42=(HUMAN,)`."""
    return [Fact(int(name[1:]), 31, each) for name, classes in items.items() for each in classes]


UNKNOWN = "?"
"""A start or an end that is `somevalue`."""


def date(text: str) -> Date:
    """`2010-01-01`, `2010-01`, `2010`, or with a precision, `2010-01-01/8`."""
    text, _, precision = text.partition("/")
    parts = [int(part) for part in text.split("-")]
    parts += [1] * (3 - len(parts))
    year, month, day = parts
    return Date(year * 10_000 + month * 100 + day, int(precision) if precision else 9 + text.count("-"))


def dates(text: str) -> tuple[Date, ...]:
    """Dates separated by `|`; none for `-` and `?`."""
    return () if text in ("-", UNKNOWN) else tuple(sorted(date(part) for part in text.split("|")))


def number(name: str) -> int | None:
    """`Q42` -> 42, `B` or `B2` a number of its own, `?` none."""
    if name == UNKNOWN:
        return None
    return (
        int(name[1:])
        if re.fullmatch(r"Q\d+", name)
        else sum(ord(letter) << 8 * i for i, letter in enumerate(name))
    )


def name(item: int) -> str:
    """The inverse of `number` for letters."""
    return item.to_bytes(4, "little").decode().rstrip("\0")


def claim(
    statement: str,
    value: str = "A",
    start: str = "-",
    end: str = "-",
    *,
    subject: int = 1,
    relation: int = 6,
    preferred: bool = False,
) -> Claim:
    """A statement about an item; `value` may be `novalue`, or `?` for `somevalue`."""
    item = None if value == "novalue" else number(value)
    snak = "novalue" if value == "novalue" else "value" if item is not None else "somevalue"
    return Claim(
        subject,
        relation,
        statement,
        preferred,
        snak,
        item,
        text=None,
        language=None,
        date=None,
        julian=None,
        starts=dates(start),
        ends=dates(end),
        end_unknown=end == UNKNOWN,
        restricted=False,
    )


def claims(text: str) -> list[Claim]:
    """One claim a piece `A start..end`, with ids by their order."""
    found = []
    for place, piece in enumerate(filter(None, text.split(", "))):
        value, _, span = piece.strip().partition(" ")
        start, _, end = span.partition("..")
        found.append(claim(f"s{place:03d}", value, start or "-", end or "-"))
    return found
