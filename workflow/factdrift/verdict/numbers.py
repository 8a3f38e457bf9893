"""Numbers in digits and in words."""

from __future__ import annotations

import re
from collections.abc import Sequence
from decimal import Decimal
from functools import lru_cache

from factdrift.verdict.cues import Cues
from factdrift.verdict.text import keys_of

DIGITS = r"\d{1,3}(?:[,.' \u00a0\u202f]\d{3})+(?:[.,]\d+)?(?!\d)|\d+(?:[.,]\d+)?"
_ROMAN = re.compile(r"(x{0,3})(ix|iv|v?i{0,3})")
_DEFINITE = frozenset(("the", "no", "this", "that", "any", "some", "every"))


def number_of(written: str, language: str) -> Decimal | None:
    """`1,234.5`, `1.234,5` (German) or `1 234`; what only the other language writes is read as there."""
    text = re.sub(r"[' \u00a0\u202f]", "", written)
    group, point = (".", ",") if language == "de" else (",", ".")
    for one, other in ((group, point), (point, group)):
        grouped, rest = rf"\d{{1,3}}(?:{re.escape(one)}\d{{3}})+", rf"(?:{re.escape(other)}\d+)?"
        if re.fullmatch(rf"(?:{grouped}|\d+){rest}", text):
            return Decimal(text.replace(one, "").replace(other, "."))
    return None


@lru_cache(maxsize=16)
def spelled(cues: Cues) -> str:
    """The pattern of a number in words, such as `one hundred and twenty million`; empty if there is none."""
    numbers, scales = cues.values["number"], cues.values["scale"]
    if not numbers:
        return ""
    words = sorted({*numbers, *_long(scales)}, key=len, reverse=True)
    one = "|".join(map(re.escape, words))
    if "hundert" in scales:  # German writes it in one word
        parts = "|".join((one, "ein", "und", "einhalb"))
        return rf"\b(?=[^\W\d_]{{3}})(?:{parts})+(?![^\W_])"
    return rf"\b(?:{one})(?:(?:[- ]|,? and |(?<=ion), |(?<=thousand), )(?:{one}))*\b"


@lru_cache(maxsize=1 << 12)
def in_words(written: str, cues: Cues) -> Decimal | None:
    """The number that words say; None if they are no number."""
    numbers, scales = cues.values["number"], cues.values["scale"]
    words = [word for word in keys_of(written) if word != "and"]
    if "hundert" in scales and len(words) == 1:
        return _compound(words[0], numbers)
    return _sum(words, numbers, scales)


def _sum(words: Sequence[str], numbers: dict[str, str], scales: dict[str, str]) -> Decimal | None:
    total, group, smallest = 0, None, 0
    for word in words:
        if word in numbers:
            number, rest = int(numbers[word]), (group or 0) % 100
            if rest and not (rest >= 20 and not rest % 10 and 0 < number < 10):
                return None
            group = (group or 0) + number
            continue
        scale = int(scales[word]) if word in scales else 0
        if scale == 100:
            if (group or 1) >= 100:
                return None
            group = (group or 1) * 100
        elif scale > smallest == 1000 and group is None:
            total *= scale  # five thousand million
        elif scale and not (smallest and scale >= smallest):
            total, group, smallest = total + (1 if group is None else group) * scale, None, scale
        else:
            return None
    return Decimal(total + (group or 0))


def _compound(word: str, numbers: dict[str, str]) -> Decimal | None:
    """A German number that is written in one word."""
    if word.endswith("einhalb"):
        whole = _compound(word.removesuffix("einhalb"), numbers)
        return None if whole is None else whole + Decimal("0.5")
    if word in numbers:
        return Decimal(numbers[word])
    if word == "ein":
        return Decimal(1)
    for name, size in (("tausend", 1000), ("hundert", 100)):
        before, found, after = word.partition(name)
        if found:
            times = _compound(before, numbers) if before else Decimal(1)
            rest = _compound(after.removeprefix("und"), numbers) if after else Decimal(0)
            return None if times is None or rest is None or rest >= size else times * size + rest
    unit, found, tens = word.partition("und")
    one, ten = (_compound(part, numbers) if found and part else None for part in (unit, tens))
    return one + ten if one is not None and ten is not None and one < 10 <= ten else None


def _long(scales: dict[str, str]) -> list[str]:
    """The words of scales that are no abbreviations, which stand behind digits only."""
    return [word for word in scales if len(word) > 3]


def counts(written: str, before: str) -> bool:
    """Whether a number in words is one: in `the one`, `one` is none. `before`: the word before it."""
    return written.casefold() not in ("one", "eine", "ein", "und") or before.casefold() not in _DEFINITE


def roman(key: str) -> str:
    """A Roman number of two to six letters up to 39 as digits; any other word as it is."""
    match = _ROMAN.fullmatch(key) if len(key) > 1 else None
    if match is None:
        return key
    ends = {"ix": 9, "iv": 4}
    unit = ends.get(match[2], 5 * match[2].count("v") + match[2].count("i"))
    return str(10 * len(match[1]) + unit)
