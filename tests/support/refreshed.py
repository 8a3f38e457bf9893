"""Wikidata after the end of the bundled chains, made up: its API and its Query Service."""

import datetime
from collections import defaultdict
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from factdrift.wikidata.ids import is_made_up
from support.recent import database_with_articles
from support.sparql import QueryService, query_service
from support.wikidata_api import Wiki, serving
from support.worlds import Date, Fact, World, datavalue_of

Json = dict[str, Any]
UNTIL = datetime.date(2026, 6, 30)
NEW, TITLED = 700_000_000, 710_000_000
"""Numbers of new holders, and of items that are found by a title and of their holders, from here on."""


def text(day: int | None) -> str | None:
    return None if day is None else f"{day // 10_000:04}-{day // 100 % 100:02}-{day % 100:02}"


def snak(name: str, value: str | Json) -> Json:
    """A snak about an item, or a date as `datavalue_of` reads it."""
    if isinstance(value, str) and value[0] == "Q":
        data = {"value": {"entity-type": "item", "numeric-id": int(value[1:]), "id": value}}
        return {"snaktype": "value", "property": name, "datavalue": {**data, "type": "wikibase-entityid"}}
    return {
        "snaktype": "value",
        "property": name,
        "datavalue": {"value": datavalue_of(str(value)), "type": "time"},
    }


@dataclass
class Tomorrow:
    """What the servers say: (item, relation) -> statements, item -> names, and day of death."""

    claims: dict[tuple[str, str], list[Json]] = field(default_factory=lambda: defaultdict(list))
    labels: dict[str, str] = field(default_factory=dict)
    titles: dict[str, str] = field(default_factory=dict)
    dead: dict[str, str] = field(default_factory=dict)

    def holds(
        self, item: str, relation: str, holder: str, first: str | None = None, last: str | None = None
    ) -> None:
        """Adds a statement with a start and an end."""
        dates = {"P580": first, "P582": last}
        qualifiers = {name: [snak(name, day)] for name, day in dates.items() if day}
        own = self.claims[item, relation]
        claim = {"mainsnak": snak(relation, holder), "type": "statement", "rank": "normal"}
        own.append({**claim, "id": f"{item}${relation}-{len(own)}", "qualifiers": qualifiers})

    def states(self, row: Json, until: str | None = None) -> tuple[str, str]:
        """States what a row of CHAINS says, its last tenure up to a day; its subject and its last holder.

        Holders and subjects without an id, or with one that is made up, get an item with their name.
        """
        item, relation = self._item(row["subject"], row["subject_label"]), row["relation"]
        days = []
        for holder in row["holders"]:
            named = self._item(holder["id"], holder["label"])
            self.labels[named] = holder["label"]
            for own in holder["tenures"]:
                if own["share"] == 1:
                    days.append((own["first"] or 0, own["last"] or 99999999, named))
        for first, last, named in sorted(days):
            ends = until if last == 99999999 else text(last)
            self.holds(item, relation, named, text(first or None), ends)
        return item, max(days)[2]

    def _item(self, name: str | None, label: str) -> str:
        if name is not None and name[1:].isdigit() and not is_made_up(name):
            return name
        return self.titles.setdefault(label, f"Q{TITLED + len(self.titles)}")

    def fill(self, wiki: Wiki) -> None:
        """Puts all of this into a wiki."""
        by_item: dict[str, Json] = defaultdict(dict)
        for (item, relation), own in self.claims.items():
            by_item[item][relation] = own
        for item, day in self.dead.items():
            claim = {"mainsnak": snak("P570", day), "type": "statement", "rank": "normal"}
            by_item[item]["P570"] = [{**claim, "id": f"{item}$dead"}]
        articles = {item: title for title, item in self.titles.items()}
        for item in {*by_item, *self.labels}:
            entity = wiki.entity(item)
            entity["claims"] = by_item.get(item, {})
            if item in self.labels:
                entity["labels"] = {"en": {"language": "en", "value": self.labels[item]}}
            if title := articles.get(item):
                entity["sitelinks"] = {"enwiki": {"site": "enwiki", "title": title, "badges": []}}
            wiki.history[item] = [("2026-06-01T00:00:00Z", entity)]
        wiki.titles = dict(self.titles)


@contextmanager
def tomorrow_served(tomorrow: Tomorrow, folder: Path) -> Iterator[tuple[Wiki, QueryService]]:
    """Both servers."""
    facts = [Fact(int(item[1:]), 570, Date(day)) for item, day in tomorrow.dead.items()]
    World(new=sorted(facts, key=lambda fact: fact.s)).write(folder)
    files = [folder / "new" / f"{name}.parquet" for name in ("statements", "entities", "properties")]
    database = database_with_articles([files[0]], [files[1]], files[2], (570,), folder)
    with serving(Wiki()) as wiki, query_service(database) as service:
        tomorrow.fill(wiki)
        yield wiki, service


def line(wiki: Wiki, service: QueryService, chains: Path, folder: Path, *more: str) -> list[str]:
    """The arguments of `cutoff refresh`."""
    given: Sequence[object] = ("--until", UNTIL, "--contact", "tests@example.org", "--chains", chains)
    servers = ("--api", wiki.url, "--endpoint", service.url, "--folder", folder)
    return ["cutoff", "refresh", *map(str, (*given, *servers)), *more]
