"""The names under which the candidates of a question may be mentioned."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from typing import NamedTuple

from factdrift.verdict.cues import Cues
from factdrift.verdict.text import keys_of, plain

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


class Names:
    """The names of all candidates of a question, and the parts of persons' names that are nobody else's."""

    def __init__(self, listed: Mapping[str, Sequence[str]], asked: Sequence[str], cues: Cues) -> None:
        """`listed`: ACCEPTED, STALE, OTHER -> names; `asked`: the words of the question."""
        self._cues, self._asked = cues, frozenset(asked)
        whole: dict[tuple[str, ...], Name] = {}
        for kind, texts in listed.items():
            for text in texts:
                keys = self._keys(text)
                if keys and (known := whole.get(keys)) is not None:
                    if {known.kind, kind} == {ACCEPTED, STALE}:
                        whole[keys] = known._replace(kind=SHARED)
                elif keys:
                    whole[keys] = Name(keys, kind, text, self._counts_capitals(text, keys))
        self.whole = whole
        self.surnames = frozenset(
            key[-1] for key, each in whole.items() if len(key) > 1 and self._person(each.name)
        )
        names = dict(whole)
        for each in whole.values():
            for keys in self._parts(each):
                names.setdefault(keys, each._replace(keys=keys, capital=False, part=True))
        self.by_first: dict[str, list[Name]] = {}
        for each in sorted(names.values(), key=lambda name: -len(name.keys)):
            self.by_first.setdefault(each.keys[0], []).append(each)

    def _keys(self, text: str) -> tuple[str, ...]:
        keys = keys_of(text)
        bare = tuple(key for key in keys if not self._cues.has("article", key))
        return tuple(self.number(key) for key in (bare or keys))

    def number(self, key: str) -> str:
        """A number in words as its digits; `&` as the word for it."""
        if key in ("&", "und"):
            return "and"
        return self._cues.values["number"].get(key, key)

    def _counts_capitals(self, text: str, keys: Sequence[str]) -> bool:
        if len(keys) > 1 or not any(character.isupper() for character in text):
            return False
        common = self._cues.has("starter", keys[0]) or self._cues.has("article", keys[0])
        return common or keys[0] in _WORDS

    def _person(self, text: str) -> bool:
        """Whether a name looks like that of a person, as far as its words and the question tell."""
        words = plain(text).split()
        if not 2 <= len(words) <= 5 or re.search(r"[\d,&/()]", text):
            return False
        if not _WHO & self._asked and any(self._cues.has("thing", key) for key in self._asked):
            return False
        keys = [key for word in words for key in keys_of(word)]
        if any(self._cues.has("place", key) for key in keys):
            return False
        return all(word[:1].isupper() or self._cues.has("particle", word.casefold()) for word in words)

    def _parts(self, name: Name) -> Iterator[tuple[str, ...]]:
        """Surname, given name, and the name without its middle ones, where only one side has them."""
        if len(name.keys) < 2 or not self._person(name.name) or name.kind == SHARED:
            return
        keys = [key for key in name.keys if key not in ("jr", "sr", "ii", "iii", "iv")]
        if len(keys) < 2:
            return
        last = len(keys) - 1
        while last > 1 and self._cues.has("particle", keys[last - 1]):
            last -= 1
        short = [key for key in keys if len(key) > 1 or key in (keys[0], keys[-1])]
        found = [tuple(keys[last:]), (keys[-1],), (keys[0],), (keys[0], *keys[last:]), tuple(short)]
        for part in dict.fromkeys(found):
            if part and part != name.keys and len(part[-1]) > 1 and self.own(part, name.kind):
                yield part

    def own(self, part: tuple[str, ...], kind: str) -> bool:
        """Whether no candidate of another side has these words in this order, with others between or not."""
        for keys, each in self.whole.items():
            if each.kind != kind:
                left = iter(keys)
                if all(word in left for word in part):
                    return False
        return True
