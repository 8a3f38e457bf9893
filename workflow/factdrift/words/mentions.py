"""Finds names in sentences: as whole words, ignoring case, diacritics and typographic variants.

Name and sentence are folded first: lower case, without the marks over Latin, Greek and Cyrillic letters, with
plain quotes and hyphens and single spaces. Names are compared literally, so they may hold any character.
"""

import re
import unicodedata
from functools import lru_cache
from typing import NamedTuple

_SIGNS = dict.fromkeys("‘’‚‛‹›ʼ`´", "'") | dict.fromkeys("“”„‟«»", '"') | dict.fromkeys("‐‑‒–—−", "-")
_LETTERS = {"ł": "l", "ø": "o", "đ": "d", "ð": "d", "ħ": "h", "ı": "i", "æ": "ae", "œ": "oe", "þ": "th"}
_FIRST_MARK, _LAST_MARK = "\u0300", "\u036f"

_OPENING = "(\"'["
_AFTER = re.compile(r"(?:'s?)?[\])\"'.,:;!?]*(?: |$)")
"""What may follow a name: a possessive ending, then punctuation, then a blank or the end."""


class Folded(NamedTuple):
    """A folded text, and the index in the original of each of its characters and of its end."""

    text: str
    indices: list[int]


def folded(text: str) -> Folded:
    """Folds a text for the search for names."""
    if text.isascii() and text.isprintable() and "  " not in text and "`" not in text:
        return Folded(text.lower(), list(range(len(text) + 1)))
    words: list[str] = []
    indices: list[int] = []
    for index, character in enumerate(text):
        plain = _plain(character)
        if plain == " " and words and words[-1] == " ":
            plain = ""
        words += plain
        indices += [index] * len(plain)
    return Folded("".join(words), [*indices, len(text)])


@lru_cache(maxsize=1 << 14)
def _plain(character: str) -> str:
    if character.isspace():
        return " "
    if character in _SIGNS:
        return _SIGNS[character]
    letters = (_LETTERS.get(letter, letter) for letter in character.casefold())
    decomposed = unicodedata.normalize("NFD", "".join(letters))
    return "".join(letter for letter in decomposed if not _FIRST_MARK <= letter <= _LAST_MARK)


def name_key(name: str) -> str:
    """The folded form of a name."""
    return folded(name).text.strip()


def mentions(sentence: str, name: str) -> list[tuple[int, int]]:
    """Start and end of each occurrence of the folded `name` as whole words of a folded `sentence`.

    A name that is joined to other words by a hyphen, an apostrophe or nothing is no mention; a possessive
    ending, quotes, brackets and punctuation may follow or precede it. Mentions do not overlap.
    """
    indices = []
    start = sentence.find(name) if name else -1
    while start >= 0:
        end = start + len(name)
        if begins_word(sentence, start) and _AFTER.match(sentence, end):
            indices.append((start, end))
            start = sentence.find(name, end)
        else:
            start = sentence.find(name, start + 1)
    return indices


def begins_word(sentence: str, start: int) -> bool:
    """Whether only opening quotes and brackets are between `start` and the blank or beginning before it."""
    while start and sentence[start - 1] in _OPENING:
        start -= 1
    return start == 0 or sentence[start - 1] == " "
