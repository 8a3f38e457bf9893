"""The names under which the candidates of a question may be mentioned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import NamedTuple

from factdrift.verdict.cues import Cues
from factdrift.verdict.numbers import roman
from factdrift.verdict.text import keys_of, name_tokens, plain

ACCEPTED, STALE, OTHER, SHARED, UNKNOWN = "accepted", "stale", "other", "shared", "unknown"

_WHO = frozenset(("who", "whom", "whose", "wer", "wen", "wem"))
_WORDS = frozenset(
    ("us", "who", "it", "may", "will", "mark", "bill", "no", "can", "am", "do", "go", "me", "so")
)
"""Names that are common words where they are written small."""


class Name(NamedTuple):
    """A name of a candidate. `capital`: its capitals count; `part`: it is a surname, a given name or so."""

    keys: tuple[str, ...]
    kind: str
    name: str
    capital: bool = False
    part: bool = False


class Person(NamedTuple):
    """A person's name in its parts, without `Jr.` and the number of a king."""

    name: Name
    given: str
    middle: tuple[str, ...]
    surname: tuple[str, ...]


class Names:
    """The names of all candidates of a question, and the parts of persons' names that are nobody else's."""

    def __init__(self, listed: Mapping[str, Sequence[str]], asked: Sequence[str], cues: Cues) -> None:
        """`listed`: ACCEPTED, STALE, OTHER -> names; `asked`: the words of the question."""
        self._cues, self._asked = cues, frozenset(asked)
        whole: dict[tuple[str, ...], Name] = {}
        for kind, texts in listed.items():
            for text, keys in ((each, self._keys(name)) for each in texts for name in _spellings(each)):
                if keys and (known := whole.get(keys)) is not None:
                    if {known.kind, kind} == {ACCEPTED, STALE}:
                        whole[keys] = known._replace(kind=SHARED)
                elif keys:
                    whole[keys] = Name(keys, kind, text, self._counts_capitals(text, keys))
        self.whole = whole
        asks = [key for key in asked if key == "head" or cues.has("thing", key) or cues.has("title", key)]
        nobody = not _WHO & self._asked and any(cues.has("thing", key) for key in asks[:1])
        several = [] if nobody else [each for each in whole.values() if len(each.keys) > 1]
        people = [each for each in several if _person(each.name, cues)]
        self.surnames = frozenset(_without_order(each.keys)[-1] for each in people)
        self.people: dict[str, list[Person]] = {}
        names = dict(whole)
        for each in people:
            if each.kind == SHARED or (person := _in_parts(each, cues)) is None:
                continue
            self.people.setdefault(person.surname[0], []).append(person)
            for keys in self._parts(person):
                names.setdefault(keys, each._replace(keys=keys, capital=False, part=True))
        self.by_first: dict[str, list[Name]] = {}
        for each in sorted(names.values(), key=lambda name: -len(name.keys)):
            self.by_first.setdefault(each.keys[0], []).append(each)

    def _keys(self, text: str) -> tuple[str, ...]:
        """The words of a name without articles; the `an` of `Chiang Wan-an` is none."""
        found = name_tokens(text)
        words = [each for each in found if each.is_word or each.text == "&"]
        glued = {each.end for each in found if each.text == "-"}
        bare = [each for each in words if each.start in glued or not self._cues.has("article", each.key)]
        return tuple(self.number(each.key) for each in (bare or words))

    def number(self, key: str) -> str:
        """A number as its digits, also a Roman one and an ordinal; `&` as the word for it."""
        return _number(key, self._cues)

    def _counts_capitals(self, text: str, keys: Sequence[str]) -> bool:
        if len(keys) > 1 or not any(character.isupper() for character in text):
            return False
        common = self._cues.has("starter", keys[0]) or self._cues.has("article", keys[0])
        return common or keys[0] in _WORDS

    def _parts(self, person: Person) -> Iterator[tuple[str, ...]]:
        """Surname, given name, the name without its middle ones or surname first, if one side's only."""
        name, given, middle, surname = person
        short = tuple(key for key in middle if len(key) > 1)
        found = [surname, surname[-1:], (given, *surname), (given, *short, *surname)]
        if given not in initials_of(name.name) and not self._cues.has("title", given):
            found.insert(2, (given,))
        for part in dict.fromkeys(found):
            if part and part != name.keys and len(part[-1]) > 1 and self.own(part, name.kind):
                yield part
        if self.own((given, *middle, *surname), name.kind):
            yield from ((*middle, *surname, given), (*surname, given, *middle))  # Suk-yeol Yoon

    def own(self, part: tuple[str, ...], kind: str) -> bool:
        """Whether no candidate of another side has these words in this order, with others between or not."""
        for keys, each in self.whole.items():
            if each.kind != kind and part[0] in keys:
                left = iter(keys)
                if all(word in left for word in part):
                    return False
        return True


