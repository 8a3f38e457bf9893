"""The relations of KLoB: those of KLoB-c, those of a chain's second hop, and inverse pairs."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.paths import KLOB
from factdrift.core.tables import records, rows_of
from factdrift.wikidata.ids import property_id, property_number
from factdrift.words.noun_phrases import NounPhrase, read_noun_phrases

RELATION_COLUMNS = ("pid", "label", "name", "count", "subjects", "objects", "check_subject", "check_object")


class Relation(NamedTuple):
    """One of the 32 relations of KLoB-c.

    `label`: in Wikidata. `name`: in the published file. `examples`: their number there (Table 2 of the
    paper). `check_subject`, `check_object`: a pair that fixes the relation's direction.
    """

    label: str
    name: str
    examples: int
    check_subject: str
    check_object: str


class RelationChoice(NamedTuple):
    """The project's own tables of relations, by property number."""

    relations: Mapping[int, Relation]
    second_hops: frozenset[int]
    """The 44 relations of MQuAKE."""
    shared: frozenset[int]
    """The relations of the 44 that may be the first hop of a chain from MQuAKE."""
    phrases: Mapping[int, NounPhrase]
    inverses: frozenset[tuple[int, int]]
    """Pairs (p1, p2) of relations that are each other's inverse, in both orders."""

    def label(self, number: int) -> str:
        """A property's Wikidata label in the project's tables, or its id if they lack it."""
        if number in self.relations:
            return self.relations[number].label
        return self.phrases[number].label if number in self.phrases else property_id(number)


def read_choice() -> RelationChoice:
    """The project's tables, as they are in `resources/`."""
    relations = {
        property_number(identifier): Relation(label, name, int(count), check_subject, check_object)
        for _, (identifier, label, name, count, _, _, check_subject, check_object) in rows_of(
            KLOB / "relations.tsv", RELATION_COLUMNS
        )
    }
    hops = {
        property_number(identifier): shared == "yes"
        for _, (identifier, _, shared) in rows_of(KLOB / "second_hops.tsv", ("pid", "label", "first_hop_too"))
    }
    rows = rows_of(KLOB / "inverse_pairs.tsv", ("first", "second"))
    pairs = {(property_number(first), property_number(second)) for _, (first, second) in rows}
    return RelationChoice(
        relations,
        frozenset(hops),
        frozenset(number for number, shared in hops.items() if shared),
        read_noun_phrases(),
        frozenset(pairs | {(second, first) for first, second in pairs}),
    )


def second_hops(choice: RelationChoice, name: str) -> Sequence[int]:
    """The relations of a chain's second hop; `name`: `mquake44`, or `all_np`, all with a noun phrase."""
    return sorted(choice.second_hops if name == "mquake44" else choice.phrases)


def check_properties(properties: Path, choice: RelationChoice, slice_: bool) -> dict[int, str]:
    """Property -> its label in the snapshot, or else in the project's tables, if it has a noun phrase.

    Prints the labels of the 32 relations that differ. Raises InputError if one of these is not in the
    snapshot with datatype `wikibase-item`; with `slice_` it may be missing.
    """
    columns = ["id", "label", "datatype"]
    known = {row["id"]: (row["label"], row["datatype"]) for row in records(properties, columns)}
    labels: dict[int, str] = {}
    for number in sorted({*choice.phrases, *choice.relations}):
        label, datatype = known.get(number, (None, None))
        labels[number] = label or choice.label(number)
        if number not in choice.relations:
            continue
        if number not in known and slice_:
            print(f"{property_id(number)} is not in this slice; it counts as {labels[number]!r}")
        elif datatype != "wikibase-item":
            state = f"has the datatype {datatype}" if number in known else "is missing"
            raise InputError(
                f"{properties}: {property_id(number)} ({choice.label(number)}) {state}, and KLoB needs it as "
                "a relation between items; give a whole dump, or set `slice: true` for a part of one"
            )
        elif label != choice.label(number):
            print(f"{property_id(number)} is called {label!r} here, not {choice.label(number)!r}")
    return labels
