"""Asks a SPARQL server which items have something new: one query for each relation and month."""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from factdrift.core.progress import Progress
from factdrift.snapshots.recent import queries
from factdrift.sparql.client import Client
from factdrift.sparql.divide import Period, divided, halved, months, unusable
from factdrift.sparql.vocabulary import item_of
from factdrift.wikidata.time import pack_date

Found = Mapping[int, frozenset[int]]
"""Item -> the relations for which it was found."""


@dataclass(frozen=True)
class Search:
    """What is searched for: the period from `since` up to, not including, `until`.

    `changed`: also items whose last edit is from `since` on, up to `today`. `scope`: as in the configuration;
    with `enwiki` only items with an English article.
    """

    relations: Sequence[int]
    since: datetime.date
    until: datetime.date
    today: datetime.date
    changed: bool = False
    scope: str = "enwiki"


def search(client: Client, wanted: Search) -> Found:
    """The items that the server names.

    Raises InputError if an answer cannot be used, or the server fails for good.
    """
    # The server knows an item's last edit only, and one that was edited in the period may be edited today.
    tomorrow = wanted.today + datetime.timedelta(days=1)
    kinds = [(queries.dated, wanted.until)] + [(queries.changed, tomorrow)] * wanted.changed
    parts = [
        (partial(query, relation, scope=wanted.scope), relation, month)
        for relation in wanted.relations
        for query, until in kinds
        for month in months((pack_date(wanted.since), pack_date(until)))
    ]
    progress = Progress(f"asking {client.url}", total=len(parts), unit="queries")
    items: dict[int, set[int]] = {}
    for query, relation, month in parts:
        for item in _items(client, query, month):
            items.setdefault(item, set()).add(relation)
        progress.advance(note=f"{len(items):,} items")
    progress.say(f"{len(items):,} items")
    return {item: frozenset(items[item]) for item in sorted(items)}


def chosen(changes: Found, limit: int) -> list[int]:
    """At most `limit` of the items, sorted by number.

    Each relation gives its items with the lowest numbers in turn, so that no relation takes all places.
    """
    place: dict[int, int] = {}
    for relation in sorted({relation for of_item in changes.values() for relation in of_item}):
        of_relation = sorted(item for item, relations in changes.items() if relation in relations)
        for rank, item in enumerate(of_relation):
            place[item] = min(rank, place.get(item, rank))
    return sorted(sorted(changes, key=lambda item: (place[item], item))[:limit])


def _items(client: Client, query: partial[str], month: Period) -> set[int]:
    items = set()
    for row in divided(client, query, [month], halved, {"s"}):
        if row["s"]["type"] != "uri":
            raise unusable(client.url, "names no entity as ?s", row)
        item = item_of(row["s"])
        if item is not None:  # properties and lexemes have statements too
            items.add(item)
    return items
