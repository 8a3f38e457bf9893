"""Asks a SPARQL server which items have something new: one query for each relation and month.

The queries are plain SPARQL 1.1, as those of TempRIPPLE: all prefixes declared, no services or hints of one
engine, no LIMIT.
"""

import datetime
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from factdrift.core.progress import Progress
from factdrift.sparql.client import Client, Period, divided, halved, months, unusable
from factdrift.sparql.vocabulary import PROLOGUE, SCHEMA, item_of
from factdrift.wikidata.time import YEAR, pack_date, unpack

QUALIFIERS = (580, 582, 585)
"""Start, end, and point in time."""

_ENGLISH = "https://en.wikipedia.org/"

Changes = Mapping[int, frozenset[int]]
"""Item -> the relations for which it was found."""


@dataclass(frozen=True)
class Search:
    """What is searched for: the period from `since` up to, not including, `until`.

    `scope`: as in the configuration; with `enwiki` only items with an English article.
    """

    relations: Sequence[int]
    since: datetime.date
    until: datetime.date
    scope: str = "enwiki"


def search(client: Client, wanted: Search) -> Changes:
    """The items that the server names.

    Raises InputError if an answer cannot be used, or the server fails for good.
    """
    parts = [
        (partial(_dated, relation, scope=wanted.scope), relation, month)
        for relation in wanted.relations
        for month in months((pack_date(wanted.since), pack_date(wanted.until)))
    ]
    progress = Progress(f"asking {client.url}", total=len(parts), unit="queries")
    items: dict[int, set[int]] = {}
    for query, relation, month in parts:
        for item in _items(client, query, month):
            items.setdefault(item, set()).add(relation)
        progress.advance(note=f"{len(items):,} items")
    progress.say(f"{len(items):,} items")
    return {item: frozenset(items[item]) for item in sorted(items)}


def chosen(changes: Changes, limit: int) -> list[int]:
    """At most `limit` of the items, sorted by number.

    Each relation gives its items with the lowest numbers in turn, so that no relation takes all places.
    """
    best_rank: dict[int, int] = {}
    for relation in sorted({relation for of_item in changes.values() for relation in of_item}):
        of_relation = sorted(item for item, relations in changes.items() if relation in relations)
        for rank, item in enumerate(of_relation):
            best_rank[item] = min(rank, best_rank.get(item, rank))
    return sorted(sorted(changes, key=lambda item: (best_rank[item], item))[:limit])


def _items(client: Client, query: partial[str], month: Period) -> set[int]:
    items = set()
    for row in divided(client, query, [month], halved, {"s"}):
        if row["s"]["type"] != "uri":
            raise unusable(client.url, "names no entity as ?s", row)
        item = item_of(row["s"])
        if item is not None:  # properties and lexemes have statements too
            items.add(item)
    return items


def _dated(relation: int, period: Period, scope: str) -> str:
    """Items (?s) with a statement of the relation that is dated within the period, and is not deprecated.

    The date is its start, end or point in time, or its value. One of coarse precision counts as its first
    day, and none coarser than a year counts.
    """
    # The days are listed, so that a server can begin with the few value nodes of a day; of a range it would
    # read all statements of the relation, and half of the range would be no less work. In the RDF each date
    # is midnight of a day. The branches are complete, because some engines join what is beside a UNION with
    # all of its rows.
    first, until = (datetime.date(*unpack(packed)) for packed in period)
    dates = (first + datetime.timedelta(day) for day in range((until - first).days))
    days = " ".join(f'"{date.isoformat()}T00:00:00Z"^^xsd:dateTime' for date in dates)
    nodes = [f"pqv:P{qualifier}" for qualifier in QUALIFIERS] + [f"psv:P{relation}"]
    statement = f"?s p:P{relation} ?st . ?st wikibase:rank ?rank . FILTER(?rank != wikibase:DeprecatedRank)"
    about = f"\n    ?article <{SCHEMA}about> ?s ; <{SCHEMA}isPartOf> <{_ENGLISH}> ."
    article = about if scope == "enwiki" else ""
    branches = "\n  UNION ".join(
        f"{{ VALUES ?t {{ {days} }}\n    ?n wikibase:timeValue ?t . ?st {node} ?n . "
        f"{statement}\n    ?n wikibase:timePrecision ?level . FILTER(?level >= {YEAR})"
        f"{article} }}"
        for node in nodes
    )
    return f"{PROLOGUE}SELECT DISTINCT ?s WHERE {{\n  {branches}\n}}"
