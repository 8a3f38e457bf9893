"""The names under which the candidates of a question may be mentioned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise
from typing import NamedTuple

from factdrift.verdict.cues import Cues
from factdrift.verdict.numbers import roman
from factdrift.verdict.text import Token, keys_of, name_tokens, plain

ACCEPTED, STALE, OTHER, SHARED, UNKNOWN = "accepted", "stale", "other", "shared", "unknown"

Keys = tuple[str, ...]


class Name(NamedTuple):
    """A name of a candidate. `capital`: its capitals count; `part`: it is a surname, a given name or so."""

    keys: Keys
    kind: str
    name: str
    capital: bool = False
    part: bool = False


class Person(NamedTuple):
    """A person's name in its parts, without `Jr.` and the number of a king."""

    name: Name
    given: str
    middle: Keys
    surname: Keys


@dataclass(frozen=True)
class Names:
    """The names of all candidates of a question, and the parts of persons' names that are nobody else's."""

    whole: Mapping[Keys, Name]
    surnames: frozenset[str]
    """The last words of persons' names."""
    people: Mapping[str, Sequence[Person]]
    """First word of a surname -> the persons with it."""
    by_first: Mapping[str, Sequence[Name]]
    """First word -> the names that begin with it, the longest ones first; also parts of names."""

    @classmethod
    def read(cls, listed: Mapping[str, Sequence[str]], asked: Sequence[str], cues: Cues) -> Names:
        """`listed`: ACCEPTED, STALE, OTHER -> names; `asked`: the words of the question."""
        whole = _whole_names(listed, asked, cues)
        persons = [
            name
            for name in (() if _asks_for_thing(asked, cues) else whole.values())
            if len(name.keys) > 1 and _looks_like_person(name.name, cues)
        ]
        surnames = frozenset(_without_order(name.keys)[-1] for name in persons)
        parts, people = dict(whole), dict[str, list[Person]]()
        who = any(cues.has("who", key) for key in asked)
        for name in persons:
            person = _in_parts(name, cues)
            if name.kind == SHARED or person is None:
                continue
            people.setdefault(person.surname[0], []).append(person)
            for keys in _short_forms(person, whole, cues):
                if len(keys) == 1 and keys[0] in asked and (who or keys != person.surname):
                    continue  # the minister of Israel is not Israel Katz
                parts.setdefault(keys, name._replace(keys=keys, capital=False, part=True))
            asked_for = len(person.surname) == 1 and person.surname[0] in asked  # spouse of Z: not Z
            if name.kind == ACCEPTED and person.surname not in parts and not asked_for:
                parts[person.surname] = Name(person.surname, SHARED, name.name, part=True)
        for name in whole.values() if who else ():
            first = name.keys[:1]
            own = _own(first, name.kind, whole)
            if (own or name.kind == ACCEPTED) and _ROYAL.fullmatch(name.name):  # King Charles
                kind = name.kind if own else SHARED
                parts.setdefault(first, Name(first, kind, name.name, part=True))
        by_first: dict[str, list[Name]] = {}
        for name in sorted(parts.values(), key=lambda name: -len(name.keys)):
            by_first.setdefault(name.keys[0], []).append(name)
        return cls(whole, surnames, people, by_first)

    def is_person(self, name: Name) -> bool:
        persons = (person for persons in self.people.values() for person in persons)
        return name.part or any(name.keys == person.name.keys for person in persons)

    def own(self, part: Keys, kind: str) -> bool:
        """Whether no candidate of another side has these words in this order, with others between or not."""
        return _own(part, kind, self.whole)


_ROYAL = re.compile(r"[^\W\d_]+ [IVX]+")


def _whole_names(listed: Mapping[str, Sequence[str]], asked: Sequence[str], cues: Cues) -> dict[Keys, Name]:
    whole: dict[Keys, Name] = {}
    for kind, texts in listed.items():
        for text in texts:
            for spelling in (text, text.translate(_UMLAUTS)):
                keys = _name_keys(spelling, cues)
                known = whole.get(keys)
                if keys and known is None:
                    whole[keys] = Name(keys, kind, text, _counts_capitals(text, keys, cues))
                elif known is not None and {known.kind, kind} == {ACCEPTED, STALE}:
                    whole[keys] = known._replace(kind=SHARED)
    short: dict[Keys, set[str]] = {}
    for keys, name in whole.items():
        for form in _without_form(keys):
            short.setdefault(form, set()).add(name.kind)
    for keys, name in list(whole.items()):
        for form in _without_form(keys):
            if len(short[form]) == 1 and not set(form) <= {*asked}:
                whole.setdefault(form, Name(form, name.kind, name.name, capital=True))
    return whole


_COMPANY = ("inc", "corp", "corporation", "ltd", "plc", "ag", "llc")
_CLUB = ("fc", "cf", "afc", "sc", "ssc")
"""Words at an end of a name that are often left out."""


def _without_form(keys: Keys) -> list[Keys]:
    forms = [keys[:-1]] if keys[-1] in (*_COMPANY, *_CLUB) else []
    forms += [keys[1:]] if keys[0] in _CLUB else []
    company = keys[-1] in _COMPANY
    return [form for form in forms if len(form) > 1 or (company and form and len(form[0]) > 3)]


