"""The mutable and immutable properties and the classes of types, from `resources/tempripple/`."""

from __future__ import annotations

import csv
from pathlib import Path
from typing import Literal, NamedTuple, cast, get_args

from factdrift.core.errors import InputError
from factdrift.core.paths import NOUN_PHRASES, TEMPRIPPLE
from factdrift.core.tables import rows_of
from factdrift.wikidata.ids import entity_number
from factdrift.words.noun_phrases import COLUMNS as PHRASE_COLUMNS
from factdrift.words.noun_phrases import NounPhrase, noun_phrases

BIRTH, DEATH, INCEPTION, SPORT = 569, 570, 571, 641
"""Properties that are read in addition to those of the tables."""

ANY = "any"
"""In `subjects`: items of any type, or of none."""

Guard = Literal["Q", "S", "V", "D", "N"]


class Mutable(NamedTuple):
    """A property whose object changes. `phrase` has the blanks {ord} and {x}; `subjects`: names of types."""

    property: int
    label: str
    datatype: str
    wh: str
    phrase: str
    subjects: tuple[str, ...]


class Immutable(NamedTuple):
    """A property for related facts.

    `phrase` has the blank {x}; `guard` is Q (qualifiers decide), S (a start is required), V (the value must
    lie before the period), D (the subject must have died before it) or N (as Q; few values exist).
    """

    property: int
    label: str
    datatype: str
    subjects: tuple[str, ...]
    wh: str
    phrase: str
    guard: Guard
    seed: bool


class TypeClass(NamedTuple):
    """One class that gives a type; a type may have several, and a class may give several."""

    type: str
    number: int
    label: str


class Relations(NamedTuple):
    """The properties by number, and the classes in the order of their table."""

    mutable: dict[int, Mutable]
    immutable: dict[int, Immutable]
    types: tuple[TypeClass, ...]

    def properties(self) -> list[int]:
        """The numbers of all properties that are read."""
        return sorted({*self.mutable, *self.immutable, BIRTH, DEATH, INCEPTION, SPORT})


def read_relations(
    folder: Path = TEMPRIPPLE, immutable_set: str = "full53", phrases: Path = NOUN_PHRASES
) -> Relations:
    """Reads the tables of a folder and the noun phrases of their properties.

    `immutable_set` may keep 16 of the 53. Raises InputError that names the table and the property.
    """
    mutable, immutable, types = (folder / f"{name}.tsv" for name in ("mutable", "immutable", "types"))
    words = noun_phrases(rows_of(phrases, PHRASE_COLUMNS), str(phrases))

    def spoken(row: dict[str, str], path: Path) -> NounPhrase:
        number = -_number(row["property"], "P6", path)
        if number not in words or (path == mutable and not words[number].with_ordinal):
            kind = "noun phrase with an ordinal" if path == mutable else "noun phrase"
            raise InputError(f"{phrases}: {row['property']} of {path} has no {kind}; add it")
        return words[number]

    classes = tuple(
        TypeClass(row["type"], _number(row["class"], "Q5", types), row["label"])
        for row in _rows(types, ("type", "class", "label"))
    )
    known = {entry.type for entry in classes}
    mutables = [
        Mutable(
            -_number(row["property"], "P6", mutable),
            row["label"],
            row["datatype"],
            spoken(row, mutable).wh,
            spoken(row, mutable).with_ordinal,
            _subjects(row, known, mutable),
        )
        for row in _rows(mutable, ("property", "label", "datatype", "subjects"))
    ]
    immutables = [
        Immutable(
            -_number(row["property"], "P6", immutable),
            row["label"],
            row["datatype"],
            _subjects(row, known, immutable),
            spoken(row, immutable).wh,
            spoken(row, immutable).phrase,
            _guard(row, immutable),
            row["seed"] == "yes",
        )
        for row in _rows(immutable, ("property", "label", "datatype", "subjects", "guard", "seed"))
    ]
    return Relations(
        {relation.property: relation for relation in mutables},
        {each.property: each for each in immutables if each.seed or immutable_set == "full53"},
        classes,
    )


def _number(name: str, example: str, path: Path) -> int:
    number = entity_number(name)
    if number is None or name[0] != example[0]:
        raise InputError(f"{path}: {name!r} is no id such as {example}")
    return number


def _guard(row: dict[str, str], path: Path) -> Guard:
    if row["guard"] not in get_args(Guard):
        raise InputError(
            f"{path}, {row['property']}: {row['guard']!r} is none of {' '.join(get_args(Guard))}"
        )
    return cast(Guard, row["guard"])


def _rows(path: Path, columns: tuple[str, ...]) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        rows = csv.DictReader(file, delimiter="\t", quoting=csv.QUOTE_NONE)
        missing = set(columns) - set(rows.fieldnames or ())
        if missing:
            raise InputError(f"{path}, line 1: no column {', '.join(sorted(missing))}")
        return list(rows)


def _subjects(row: dict[str, str], known: set[str], path: Path) -> tuple[str, ...]:
    names = tuple(row["subjects"].split())
    unknown = set(names) - known - {ANY}
    if unknown:
        raise InputError(
            f"{path}, {row['property']}: {', '.join(sorted(unknown))} is not a type of types.tsv"
        )
    return names
