"""The first reading of a dump: which subjects are drawn, its properties, its classes, its articles."""

from __future__ import annotations

import hashlib
import heapq
import re
import zlib
from array import array
from collections.abc import Iterator, Mapping, Set
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from factdrift.audit import lines
from factdrift.audit.filters import Relation

SINGLE = {19474404, 52060874}
"""Single-value and single-best-value constraint."""

_YEAR = re.compile(rb'"\+0*(\d{4,})-\d\d-\d\dT')
_ARTICLE = re.compile(rb'"enwiki"\s*:')


class Classes(Mapping[int, tuple[int, ...]]):
    """Subclass -> its direct superclasses (P279), as pairs of 32-bit numbers: a full dump has millions."""

    def __init__(self, flat: array[int]) -> None:
        """`flat`: subclass, superclass, subclass, ..."""
        table = np.frombuffer(flat, np.int32).reshape(-1, 2) if flat else np.empty((0, 2), np.int32)
        order = np.argsort(table[:, 0], kind="stable")
        self._children, self._parents = table[order, 0], table[order, 1]
        self._known: dict[int, tuple[int, ...]] = {}

    def __getitem__(self, number: int) -> tuple[int, ...]:
        if number not in self._known:
            begin, end = np.searchsorted(self._children, [number, number + 1])
            self._known[number] = tuple(self._parents[begin:end].tolist())
        return self._known[number]

    def __iter__(self) -> Iterator[int]:
        return iter(np.unique(self._children).tolist())

    def __len__(self) -> int:
        return len(np.unique(self._children))


class Survey(NamedTuple):
    """`drawn`: stratum -> the subjects drawn; `articles`: stratum -> items with an English article.

    `lines`: id -> the line of each drawn and each wanted subject, decoded. `best`: the
    classes, with those of best rank only of items with an article.
    """

    drawn: Mapping[str, frozenset[str]]
    articles: Mapping[str, int]
    lines: Mapping[str, dict[str, Any]]
    relations: Mapping[int, Relation]
    classes: Classes
    best: Classes


DATED, OTHER = "with a date since T_old", "without one"
"""Strata of the subjects that are drawn: almost all updates are about one that names a year since T_old."""


def survey(
    dump: Path, year: int, wanted: Set[str], subjects: Mapping[str, int] | None = None, seed: int = 0
) -> Survey:
    """Reads a dump once; of items only the wanted, the drawn and the classes are decoded.

    `subjects`: how many items with an English article to draw of each stratum, those with the lowest seeded
    hashes of their ids; None draws nothing. Raises InputError if the file is damaged.
    """
    subjects = subjects or {}
    best: dict[str, list[tuple[int, bytes, bytes]]] = {stratum: [] for stratum in (DATED, OTHER)}
    articles = dict.fromkeys(best, 0)
    relations: dict[int, Relation] = {}
    pairs, best_pairs = array("i"), array("i")
    kept: dict[str, dict[str, Any]] = {}
    for line in lines.lines_of(dump):
        name = lines.id_at_the_beginning(line)
        if name is None or name[:1] == b"P" or b'"P279"' in line or name.decode() in wanted:
            entity = lines.decoded_line(line)
            if entity is None or not isinstance(entity.get("id"), str):
                continue
            name = entity["id"].encode()
            if name[:1] == b"P":
                relations[int(name[1:])] = _relation(entity)
            for parent in lines.items_of(entity, "P279"):
                pairs.extend((int(name[1:]), parent))
            parents = lines.best_items if _ARTICLE.search(line) else lines.items_of
            for parent in parents(entity, "P279"):
                best_pairs.extend((int(name[1:]), parent))
            if entity["id"] in wanted:
                _keep(kept, entity)
        if name[:1] != b"Q" or not _ARTICLE.search(line):
            continue
        stratum = DATED if any(int(match[1]) >= year for match in _YEAR.finditer(line)) else OTHER
        articles[stratum] += 1
        heap, rank, most = best[stratum], -_rank(seed, name), subjects.get(stratum, 0)
        if len(heap) < most:
            heapq.heappush(heap, (rank, name, zlib.compress(line, 1)))
        elif heap and rank > heap[0][0]:
            heapq.heapreplace(heap, (rank, name, zlib.compress(line, 1)))
    for heap in best.values():
        for _, _, line in heap:
            if (entity := lines.decoded_line(zlib.decompress(line))) is not None:
                _keep(kept, entity)
    drawn = {
        stratum: frozenset(name.decode() for _, name, _ in heap if name.decode() in kept)
        for stratum, heap in best.items()
    }
    return Survey(drawn, articles, kept, relations, Classes(pairs), Classes(best_pairs))


def _keep(kept: dict[str, dict[str, Any]], entity: dict[str, Any]) -> None:
    """Of two lines of an entity the one of the higher revision counts."""
    before = kept.get(entity["id"])
    if before is None or (entity.get("lastrevid") or 0) >= (before.get("lastrevid") or 0):
        kept[entity["id"]] = entity


def _rank(seed: int, name: bytes) -> int:
    return int(hashlib.sha256(b"%d|subject|%s" % (seed, name)).hexdigest()[:16], 16)


def _relation(line: dict[str, Any]) -> Relation:
    """What the rules ask of a property; all constraints but deprecated ones count, separators united."""
    entity = lines.Entity(line, frozenset())
    single, separators = False, set()
    for claim in line["claims"].get("P2302", []):
        value = claim.get("mainsnak", {}).get("datavalue", {}).get("value")
        if lines.stated(claim) and lines.item_number(value) in SINGLE:
            single = True
            qualifiers = claim.get("qualifiers")
            snaks = qualifiers.get("P4155", []) if isinstance(qualifiers, dict) else []
            numbers = (lines.item_number(snak.get("datavalue", {}).get("value")) for snak in snaks)
            separators |= {-number for number in numbers if number is not None}
    aliases = tuple(entity.aliases)
    return Relation(
        single, frozenset(separators), entity.classes, entity.label, line.get("datatype"), aliases
    )
