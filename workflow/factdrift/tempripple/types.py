"""Types of items, from the classes reached by P31 and then up to `type_depth` steps of P279."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
import pyarrow as pa

from factdrift.tempripple.relations import ANY, TypeClass
from factdrift.tempripple.sources import INSTANCE, SUBCLASS, Ids, Source
from factdrift.wikidata.ids import entity_id


class Match(NamedTuple):
    """A type of an item, the class that gave it, and its distance in steps of P279."""

    depth: int
    place: int
    """Row of the class in types.tsv, which breaks ties between classes at one depth."""
    type: str
    class_number: int

    @property
    def class_id(self) -> str | None:
        """The id of the class; None if ANY matched an item without a type."""
        return entity_id(self.class_number) if self.class_number else None


class Types:
    """The types of items; each item and each class is fetched once."""

    def __init__(self, source: Source, classes: Sequence[TypeClass], depth: int) -> None:
        self._source = source
        self._depth = depth
        self._wanted: dict[int, list[tuple[int, TypeClass]]] = defaultdict(list)
        for place, entry in enumerate(classes):
            self._wanted[entry.number].append((place, entry))
        self._of_item: dict[int, tuple[Match, ...]] = {}
        self._instances: dict[int, list[int]] = {}
        self._above: dict[int, list[int]] = {}

    def fetch(self, items: Iterable[int]) -> None:
        """Reads the classes of those items that were not fetched before, all at once."""
        new = sorted(set(items) - self._of_item.keys())
        if not new:
            return
        classes: dict[int, list[int]] = {item: [] for item in new}
        for item, number in _pairs(self._source.classes(ids(new), INSTANCE)):
            classes[item].append(number)
        self._fetch_above({number for numbers in classes.values() for number in numbers})
        for item, numbers in classes.items():
            self._instances[item] = numbers
            self._of_item[item] = self._matches(self.reached(item))

    def of(self, item: int, subjects: Sequence[str]) -> Match | None:
        """The nearest match among the types `subjects`, or None; ANY matches every item."""
        matches = self._of_item[item]
        if ANY in subjects:
            return matches[0] if matches else Match(0, -1, ANY, 0)
        return next((match for match in matches if match.type in subjects), None)

    def is_a(self, item: int, type_name: str) -> bool:
        return any(match.type == type_name for match in self._of_item[item])

    def instances(self, item: int) -> list[int]:
        """The classes (P31) of an item that was fetched."""
        return self._instances[item]

    def reached(self, item: int) -> dict[int, int]:
        """All classes of an item that was fetched -> the number of steps of P279 to each."""
        found = dict.fromkeys(self._instances[item], 0)
        frontier = list(found)
        for step in range(1, self._depth + 1):
            above = {number for below in frontier for number in self._above[below]}
            frontier = list(above - found.keys())
            found |= dict.fromkeys(frontier, step)
        return found

    def _fetch_above(self, classes: set[int]) -> None:
        """Reads the superclasses within `type_depth` steps, with one question a step."""
        frontier = classes
        for _ in range(self._depth):
            unknown = sorted(frontier - self._above.keys())
            if unknown:
                self._above |= {number: [] for number in unknown}
                for number, above in _pairs(self._source.classes(ids(unknown), SUBCLASS)):
                    self._above[number].append(above)
            frontier = {above for number in frontier for above in self._above[number]}

    def _matches(self, reached: dict[int, int]) -> tuple[Match, ...]:
        return tuple(
            sorted(
                Match(steps, place, entry.type, number)
                for number, steps in reached.items()
                for place, entry in self._wanted.get(number, ())
            )
        )


def ids(numbers: Iterable[int]) -> Ids:
    """Numbers sorted and distinct, as a source takes them."""
    return np.array(sorted(set(numbers)), dtype=np.int32)


def _pairs(table: pa.Table) -> Iterable[tuple[int, int]]:
    return zip(table["id"].to_pylist(), table["class"].to_pylist(), strict=True)