@lru_cache(maxsize=1 << 15)
def _number(key: str, cues: Cues) -> str:
    if key in ("&", "und"):
        return "and"
    if key[0].isdigit():
        return re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", key)
    known = cues.values["number"].get(key) or cues.values["ordinal"].get(key)
    return known or roman(key)


@lru_cache(maxsize=1 << 14)
def initials_of(text: str) -> frozenset[str]:
    """The keys of a name that are initials."""
    return frozenset(each.key for each in name_tokens(text) if each.kind == "initials")


@lru_cache(maxsize=1 << 14)
def owners_of(text: str) -> frozenset[str]:
    """The keys of the words of a name in the genitive: `people` of `People's Republic of China`."""
    return frozenset(each.key for each in name_tokens(text) if each.possessive)


@lru_cache(maxsize=1 << 14)
def signs_of(text: str) -> frozenset[str]:
    """The signs in a name, such as the parentheses of `Mercury (planet)`."""
    return frozenset(each.text for each in name_tokens(text) if not each.is_word)


@lru_cache(maxsize=1 << 14)
def _person(text: str, cues: Cues) -> bool:
    """Whether a name looks like that of a person, as far as its words tell."""
    words = plain(text).split()
    if not 2 <= len(words) <= 5 or re.search(r"[\d,&/()]", text):
        return False
    keys = [key for word in words for key in keys_of(word)]
    if any(cues.has("place", key) for key in keys):
        return False
    return all(word[:1].isupper() or cues.has("particle", word.casefold()) for word in words)


def _without_order(keys: Sequence[str]) -> Sequence[str]:
    """The words of a person's name without `Jr.` and the number of a king, which is never the first word."""
    return [*keys[:1], *(key for key in keys[1:] if key not in ("jr", "sr") and not key.isdigit())]


def _in_parts(name: Name, cues: Cues) -> Person | None:
    keys = _without_order(name.keys)
    if len(keys) < 2:
        return None
    last = len(keys) - 1
    if last > 1 and re.search(r"\w-[A-Z]\w+$", plain(name.name)):  # Okonjo-Iweala
        last -= 1
    while last > 1 and cues.has("particle", keys[last - 1]):
        last -= 1
    return Person(name, keys[0], tuple(keys[1:last]), tuple(keys[last:]))


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


def _spellings(text: str) -> tuple[str, ...]:
    """A name, and as it is written without umlauts: `Juergen`."""
    return tuple(dict.fromkeys((text, text.translate(_UMLAUTS))))


MOST = 5
"""Given names, at most, that are read before a surname."""


def same(given: Sequence[str], person: Person, names: Names) -> bool:
    """Whether given names and initials before a surname, in the order of the text, are this person's.

    `George Walker` and `G. W.` are George W. Bush, `Olaf Karl` is Olaf Scholz where no other candidate has
    the surname; `George H. W.` and `Jill` are not. A given name by its initial needs another one beside it.
    """
    initials = initials_of(person.name.name)
    own = [
        letter
        for each in (person.given, *person.middle)
        for letter in (each if each in initials else (each,))
    ]
    if not given or not own or not _alike(given[0], own[0]):
        return False
    if len(own) == 1:
        full = given[0] == own[0] and len(given) > 1
        return full and names.own(person.surname, person.name.kind)
    return len(given) == len(own) and all(map(_alike, given, own))


def _alike(one: str, other: str) -> bool:
    return (
        one == other
        or (len(one) == 1 and other.startswith(one))
        or (len(other) == 1 and one.startswith(other))
    )
