"""The cue words of a language: `resources/verdict/cues.tsv`, a row for each language and kind.

The rows of `*` hold for every language. Words of a row are separated by `|`; those with a value are written
`word=value`, and `{can/will} not` is `can not` and `will not`. All of them are compared as texts are: without
case, diacritics and punctuation.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from functools import lru_cache
from itertools import product
from pathlib import Path
from typing import NamedTuple

from factdrift.core.errors import InputError
from factdrift.core.paths import CUES
from factdrift.core.tables import rows_of
from factdrift.verdict.text import keys_of

ALL = "*"
"""The rows of all languages."""
COLUMNS = ("language", "kind", "words")
PHRASES = (
    *("not", "spared", "retracted", "amended", "took_over", "former", "handed_on", "until", "now"),
    "refused",
)
"""Kinds that say something about the names around them."""
PLAIN = (
    *("contrast", "hedge", "and", "or", "asked", "beside", "whether", "believed", "bound", "disclaimer"),
    *("attempt", "gives"),
)
WORDS = (
    *("article", "title", "abbreviation", "opening", "starter", "suffix", "thing", "verb", "by"),
    *("place", "particle", "direction", "tenure", "holds", "from", "to", "talk", "doubt"),
    *("will", "filling", "namesake", "predecessor", "successor", "conjunction", "conceded", "locative"),
    *("achieved", "wished", "lasting", "lost", "past", "present", "leads", "plays", "right", "if"),
    *("inverted", "speaker", "modal", "deputy", "of", "formerly", "dated", "then", "limit"),
    *("instead", "neither", "around", "act", "short", "indefinite", "who", "common"),
)
VALUES = ("number", "ordinal", "scale", "month", "unit", "event", "office")
KINDS = (*PHRASES, *PLAIN, *WORDS, *VALUES)


class Cue(NamedTuple):
    """A cue in a text: its kind, and the positions of its first word and behind its last."""

    kind: str
    start: int
    end: int

    @property
    def span(self) -> range:
        return range(self.start, self.end)


class Cues:
    """The cue words of one language. `only_names`: it has none, so only names are read."""

    def __init__(self, rows: Mapping[str, Sequence[str]]) -> None:
        """`rows`: kind -> its words as the table has them."""
        self._by_first: dict[str, list[tuple[tuple[str, ...], str]]] = {}
        for kind in (*PHRASES, *PLAIN):
            for phrase in rows.get(kind, ()):
                keys = keys_of(phrase)
                self._by_first.setdefault(keys[0], []).append((keys, kind))
        for found in self._by_first.values():
            found.sort(key=lambda each: -len(each[0]))
        self.only_names = "not" not in rows
        self._words = {kind: frozenset(keys_of(word) for word in rows.get(kind, ())) for kind in WORDS}
        self._single = {
            kind: frozenset(k[0] for k in keys if len(k) == 1) for kind, keys in self._words.items()
        }
        self.values: dict[str, dict[str, str]] = {
            kind: {
                " ".join(keys_of(word)): value
                for word, _, value in (each.partition("=") for each in rows.get(kind, ()))
            }
            for kind in VALUES
        }

    def has(self, kind: str, key: str) -> bool:
        """Whether a single word is in the row of this kind."""
        return key in self._single[kind]

    def phrases(self, kind: str) -> frozenset[tuple[str, ...]]:
        """The phrases of a row of words."""
        return self._words[kind]

    def valued(self, kind: str, keys: Sequence[str]) -> dict[int, str]:
        """The place of the first word of each phrase of a row with values, the longest ones -> its value."""
        table, found, place = self.values[kind], {}, 0
        while place < len(keys):
            phrases = {size: " ".join(keys[place : place + size]) for size in (3, 2, 1)}
            size = next((size for size, phrase in phrases.items() if phrase in table), 0)
            if size:
                found[place] = table[phrases[size]]
            place += size or 1
        return found

    def find(self, keys: Sequence[str]) -> list[Cue]:
        """The cues in a sequence of words, the longest at each place; they do not overlap."""
        found, place = [], 0
        while place < len(keys):
            for phrase, kind in self._by_first.get(keys[place], ()):
                if tuple(keys[place : place + len(phrase)]) == phrase:
                    found.append(Cue(kind, place, place + len(phrase)))
                    place += len(phrase) - 1
                    break
            place += 1
        return found


def _spelled_out(word: str) -> list[str]:
    """A word with alternatives in braces as all that it says."""
    parts = re.split(r"\{([^{}]*)\}", word)
    return [
        "".join(each)
        for each in product(*(part.split("/") if place % 2 else [part] for place, part in enumerate(parts)))
    ]


@lru_cache(maxsize=16)
def read_cues(language: str = "en", path: Path = CUES) -> Cues:
    """The cues of a language. Raises InputError that names the line of a kind that is unknown or repeated."""
    rows: dict[str, list[str]] = {}
    for line, (code, kind, words) in rows_of(path, COLUMNS):
        if kind not in KINDS:
            raise InputError(f"{path}, line {line}: kind is {kind!r}; write one of {', '.join(KINDS)}")
        listed = [each for word in words.split("|") for each in _spelled_out(word)]
        if any(not keys_of(word.partition("=")[0]) or ("=" in word) != (kind in VALUES) for word in listed):
            raise InputError(f"{path}, line {line}: an empty word, or one without the value that {kind} has")
        if code not in (language, ALL):
            continue
        if kind in rows:
            raise InputError(f"{path}, line {line}: {kind} has a row already; join the two")
        rows[kind] = listed
    return Cues(rows)
