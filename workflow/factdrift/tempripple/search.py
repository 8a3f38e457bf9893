"""What a search for facts uses: a source, the method's tables, and what is known about items.

Types and names read each item once, all that are new in one question to the source.
"""

from collections import Counter, defaultdict
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, NamedTuple

import numpy as np

from factdrift.core.columns import Row
from factdrift.tempripple.claims import best_rank, groups
from factdrift.tempripple.phrases import normal, year
from factdrift.tempripple.relations import ANY, SPORT, Relations, TypeClass
from factdrift.tempripple.settings import TempRippleSettings
from factdrift.tempripple.sources import INSTANCE, SUBCLASS, Ids, StatementSource
from factdrift.wikidata.ids import entity_id, property_id
from factdrift.wikidata.tables import supplied_labels
from factdrift.words.names import Names as UsedNames
from factdrift.words.names import read_names, written


def ids(numbers: Iterable[int]) -> Ids:
    """Numbers sorted and distinct, as a source takes them."""
    return np.array(sorted(set(numbers)), dtype=np.int32)


class Match(NamedTuple):
    """A type of an item, the class that gave it, and its distance in steps of P279."""

    depth: int
    table_row: int
    """Row of the class in types.tsv, which breaks ties between classes at one depth."""
    type: str
    class_number: int

    @property
    def class_id(self) -> str | None:
        """The id of the class; None if ANY matched an item without a type."""
        return entity_id(self.class_number) if self.class_number else None


class Types:
    """Types of items, from the classes reached by P31 and then up to `type_depth` steps of P279."""

    def __init__(self, source: StatementSource, classes: Sequence[TypeClass], depth: int) -> None:
        self._source = source
        self._depth = depth
        self._wanted: dict[int, list[tuple[int, str]]] = defaultdict(list)
        for table_row, entry in enumerate(classes):
            self._wanted[entry.number].append((table_row, entry.type))
        self._of_item: dict[int, list[Match]] = {}
        self._instances: dict[int, list[int]] = {}
        self._above: dict[int, list[int]] = {}
        self._sports: dict[int, list[int]] = {}

    def fetch(self, items: Iterable[int]) -> None:
        """Reads the classes of those items that were not fetched before."""
        new = set(items) - self._of_item.keys()
        self._read(new, INSTANCE, self._instances)
        classes = {number for item in new for number in self._instances[item]}
        for _ in range(self._depth):
            self._read(classes - self._above.keys(), SUBCLASS, self._above)
            classes = {above for number in classes for above in self._above[number]}
        for item in new:
            self._of_item[item] = sorted(
                Match(steps, table_row, name, number)
                for number, steps in self.reached(item).items()
                for table_row, name in self._wanted.get(number, ())
            )

    def _read(self, items: Collection[int], relation: int, classes: dict[int, list[int]]) -> None:
        if items:
            classes |= {item: [] for item in items}
            table = self._source.classes(ids(items), relation)
            for item, number in zip(table["id"].to_pylist(), table["class"].to_pylist(), strict=True):
                classes[item].append(number)

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
        steps = dict.fromkeys(self._instances[item], 0)
        frontier = list(steps)
        for step in range(1, self._depth + 1):
            above = {number for below in frontier for number in self._above[below]}
            frontier = list(above - steps.keys())
            steps |= dict.fromkeys(frontier, step)
        return steps

    def fetch_kinds(self, items: Iterable[int]) -> None:
        """Reads classes and sports (P641, of best rank) of those items whose kinds were not read before."""
        if not (new := set(items) - self._sports.keys()):
            return
        self.fetch(new)
        self._sports |= {item: [] for item in new}
        for item, _, claims in groups(self._source.statements(ids(new), ids([SPORT]), ids([]))):
            self._sports[item] = sorted(
                {claim.object for claim in best_rank(claims) if claim.object is not None}
            )

    def kinds(self, subject: int, value: int | None) -> list[str]:
        """The kinds of a value, such as `P31 Q476028` and `P641 Q2736`, by which wrong options resemble it.

        A property that the value does not have is taken from the subject; so is every property if `value` is
        None, for a literal. The kinds of both items must have been read.
        """
        values = []
        for relation, known in ((INSTANCE, self._instances), (SPORT, self._sports)):
            own = known[value] if value is not None else []
            values += [f"{property_id(relation)} {entity_id(item)}" for item in own or known[subject]]
        return values


