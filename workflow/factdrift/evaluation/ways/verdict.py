"""Whether a text begins with an object."""

from __future__ import annotations

import unicodedata
from collections.abc import Sequence

HYPHENS = "-\u2010\u2011"


def begins(text: str, objects: Sequence[str]) -> bool:
    """Whether a text begins with one of the objects, and does not go on with its last word or number.

    What goes on is the rest of a double name, or decimals.
    """
    text = text.lstrip()
    return any(text.startswith(each) and not _goes_on(text[len(each) :]) for each in objects if each)


def _goes_on(rest: str) -> bool:
    kinds = [unicodedata.category(character)[0] for character in rest[:2]]
    if not kinds:
        return False
    if kinds[0] in "LMN" or rest[0] == "_":
        return True
    following = kinds[1:] or [""]
    return (rest[0] in HYPHENS and following[0] in ("L", "N")) or (rest[0] in ".," and following[0] == "N")
