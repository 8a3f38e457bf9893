"""The mutable and immutable properties and the classes of types, from `resources/tempripple/`."""

from collections.abc import Container
from pathlib import Path
from typing import Literal, NamedTuple, cast, get_args

from factdrift.core.errors import InputError
from factdrift.core.paths import NOUN_PHRASES, TEMPRIPPLE
from factdrift.core.tables import rows_of
from factdrift.wikidata.ids import entity_number, listed_property
from factdrift.words.noun_phrases import read_noun_phrases

BIRTH, DEATH, INCEPTION, SPORT = 569, 570, 571, 641
"""Properties that are read in addition to those of the tables."""

ANY = "any"
"""In `subjects`: items of any type, or of none."""

Guard = Literal["Q", "S", "V", "D", "N"]

_MUTABLE = ("property", "label", "datatype", "subjects", "objects")
_IMMUTABLE = ("property", "label", "datatype", "subjects", "values", "guard", "seed")


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


def read_relations(folder: Path = TEMPRIPPLE, immutable_set: str = "full53") -> Relations:
    """Reads the tables of a folder and the noun phrases of their properties.

    `immutable_set` may keep 16 of the 53. Raises InputError that names the table, the line and what is wrong.
    """
    path = folder / "types.tsv"
    types: list[TypeClass] = []
    for line, (name, text, label) in rows_of(path, ("type", "class", "label")):
        item = entity_number(text)
        if item is None or item < 0:
            raise InputError(f"{path}, line {line}: {text!r} is no id such as Q5")
        types.append(TypeClass(name, item, label))
    names = {entry.type for entry in types}
    words = read_noun_phrases()
    mutable: dict[int, Mutable] = {}
    path = folder / "mutable.tsv"
    for line, (name, label, datatype, subjects, _) in rows_of(path, _MUTABLE):
        where = f"{path}, line {line}"
        number = _property(name, mutable, where)
        if number not in words or not words[number].with_ordinal:
            raise InputError(f"{where}: {name} has no noun phrase with an ordinal in {NOUN_PHRASES}; add it")
        said = words[number]
        of_types = _subjects(subjects, names, where)
        mutable[number] = Mutable(number, label, datatype, said.wh, said.with_ordinal, of_types)
    immutable: dict[int, Immutable] = {}
    path = folder / "immutable.tsv"
    for line, (name, label, datatype, subjects, _, guard, seed) in rows_of(path, _IMMUTABLE):
        where = f"{path}, line {line}"
        number = _property(name, immutable, where)
        if number not in words:
            raise InputError(f"{where}: {name} has no noun phrase in {NOUN_PHRASES}; add it")
        if guard not in get_args(Guard) or seed not in ("yes", "no"):
            raise InputError(
                f"{where}: guard is {guard!r}, seed is {seed!r}; write one of {' '.join(get_args(Guard))}, "
                "and yes or no"
            )
        said = words[number]
        of_types = _subjects(subjects, names, where)
        immutable[number] = Immutable(
            number, label, datatype, of_types, said.wh, said.phrase, cast(Guard, guard), seed == "yes"
        )
    if immutable_set != "full53":
        immutable = {number: relation for number, relation in immutable.items() if relation.seed}
    return Relations(mutable, immutable, tuple(types))


def _property(name: str, known: Container[int], where: str) -> int:
    number = listed_property(name, where)
    if number in known:
        raise InputError(f"{where}: {name} has a row already; remove one of the two")
    return number


def _subjects(text: str, known: set[str], where: str) -> tuple[str, ...]:
    names = tuple(text.split())
    unknown = set(names) - known - {ANY}
    if unknown:
        raise InputError(f"{where}: {', '.join(sorted(unknown))} is not a type of types.tsv")
    return names