class Names:
    """The source's labels and aliases; the user's labels for items that the source does not know.

    `used`: the names that take articles inside a sentence; None leaves all labels as they are.
    """

    def __init__(self, source: StatementSource, supplied: Mapping[int, str], used: UsedNames | None) -> None:
        self._source = source
        self._supplied = supplied
        self._used = used
        self._known: dict[int, tuple[str | None, list[str]]] = {}

    def fetch(self, items: Iterable[int]) -> None:
        """Reads the names of those items that were not fetched before."""
        if not (new := set(items) - self._known.keys()):
            return
        self._known |= {item: (self._supplied.get(item), []) for item in new}
        terms = self._source.terms(ids(new))
        for item, label, aliases in zip(*(column.to_pylist() for column in terms.columns), strict=True):
            self._known[item] = (label, aliases)

    def label(self, item: int) -> str | None:
        """The label of an item that was fetched; None if it has none."""
        return self._known[item][0]

    def aliases(self, item: int) -> list[str]:
        return self._known[item][1]

    def in_sentence(self, item: int, classes: Collection[int] = ()) -> str:
        """The label of an item that has one, with the article that the name takes inside a sentence.

        `classes`: numbers of the item's classes (P31).
        """
        label = self.label(item)
        assert label is not None, f"Q{item} has no label"
        return label if self._used is None else written(label, self._used.usage(label, classes))


class Search(NamedTuple):
    """A source, and what decides about its rows."""

    source: StatementSource
    relations: Relations
    settings: TempRippleSettings
    types: Types
    names: Names


@dataclass
class StageTables:
    """Rows of TR_FACTS or TR_RELATED, rows of TR_DROPPED, and counts for the statistics."""

    stage: Literal["mutable", "related"]
    rows: list[Row] = field(default_factory=list)
    dropped: list[Row] = field(default_factory=list)
    counts: Counter[str] = field(default_factory=Counter)

    def drop(
        self, subject: int, relation: int, reason: str, statements: Iterable[str], detail: str = ""
    ) -> None:
        """Adds a row of TR_DROPPED."""
        row = {"s": entity_id(subject), "p": property_id(relation), "reason": reason}
        self.dropped.append(row | {"stmt_ids": list(statements), "detail": detail, "stage": self.stage})

    def mark(self, facts: Iterable[Row]) -> None:
        """Sets `discriminates` of all rows: whether an answer shows if the new fact or an old one was used.

        The parallel of a chain is the chain along the same properties from a fact of the other role in the
        same timeline. Where both end in the same answer, a right answer does not show which of the two facts
        it came from; the value is None where there is no parallel. `rows` must be all rows of the build,
        before any cap, and `facts` rows of TR_FACTS.
        """
        by_id = {fact["fact_id"]: fact for fact in facts}
        answers: dict[tuple[tuple[str, ...], bool], set[str]] = defaultdict(set)
        described = []
        for row in self.rows:
            fact = by_id[row["fact_id"]]
            chain = (fact["s"], fact["p"], *(step["p"] for step in row.get("path", ())))
            names = ("answer_id", "answer_label") if "rel_id" in row else ("o", "o_label")
            value, label = (row[name] for name in names)
            answer = {f"value {value}", f"label {normal(label)}"}
            if row.get("value_type") == "time":
                answer = {year(value)[0]}  # because options may be cut to years
            described.append((row, chain, fact["role"] == "new", answer))
            answers[chain, fact["role"] == "new"] |= answer
        for row, chain, is_new, answer in described:
            parallel = answers.get((chain, not is_new))
            row["discriminates"] = None if parallel is None else parallel.isdisjoint(answer)


def search_of(
    source: StatementSource, settings: TempRippleSettings, relations: Relations, labels: Sequence[Path] = ()
) -> Search:
    """The search of a source; `labels`: tables `id label` of items that it does not know."""
    table = supplied_labels(labels)
    supplied = dict(zip(table["id"].to_pylist(), table["label"].to_pylist(), strict=True))
    names = Names(source, supplied, None if settings.grammar == "plain" else read_names())
    return Search(source, relations, settings, Types(source, relations.types, settings.type_depth), names)
