"""The updates of one subject and relation as a chain: what comes back, and what supersedes what. Pure
functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple


class Link(NamedTuple):
    """An update of a chain as far as links depend on it: value -> `new`, `obsolete` or `static`."""

    labels: Mapping[tuple[str, str], str]
    functional: bool
    """The relation has one value at a time."""


class Fate(NamedTuple):
    """What an object is in its chain."""

    reverts: bool
    """It is new, and what an earlier link last decided about its value is that it ended."""
    superseded_by: int | None
    """Number of the first later link that says the opposite of the value; None if there is none."""


def ends(link: Link, value: tuple[str, str]) -> bool:
    """Whether a link ends a value: it is obsolete in it, or another one is new of a relation with one value
    at a time."""
    label = link.labels.get(value)
    return label == "obsolete" or (label is None and link.functional and "new" in link.labels.values())


def fates(chain: Sequence[Link]) -> list[dict[tuple[str, str], Fate]]:
    """Value -> its fate, for each link of a chain in their order.

    Links are numbered from 1. One pass forward finds what comes back, one backward what supersedes.
    """
    ended: set[tuple[str, str]] = set()
    known: set[tuple[str, str]] = set()
    back: list[set[tuple[str, str]]] = []
    for link in chain:
        back.append({value for value, label in link.labels.items() if label == "new" and value in ended})
        known |= link.labels.keys()
        for value in known:
            if ends(link, value):
                ended.add(value)
            elif value in link.labels:
                ended.discard(value)
    ending: dict[tuple[str, str], int] = {}
    holding: dict[tuple[str, str], int] = {}
    fates: list[dict[tuple[str, str], Fate]] = []
    for number in range(len(chain), 0, -1):
        link = chain[number - 1]
        fates.append(
            {
                value: Fate(
                    value in back[number - 1],
                    {"new": ending.get(value), "obsolete": holding.get(value)}.get(label),
                )
                for value, label in link.labels.items()
            }
        )
        for value in known:
            if ends(link, value):
                ending[value] = number
            elif value in link.labels:
                holding[value] = number
    return fates[::-1]


def superseded(labels: Sequence[str], by: Sequence[int | None]) -> int | None:
    """The link by which nothing that an update says newly is left to hold; None if something is.

    What an update says newly are its new objects, or its obsolete ones if there are none.
    """
    deciding = "new" if "new" in labels else "obsolete"
    places = [place for label, place in zip(labels, by, strict=True) if label == deciding]
    if not places or None in places:
        return None
    return max(place for place in places if place is not None)