_UMLAUTS = str.maketrans({"ä": "ae", "ö": "oe", "ü": "ue", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"})


def _name_keys(text: str, cues: Cues) -> Keys:
    """The words of a name without articles; the `an` of `Chiang Wan-an` is none."""
    tokens = name_tokens(text)
    words = [token for token in tokens if token.is_word or token.text == "&"]
    glued = {token.end for token in tokens if token.text == "-"}
    bare = [token for token in words if token.start in glued or not cues.has("article", token.key)]
    return tuple(number_key(token.key, cues) for token in (bare or words))


def _counts_capitals(text: str, keys: Keys, cues: Cues) -> bool:
    """Whether a name of one word is a common word if it is written small, such as `Will` and `US`."""
    common = any(cues.has(kind, keys[0]) for kind in ("starter", "article", "common"))
    common |= bool(cues.find(keys))
    return len(keys) == 1 and common and any(character.isupper() for character in text)


def _asks_for_thing(asked: Sequence[str], cues: Cues) -> bool:
    """Whether a question is about a thing, so that no answer is a person: `Which party ...`."""
    heads = [key for key in asked if key == "head" or cues.has("thing", key) or cues.has("title", key)]
    who = any(cues.has("who", key) for key in asked)
    return not who and bool(heads) and cues.has("thing", heads[0])


def _short_forms(person: Person, whole: Mapping[Keys, Name], cues: Cues) -> Iterator[Keys]:
    """Surname, given name, the name without its middle ones or surname first, if one side's only."""
    name, given, middle, surname = person
    forms = [surname, surname[-1:], (given, *surname)]
    forms.append((given, *(key for key in middle if len(key) > 1), *surname))
    if given not in initials_of(name.name) and not cues.has("title", given):
        forms.insert(2, (given,))
    for form in dict.fromkeys(forms):
        if form != name.keys and len(form[-1]) > 1 and _own(form, name.kind, whole):
            yield form
    if _own((given, *middle, *surname), name.kind, whole):
        yield from ((*middle, *surname, given), (*surname, given, *middle))  # Suk-yeol Yoon


def _own(part: Keys, kind: str, whole: Mapping[Keys, Name]) -> bool:
    for keys, name in whole.items():
        left = iter(keys)
        if name.kind != kind and all(word in left for word in part):
            return False
    return True


@lru_cache(maxsize=1 << 15)
def number_key(key: str, cues: Cues) -> str:
    """A number as its digits, also a Roman one and an ordinal; `&` as the word for it."""
    if key in ("&", "und"):
        return "and"
    if key[:1].isdigit():
        return re.sub(r"(?<=\d)(?:st|nd|rd|th)$", "", key)
    return cues.values["number"].get(key) or cues.values["ordinal"].get(key) or roman(key)


@lru_cache(maxsize=1 << 14)
def _tokens(text: str) -> tuple[Token, ...]:
    return tuple(name_tokens(text))


def initials_of(text: str) -> set[str]:
    """The keys of a name that are initials."""
    return {token.key for token in _tokens(text) if token.kind == "initials"}


def owners_of(text: str) -> set[str]:
    """The keys of the words of a name in the genitive: `people` of `People's Republic of China`."""
    return {token.key for token in _tokens(text) if token.possessive}


def signs_of(text: str) -> set[str]:
    """The signs in a name, such as the parentheses of `Mercury (planet)`."""
    return {token.text for token in _tokens(text) if not token.is_word}


@lru_cache(maxsize=1 << 14)
def _looks_like_person(text: str, cues: Cues) -> bool:
    """Whether a name looks like that of a person, as far as its words show."""
    words = plain(text).split()
    if not 2 <= len(words) <= 5 or re.search(r"[\d,&/()]", text):
        return False
    if any(cues.has("place", key) for word in words for key in keys_of(word)):
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


MOST = 5
"""Given names, at most, that are read before a surname."""


def same(given: Sequence[str], person: Person, names: Names) -> bool:
    """Whether given names and initials before a surname, in the order of the text, are this person's.

    `George Walker` and `G. W.` are George W. Bush, `Olaf Karl` is Olaf Scholz where no other candidate has
    the surname; `George H. W.` and `Jill` are not. A given name by its initial needs another one beside it.
    """
    initials = initials_of(person.name.name)
    parts = (person.given, *person.middle)
    own = [letter for name in parts for letter in (name if name in initials else (name,))]
    if len(own) == 1:
        full = len(given) > 1 and given[0] == own[0]
        return full and names.own(person.surname, person.name.kind)
    pairs = [sorted(pair, key=len) for pair in zip(given, own, strict=False)]
    return len(given) == len(own) and all(
        short == long or (len(short) == 1 and long.startswith(short)) for short, long in pairs
    )


def abbreviates(key: str, asked: Sequence[str]) -> bool:
    """Whether a word has the initials of words of a question, `CEO` of `chief executive officer`."""
    size, full = len(key), [word for word in asked if word not in _JOINING]  # the FBI of Federal Bureau of
    runs = (words[start : start + size] for words in (asked, full) for start in range(len(words) - size + 1))
    pairs = (f"{first[0]}{then}" for first, then in pairwise(full) if len(then) < 4)  # HSV, Hamburger SV
    initials = ("".join(word[0] for word in run) for run in runs)
    own = key.replace("k", "c")  # also IOC for Olympisches Komitee
    return (size > 1 and own in (run.replace("k", "c") for run in initials)) or key in pairs


_JOINING = ("of", "the", "and", "for", "der", "des", "und", "de", "la", "et", "y")
