"""The mutable and immutable properties and the classes of types, from `resources/tempripple/`."""

from pathlib import Path
from typing import NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.paths import NOUN_PHRASES, TEMPRIPPLE
from factdrift.core.tables import rows_of
from factdrift.wikidata.ids import entity_number, listed_property
from factdrift.words.noun_phrases import read_noun_phrases

BIRTH, DEATH, INCEPTION, SPORT = 569, 570, 571, 641
"""Properties that are read in addition to those of the tables."""

ANY = "any"
"""In `subjects`: items of any type, or of none."""

_GUARDS = ("Q", "S", "V", "D", "N")

_MUTABLE = ("property", "label", "datatype", "subjects", "objects")
_IMMUTABLE = ("property", "label", "datatype", "subjects", "values", "guard", "seed")


class Relation(NamedTuple):
    """A property whose object changes, or one for related facts, which has a guard.

    `phrase` has the blank {x}, and {ord} before it if the object changes; `subjects`: names of types. `guard`
    is Q (qualifiers decide), S (a start is required), V (the value must lie before the period), D (the
    subject must have died before it) or N (as Q; few values exist).
    """

    property: int
    label: str
    datatype: str
    subjects: tuple[str, ...]
    wh: str
    phrase: str
    guard: str = ""
    seed: bool = False


class TypeClass(NamedTuple):
    """One class that gives a type; a type may have several, and a class may give several."""

    type: str
    number: int
    label: str


class Relations(NamedTuple):
    """The properties by number, and the classes in the order of their table."""

    mutable: dict[int, Relation]
    immutable: dict[int, Relation]
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
    names = {ANY, *(entry.type for entry in types)}
    mutable = _relations(folder / "mutable.tsv", _MUTABLE, names)
    immutable = _relations(folder / "immutable.tsv", _IMMUTABLE, names)
    if immutable_set != "full53":
        immutable = {number: relation for number, relation in immutable.items() if relation.seed}
    return Relations(mutable, immutable, tuple(types))


def _relations(path: Path, columns: tuple[str, ...], types: set[str]) -> dict[int, Relation]:
    phrases = read_noun_phrases()
    relations: dict[int, Relation] = {}
    for line, (name, label, datatype, subjects, _, *more) in rows_of(path, columns):
        where = f"{path}, line {line}"
        number = listed_property(name, where)
        if number in relations:
            raise InputError(f"{where}: {name} has a row already; remove one of the two")
        noun = phrases.get(number)
        phrase = noun and (noun.phrase if more else noun.with_ordinal)
        if noun is None or not phrase:
            missing = "noun phrase" if more else "noun phrase with an ordinal"
            raise InputError(f"{where}: {name} has no {missing} in {NOUN_PHRASES}; add it")
        if unknown := set(subjects.split()) - types:
            raise InputError(f"{where}: {', '.join(sorted(unknown))} is not a type of types.tsv")
        guard, seed = more or ("", "no")
        if more and (guard not in _GUARDS or seed not in ("yes", "no")):
            wanted = f"write one of {' '.join(_GUARDS)}, and yes or no"
            raise InputError(f"{where}: guard is {guard!r}, seed is {seed!r}; {wanted}")
        of_types = tuple(subjects.split())
        relations[number] = Relation(number, label, datatype, of_types, noun.wh, phrase, guard, seed == "yes")
    return relations
