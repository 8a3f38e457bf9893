"""Queries that are cut into parts: a part that is too much for the server is asked for in halves."""

import datetime
from collections.abc import Callable, Iterator, Sequence
from itertools import pairwise
from typing import TypeVar

from factdrift.core.errors import InputError
from factdrift.sparql.client import Client, TooMuch
from factdrift.wikidata.time import pack, pack_date, unpack

Binding = dict[str, dict[str, str]]
Period = tuple[int, int]
"""The first of some days and the day after the last, packed."""

_Asked = TypeVar("_Asked")


def divided(
    client: Client,
    query: Callable[[_Asked], str],
    parts: Sequence[_Asked],
    halves: Callable[[_Asked], list[_Asked]],
    needed: set[str],
) -> Iterator[Binding]:
    """Yields the rows of all parts, in their order.

    `halves` of a part that cannot be divided is an empty list. Raises InputError if a row lacks one of the
    variables `needed`, or if the server fails for good.
    """
    waiting = list(reversed(parts))
    while waiting:
        part = waiting.pop()
        smaller = halves(part)
        try:
            rows = client.rows(query(part), divisible=bool(smaller))
        except TooMuch:
            waiting.extend(reversed(smaller))
            continue
        for row in rows:
            if missing := needed - row.keys():
                raise unusable(client.url, f"lacks {', '.join(f'?{name}' for name in sorted(missing))}", row)
            yield row


def months(period: Period) -> list[Period]:
    """The period cut at the first day of each month; an empty list if it has no day."""
    first, until = period
    if first >= until:
        return []
    year, month, _ = unpack(first)
    bounds = [first]
    # From 0 for January: the number of the month after the first.
    number = year * 12 + month
    while (bound := pack(number // 12, number % 12 + 1, 1)) < until:
        bounds.append(bound)
        number += 1
    return list(pairwise([*bounds, until]))


def halved(period: Period) -> list[Period]:
    """The two halves of a period; an empty list if it is a single day."""
    first, until = (datetime.date(*unpack(packed)) for packed in period)
    middle = first + (until - first) // 2
    if middle == first:
        return []
    packed = pack_date(middle)
    return [(period[0], packed), (packed, period[1])]


def unusable(url: str, what: str, row: object) -> InputError:
    """The error for a row that no server with Wikidata's RDF would give; `what` says how it is wrong."""
    shown = str(row)[:300]
    return InputError(
        f"{url}: a row of an answer {what}: {shown}; is this a server with Wikidata's RDF? "
        "Remove its stored answers under results/fetched before the next run"
    )
